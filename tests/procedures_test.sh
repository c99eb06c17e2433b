#!/bin/sh
# Whole-program checks of training and generation in odd places: other batch splits, thread counts
# and OpenBLAS builds, hostile malloc, tiny shapes, difficult paths, other locales, hostile prompts.
# TINYLM_TEST_FULL=1 repeats the thread matrix ten times.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
unset OMP_NUM_THREADS OPENBLAS_NUM_THREADS
export OMP_WAIT_POLICY=PASSIVE # tiny steps on a busy machine: waiting threads must not spin
cd "$work" || exit 1

sentences 700 >text.txt
# config FILE [TRAIN]: a tiny model; TRAIN is the text (default text.txt here)
config() {
    cat >"$1" <<END
{"seed": 3, "data": {"train": "${2:-$work/text.txt}", "valid": "${2:-$work/text.txt}"},
 "tokenizer": {"vocab_size": 300, "special_tokens": ["<|endoftext|>"]},
 "model": {"context_length": 32, "d_model": 32, "num_layers": 2, "num_heads": 4, "d_ff": 64},
 "training": {"batch_size": 8, "max_steps": 20, "log_every": 1, "eval_every": 10, "eval_batches": 2,
              "sample_every": 1000, "learning_rate": {"max": 3e-3, "warmup_steps": 5}}}
END
}
config tiny.json

# train RUN [ARGUMENT]...: trains from the start into the folder RUN.
train() {
    run=$1
    shift
    "$bin/train" tiny.json --run "$run" --fresh "$@" >"$run.out" 2>&1 && return
    tail -n 5 "$run.out"
    return 1
}
# log without what differs from run to run
steady() {
    cut -d, -f1,2,4-7 "$1/log.csv"
}
same_log() {
    steady "$1" >a.log && steady "$2" >b.log && diff a.log b.log
}
same_weights() {
    cmp "$1/model.safetensors" "$2/model.safetensors"
}
# close_losses A B TOLERANCE [FROM [TO]]: relative difference of every train_loss, steps FROM to TO
close_losses() {
    paste -d, "$1/log.csv" "$2/log.csv" | awk -F, -v tolerance="$3" -v from="${4:-1}" -v to="${5:-999999}" '
        NR > 1 && $1 >= from && $1 <= to {
            d = $5 - $13; if (d < 0) d = -d
            rows++
            if (!(d <= tolerance * $5)) { print "step " $1 ": " $5 " and " $13; bad = 1 }
        }
        END { exit bad || !rows }'
}
# close_weights A B TOLERANCE: absolute difference of every float in two model files with equal
# headers
close_weights() {
    header=$(od -An -tu4 -N4 "$1/model.safetensors" | tr -d ' ')
    for side in "$1" "$2"; do
        od -An -v -w4 -tf4 -j $((header + 8)) "$side/model.safetensors" >"$side.weights"
    done
    paste "$1.weights" "$2.weights" | awk -v tolerance="$3" '
        { d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d; if (d != d) bad = 1 }
        END { if (bad || !(worst <= tolerance) || !NR) { print "largest difference " worst; exit 1 } }'
}

# ---- the same windows in one batch or in several -------------------------------------------------
accumulation() {
    train whole --set training.max_steps=5 &&
        train parts --set training.max_steps=5 --set training.batch_size=2 \
            --set training.gradient_accumulation=4 &&
        close_losses whole parts 1e-5 && close_weights whole parts 1e-5
}
check "batch 8 and 4 x batch 2 train alike" accumulation

# ---- threads -------------------------------------------------------------------------------------
repeated_run() {
    train "first$1" --threads "$1" && train "second$1" --threads "$1" &&
        same_log "first$1" "second$1" && same_weights "first$1" "second$1"
}
check "1 thread: two runs are byte for byte equal" repeated_run 1
check "4 threads: two runs are byte for byte equal" repeated_run 4
# The environment may allow fewer threads than --threads asks for; every row must still be trained on.
limited_run() {
    OMP_THREAD_LIMIT=1 train limited --threads 4 && same_log first1 limited && same_weights first1 limited
}
check "OMP_THREAD_LIMIT=1 with 4 threads trains like 1 thread" limited_run

thread_matrix() {
    library=$1
    for repetition in $(seq "$2"); do
        for blas in 1 2 8; do
            for omp in 1 2 8; do
                name="matrix $repetition: OPENBLAS_NUM_THREADS=$blas OMP_NUM_THREADS=$omp"
                LD_LIBRARY_PATH=$library OPENBLAS_NUM_THREADS=$blas OMP_NUM_THREADS=$omp timeout 120 \
                    "$bin/train" tiny.json --run matrix --fresh --threads "$omp" >matrix.out 2>&1 ||
                    { echo "$name: status $?" && tail -n 3 matrix.out && return 1; }
                if ! { close_losses first1 matrix 1e-5 1 1 && close_losses first1 matrix 1e-3; }; then
                    echo "$name"
                    return 1
                fi
            done
        done
    done
}
repetitions=1
[ "${TINYLM_TEST_FULL:-0}" = 1 ] && repetitions=10
for build in pthread openmp; do
    library=$(find /usr/lib -maxdepth 2 -name "openblas-$build" 2>/dev/null | head -n 1)
    if [ -n "$library" ]; then
        check "thread variables 1, 2, 8 with OpenBLAS $build" thread_matrix "$library" $repetitions
    else
        skip "thread variables 1, 2, 8 with OpenBLAS $build" "that build is not installed"
    fi
done

# The threads alive in a long run: the team, and nothing that OpenBLAS started beside it for work.
thread_count() {
    "$bin/train" tiny.json --run "count$1" --fresh --threads "$1" --set training.max_steps=100000 \
        >"count.out" 2>&1 &
    child=$!
    # Past the start, when OpenBLAS has not been told yet that it is not to use threads: until it
    # has computed for half a second, which takes long on a busy machine.
    for _ in $(seq 300); do
        sleep 0.1
        ticks=$(awk '{ print $14 + $15 }' "/proc/$child/stat")
        [ "${ticks:-50}" -lt 50 ] || break
    done
    count=$(find "/proc/$child/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)
    busy=$(cat "/proc/$child/task/"*/stat 2>/dev/null |
        awk '{ if ($14 + $15 >= 5) n++ } END { print n + 0 }')
    kill "$child"
    wait "$child" 2>/dev/null
    echo "$count threads, $busy of them busy, --threads $1"
    [ "$count" -eq "$1" ] && [ "$busy" -le "$1" ] && [ "$busy" -ge 1 ]
}
if [ -d /proc/self/task ]; then
    check "--threads 1 computes in one thread" thread_count 1
    check "--threads 3 starts three" thread_count 3
else
    skip "--threads N starts N" "no /proc here"
fi

# ---- memory that is not zero ---------------------------------------------------------------------
poisoned_heap() {
    MALLOC_PERTURB_=255 train perturbed --threads 1 && same_log first1 perturbed && same_weights first1 perturbed
}
check "MALLOC_PERTURB_=255 changes nothing" poisoned_heap

# ---- the smallest shapes -------------------------------------------------------------------------
smallest() {
    train small --set model.context_length=1 --set training.batch_size=1 --set model.num_heads=16 \
        --set tokenizer.vocab_size=257 --set training.max_steps=5 --threads 4 || return 1
    "$bin/generate" --run small --prompt "The cat" --max-tokens 5 --temperature 0 >small.txt 2>>small.out ||
        { tail -n 3 small.out && return 1; }
    awk -F, 'NR > 1 && !($5 > 0 && $5 < 20) { print "loss " $5; bad = 1 } END { exit bad || NR != 6 }' small/log.csv &&
        ! grep -i "illegal value" small.out
}
check "context 1, batch 1, head size 2, vocabulary 257" smallest

# ---- difficult paths -----------------------------------------------------------------------------
difficult_path() {
    home="$work/my réal dir/ü (1)'s \"\$HOME\""
    mkdir -p "$home" && cp text.txt "$home/a text.txt" && (
        cd "$home" && config "tiny cfg.json" "a text.txt" &&
            "$bin/train" "tiny cfg.json" --run "the run" --set training.max_steps=20 &&
            "$bin/generate" --run "the run" --prompt "The" --max-tokens 4 &&
            "$bin/evaluate" --run "the run" --text "a text.txt" &&
            "$bin/evaluate" --run "../ü (1)'s \"\$HOME\"/the run" --text "../../text.txt"
    ) && close_losses first1 "$home/the run" 1e-3
}
check "a folder with spaces, quotes and accents" difficult_path
long_path() {
    long=$work
    while [ ${#long} -lt 300 ]; do long=$long/$(printf '%040d' 7); done
    mkdir -p "$long" && config "$long/tiny.json" &&
        "$bin/train" "$long/tiny.json" --run "$long/run" --set training.max_steps=2 &&
        [ -s "$long/run/model.safetensors" ] || return 1
    message=$("$bin/train" "$long/missing.json" --run x 2>&1) && return 1
    case $message in *"$long/missing.json"*) ;; *) echo "path not whole in: $message" && return 1 ;; esac
}
check "a path of 300 bytes works, and is whole in a message" long_path

# ---- locales -------------------------------------------------------------------------------------
# The tokenizer, log, JSON and weights must not change where the decimal sign is a comma, or i is
# not the small I.
locale_run() {
    LC_ALL=$1 LOCPATH=$work/locales train "locale $1" --threads 1 &&
        same_log first1 "locale $1" && same_weights first1 "locale $1" &&
        for file in vocab.json merges.txt special_tokens.json tokenizer.json; do
            cmp "first1/tokenizer/$file" "locale $1/tokenizer/$file" || return 1
        done && cmp first1/config.json "locale $1/config.json"
}
mkdir locales
for name in de_DE tr_TR; do
    localedef -i $name -f UTF-8 "locales/$name.UTF-8" 2>localedef.out
    if [ -d "locales/$name.UTF-8" ]; then
        check "nothing changes under LC_ALL=$name.UTF-8" locale_run $name.UTF-8
    else
        skip "nothing changes under LC_ALL=$name.UTF-8" "localedef cannot make it"
    fi
done

# ---- prompts -------------------------------------------------------------------------------------
# generate FILE ARGUMENT...: greedy from the run first1, output to FILE
generate() {
    output=$1
    shift
    "$bin/generate" --run first1 --temperature 0 "$@" >"$output" 2>generate.err ||
        { echo "status $?: $(head -n 3 generate.err)" && return 1; }
}
# The prompt comes back byte for byte, and text follows it.
echoes() {
    generate out --prompt "$1" --max-tokens "$2" || return 1
    printf %s "$1" >prompt
    head -c "$(wc -c <prompt)" out | cmp - prompt
}
check "an empty prompt" generate out --prompt "" --max-tokens 5
check "a prompt of only a special token" generate out --prompt "<|endoftext|>" --max-tokens 5
check "a prompt comes back byte for byte" echoes "$(printf 'The  dog\r\n\tsees – “ü”')" 5
check "a prompt of thousands of tokens" echoes "$(head -c 30000 text.txt | tr -d '<|>\n')" 5
check "a prompt that is not UTF-8" generate out --prompt "$(printf 'The \377\300 cat')" --max-tokens 5
no_tokens() {
    echoes "The cat" 0 && printf 'The cat\n' >prompt && [ "$(cat out)" = "The cat" ]
}
check "no new tokens: only the prompt" no_tokens
one_token() {
    echoes "The cat" 1 && [ "$(wc -c <out)" -gt 7 ]
}
check "one new token" one_token

# ---- a model with more rows than the tokenizer has tokens ----------------------------------------
# repeat COUNT BYTES: the bytes (octal escapes) so many times
repeat() {
    for _ in $(seq "$1"); do printf '%b' "$2"; done
}
# Rows 262 … 319 of the head get weights of 1000 (half of them -1000), so that one of them always
# wins.
padded_vocabulary() {
    train padded --set tokenizer.vocab_size=262 --set model.vocab_size=320 --set training.max_steps=1 || return 1
    model=padded/model.safetensors
    header=$(od -An -tu4 -N4 $model | tr -d ' ')
    begin=$(head -c $((header + 8)) $model | tail -c "$header" |
        sed 's/.*"lm_head.weight":{[^}]*"data_offsets":\[\([0-9]*\).*/\1/')
    { repeat $((29 * 32)) '\0\0\0172\0104' && repeat $((29 * 32)) '\0\0\0172\0304'; } |
        dd of=$model bs=4 seek=$(((8 + header + begin) / 4 + 262 * 32)) conv=notrunc 2>dd.err || return 1
    for temperature in 0 1; do
        "$bin/generate" --run padded --prompt "The cat" --max-tokens 20 --temperature $temperature \
            --num 3 >padded.out 2>padded.err
        status=$?
        # either it never takes them, or it says why not
        case $status in
        0) grep -q "The cat." padded.out || { echo "no text" && return 1; } ;;
        1) [ "$(wc -l <padded.err)" -eq 1 ] || { cat padded.err && return 1; } ;;
        *) echo "status $status" && cat padded.err && return 1 ;;
        esac
    done
}
check "rows beyond the tokenizer are never sampled" padded_vocabulary
