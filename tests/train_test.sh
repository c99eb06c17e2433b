#!/bin/sh
# ./train as a whole: killed and resumed, stopped by a signal, two at once, learning one batch by heart.
# A small text of ours is made here, so that nothing from outside is needed.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
cd "$work" || exit 1

# train ARGUMENT...: its output is in the file out
train() { "$bin/train" "$@" >out 2>&1; }
# ended STATUS WANTED
ended() { [ "$1" -eq "$2" ] || { echo "status $1" && cat out && return 1; }; }
# said PATTERN: the last run said it
said() { grep -q -- "$1" out || { cat out && return 1; }; }

i=0
while [ $i -lt 60 ]; do
    echo "Day $i: the cat number $((i * 7 % 13)) met dog $((i * 5 % 11)) and they ran $((i % 9)) times around the $((i * i % 17))th tree."
    echo "<|endoftext|>"
    i=$((i + 1))
done >text.txt
cat >cfg.json <<'JSON'
{"name": "small", "data": {"train": "text.txt"},
 "tokenizer": {"vocab_size": 300, "special_tokens": ["<|endoftext|>"]},
 "model": {"context_length": 16, "d_model": 32, "num_layers": 2, "num_heads": 2},
 "training": {"batch_size": 4, "max_steps": 60, "log_every": 1, "eval_every": 7, "eval_batches": 2,
              "checkpoint_every": 5, "sample_every": 20, "learning_rate": {"max": 3e-3, "warmup_steps": 5}}}
JSON
columns() { cut -d, -f1,2,4-7 "$1"; } # without seconds and tokens_per_second
same_run() {
    for f in model.safetensors best.safetensors samples.txt config.json tokenizer/vocab.json; do
        cmp "$1/$f" "$2/$f" || return 1
    done
    columns "$1/log.csv" >a.csv && columns "$2/log.csv" >b.csv && cmp a.csv b.csv
}

train cfg.json --run whole --threads 1
whole_run() { ended "$1" 0 && [ -s whole/model.safetensors ] && [ -s whole/samples.txt ] && [ -s whole/loss.svg ]; }
check "a run ends with status 0 and leaves model, log, samples, chart" whole_run $?
check "the log has a row for every step" [ "$(wc -l <whole/log.csv)" -eq 61 ]
check "no temporary file is left" [ -z "$(find whole data -name '*.tmp.*')" ]

# SIGKILL at many moments, again and again, each time resumed.
killed=0
for pause in 0.02 0.05 0.09 0.14 0.2 0.27 0.03 0.06 0.11; do
    if [ -f killed/checkpoint.safetensors ]; then go=--resume; else go=; fi
    # shellcheck disable=SC2086
    "$bin/train" cfg.json --run killed --threads 1 $go >out 2>&1 &
    pid=$!
    sleep $pause
    kill -9 $pid 2>/dev/null && killed=$((killed + 1))
    wait $pid 2>/dev/null
done
if [ -f killed/checkpoint.safetensors ]; then go=--resume; else go=; fi
# shellcheck disable=SC2086
train cfg.json --run killed --threads 1 $go
check "killed $killed times and resumed: the same weights, log and samples" same_run whole killed

# The same, killed right after the files of a checkpoint appear (between checkpoint and model).
train cfg.json --run short --threads 1 --set training.max_steps=20 --set training.learning_rate.cosine_steps=60
cp -r whole behind
cp short/checkpoint.safetensors behind/checkpoint.safetensors
train cfg.json --run behind --threads 1 --resume
check "log, samples and models ahead of the checkpoint are taken back" same_run whole behind

train whole/config.json --run again --threads 1
check "config.json of a run repeats it" same_run whole again

# Ctrl-C: finishes the step, saves, prints how to go on.
for signal in INT TERM; do
    code=130; [ $signal = TERM ] && code=143
    rm -rf "a b'c"
    sh -c 'trap - INT; exec "$0" cfg.json --run "a b'"'"'c" --threads 1 --set training.max_steps=100000' \
        "$bin/train" >out 2>&1 &
    pid=$!
    while ! grep -q 'step 3/' out && kill -0 $pid 2>/dev/null; do sleep 0.05; done
    kill -$signal $pid
    wait $pid
    check "SIG$signal ends with status $code" ended $? $code
    command=$(sed -n 's/.*go on with: //p' out)
    (PATH="$bin:$PATH" && eval "${command#./} --set training.max_steps=1") >out 2>&1
    check "SIG$signal: the printed command goes on" said 'nothing to do'
done

train cfg.json --run whole
check "a run that is there is not overwritten" \
    said 'whole: holds a trained run already; go on with --resume, start over with --fresh'
train cfg.json --run whole --resume --set model.d_model=64
check "resuming with another model is refused" said 'model.d_model = 32, and the config now says 64'
cp -r whole other
train cfg.json --run tokens --set tokenizer.vocab_size=290 --set training.max_steps=1
cp tokens/tokenizer/* other/tokenizer/
train cfg.json --run other --resume --set tokenizer.vocab_size=290 --set model.vocab_size=300
check "another tokenizer in the run is refused" said 'another tokenizer\|vocab_size'
train cfg.json --run fresh --threads 1 && train cfg.json --run fresh --threads 1 --fresh
check "--fresh gives the same run again" same_run whole fresh

# One writer at a time; the lock dies with its process.
"$bin/train" cfg.json --run locked --set training.max_steps=100000 >out2 2>&1 &
pid=$!
while ! grep -q 'step 1/' out2 && kill -0 $pid 2>/dev/null; do sleep 0.05; done
train cfg.json --run locked --resume
check "a second process on the same run is refused" said 'another process is training in this run'
kill -9 $pid
wait $pid 2>/dev/null
train cfg.json --run locked --fresh --set training.max_steps=1
check "after a crash the run is free again" ended $? 0

train cfg.json --run one --set data.train=missing.txt
check "a missing data file is named" said 'missing.txt: no such file'

# One window only: the model learns it by heart.
{
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<u2', 'fortran_order': False, 'shape': (17,), }"
    i=0
    while [ $i -lt 17 ]; do printf '%b' "\\0$(printf %o $((i * 7 % 50)))\\0000"; i=$((i + 1)); done
} >one.npy
cat >one.json <<'JSON'
{"name": "one", "data": {"train": "one.npy", "valid": "one.npy"},
 "model": {"vocab_size": 50, "context_length": 16, "d_model": 32, "num_layers": 2, "num_heads": 2},
 "training": {"batch_size": 2, "max_steps": 150, "learning_rate": {"max": 1e-2, "warmup_steps": 10}}}
JSON
train one.json --run one
loss=$(tail -1 one/log.csv | cut -d, -f5)
check "one batch is learnt by heart: loss $loss < 0.01" [ "$(echo "$loss" | awk '{print ($1 < 0.01)}')" = 1 ]
train one.json --run plain --plain --set training.max_steps=5 --set training.log_every=1
train one.json --run fast --set training.max_steps=5 --set training.log_every=1
same_losses() {
    cut -d, -f5 plain/log.csv >a
    cut -d, -f5 fast/log.csv | paste -d, a - |
        awk -F, 'NR > 1 && ($1 - $2 > 1e-4 || $2 - $1 > 1e-4) { print; bad = 1 } END { exit bad || NR != 6 }'
}
check "--plain gives the same losses" same_losses
