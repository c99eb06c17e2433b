#!/bin/sh
# Training against a float64 reimplementation in Python (tests/parity): 20 steps of many models,
# every loss and gradient norm. Skipped where numpy or PyTorch is not installed (Debian:
# python3-numpy python3-torch). PYTHON chooses another one.
set -u
unset CDPATH
here=$(cd -- "$(dirname -- "$0")" && pwd)
bin=$(cd -- "${BIN:-$here/..}" && pwd)
python=${PYTHON:-/usr/bin/python3}
[ -x "$python" ] || python=python3
if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
    echo "ok 1 - parity with float64 # SKIP $python has no numpy or torch"
    exit 0
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder" || exit 1
export PYTHONDONTWRITEBYTECODE=1
export OMP_WAIT_POLICY=PASSIVE # tiny steps on a busy machine: waiting threads must not spin

"$python" "$here/parity/parity.py" make "$folder" || exit 1
for config in *.json; do
    for run in "${config%.json}.initial" "${config%.json}"; do
        set --
        [ "$run" = "${config%.json}" ] || set -- --set training.max_steps=0
        "$bin/train" "$config" --run "$run" "$@" >output 2>&1 || sed "s|^|# train $run: |" output | tail -n 3
    done
done
"$python" "$here/parity/parity.py" check "$folder"
