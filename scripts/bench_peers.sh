#!/bin/sh
# Training speed of this program against PyTorch on the same machine and the same OpenBLAS kernels.
#
#   bench_peers.sh [--shape tiny|cs336] [--pairs N] [--seconds S] [--kernel NAME]
#
# PyTorch runs in two settings: as installed (all cores, its own defaults), and with the best
# environment found by trying each line of `candidates` once. Then build/bench and both settings
# alternate for N rounds (default 5), because on a shared machine only interleaved runs are
# comparable; the ratios of the medians are printed. --kernel sets OPENBLAS_CORETYPE for both sides
# (default: the one for this processor, because OpenBLAS falls back to SSE3 kernels on processors
# newer than itself). PYTHON names an interpreter with torch; OPENBLAS_OPENMP a folder with an
# OpenMP build of libopenblas.so.0 (default: where Debian's libopenblas0-openmp puts it).
set -u
here=$(cd "$(dirname "$0")" && pwd)
bench=${BENCH:-$here/../build/bench}
python=${PYTHON:-/usr/bin/python3}
shape=tiny pairs=5 seconds=10 kernel=

usage() {
    echo "usage: bench_peers.sh [--shape tiny|cs336] [--pairs N] [--seconds S] [--kernel NAME]" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
    --shape) shape=$2 ;;
    --pairs) pairs=$2 ;;
    --seconds) seconds=$2 ;;
    --kernel) kernel=$2 ;;
    *) usage ;;
    esac
    shift 2
done
case $shape in tiny | cs336) ;; *) usage ;; esac
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "bench_peers.sh: $python has no torch; install python3-torch, or set PYTHON" >&2
    exit 1
fi
if [ ! -x "$bench" ]; then
    echo "bench_peers.sh: $bench is missing; run: make bench" >&2
    exit 1
fi
if [ -z "$kernel" ]; then
    case $(grep -m 1 '^flags' /proc/cpuinfo) in
    *avx512vl*) kernel=SkylakeX ;;
    *avx2*) kernel=Haswell ;;
    esac
fi
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE OMP_NUM_THREADS OPENBLAS_NUM_THREADS OMP_WAIT_POLICY
[ -z "$kernel" ] || export OPENBLAS_CORETYPE="$kernel"

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
openmp=${OPENBLAS_OPENMP:-$(find /usr/lib -maxdepth 2 -name openblas-openmp | head -n 1)}
malloc='MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 MALLOC_TOP_PAD_=268435456'
huge='GLIBC_TUNABLES=glibc.malloc.hugetlb=1'
candidates="OMP_WAIT_POLICY=PASSIVE
$malloc
OMP_WAIT_POLICY=PASSIVE $malloc
OMP_WAIT_POLICY=PASSIVE $malloc $huge
OMP_WAIT_POLICY=PASSIVE OPENBLAS_NUM_THREADS=1 $malloc
OMP_NUM_THREADS=1 $malloc $huge"
if [ -d "$openmp" ]; then
    candidates="$candidates
LD_LIBRARY_PATH=$openmp $malloc
LD_LIBRARY_PATH=$openmp $malloc $huge
LD_LIBRARY_PATH=$openmp OMP_WAIT_POLICY=PASSIVE $malloc
LD_LIBRARY_PATH=$openmp OMP_WAIT_POLICY=ACTIVE $malloc $huge"
fi

# peer SETTING FILE: one process in that environment; the rest of its output goes to $folder/peer
peer() {
    # shellcheck disable=SC2086  # a setting is a list of words
    env $1 "$python" "$here/bench_peers.py" "$shape" --seconds "$seconds" >"$folder/peer" || exit 1
    value tokens_per_second "$folder/peer" >>"$2"
}
# value NAME FILE: the text after NAME on its line
value() {
    sed -n "s/^ *$1 //p" "$2" | tail -n 1
}
median() {
    sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
ratio() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'
}

echo "shape $shape, batch 32; tokens per second; trying PyTorch settings:"
best='' best_speed=0
while read -r setting; do
    : >"$folder/try"
    peer "$setting" "$folder/try"
    speed=$(cat "$folder/try")
    echo "  $speed  $setting"
    if [ "$speed" -gt "$best_speed" ]; then best=$setting best_speed=$speed; fi
done <<END
$candidates
END

for round in $(seq "$pairs"); do
    "$bench" train "$shape" --seconds "$seconds" >"$folder/ours" || exit 1
    value tokens_per_second "$folder/ours" >>"$folder/ours.all"
    peer "$best" "$folder/best.all"
    cp "$folder/peer" "$folder/peer.best"
    peer "" "$folder/installed.all"
    echo "round $round: ours $(tail -n 1 "$folder/ours.all"), PyTorch best $(tail -n 1 "$folder/best.all")," \
        "as installed $(tail -n 1 "$folder/installed.all")"
done
ours=$(median "$folder/ours.all")
echo
sed -n '1,/tokens_per_second/p' "$folder/ours"
for setting in installed best; do
    file=$folder/peer
    words="as installed"
    if [ $setting = best ]; then file=$folder/peer.best words="best settings ($best)"; fi
    theirs=$(median "$folder/$setting.all")
    echo "PyTorch $(value pytorch "$file"), $words:"
    echo "    kernel $(value kernel "$file"), threads $(value threads "$file")," \
        "peak memory $(value peak_memory_mb "$file") MB"
    echo "    ours $ours / theirs $theirs = $(ratio "$ours" "$theirs") (medians of $pairs rounds)"
done
