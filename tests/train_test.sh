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
# step s has the rate of t = s - 1: warm-up over 5 steps to 3e-3, half way between it and a tenth at t = 32.5
rates() {
    awk -F, 'NR > 1 { rate[$1] = $4 }
        function near(x, y) { return x - y < 1e-9 && y - x < 1e-9 }
        END { exit !(near(rate[1], 0) && near(rate[2], 6e-4) && near(rate[6], 3e-3) &&
                     near((rate[33] + rate[34]) / 2, 1.65e-3) && rate[60] > 3e-4) }' whole/log.csv
}
validated() { [ "$(awk -F, '$6 + 0 > 0 { printf "%s ", $1 }' whole/log.csv)" = "7 14 21 28 35 42 49 56 60 " ]; }
check "every seventh step and the last one are validated" validated
sampled() { [ "$(sed -n 's/^=== step //p' whole/samples.txt | tr '\n' ' ')" = "20 40 60 " ]; }
check "every twentieth step tells a sample" sampled
check "the rate of a step is the schedule at the steps done before" rates
check "no temporary file is left" [ -z "$(find whole data -name '*.tmp.*')" ]

# SIGKILL at many moments, again and again, each time resumed.
for pause in 0.02 0.05 0.09 0.14 0.2 0.27 0.03 0.06 0.11; do
    if [ -f killed/checkpoint.safetensors ]; then go=--resume; else go=; fi
    # shellcheck disable=SC2086
    "$bin/train" cfg.json --run killed --threads 1 $go >out 2>&1 &
    pid=$!
    sleep $pause
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
done
if [ -f killed/checkpoint.safetensors ]; then go=--resume; else go=; fi
# shellcheck disable=SC2086
train cfg.json --run killed --threads 1 $go
check "killed many times and resumed: the same weights, log and samples" same_run whole killed

# The same, killed right after the files of a checkpoint appear (between checkpoint and model).
train cfg.json --run short --threads 1 --set training.max_steps=20 --set training.learning_rate.cosine_steps=60
cp -r whole behind
cp short/checkpoint.safetensors behind/checkpoint.safetensors
train cfg.json --run behind --threads 1 --resume
check "log, samples and models ahead of the checkpoint are taken back" same_run whole behind

# Killed after the last checkpoint, before its model: no step is left, but the model must still come.
cp -r whole unwritten
cp short/model.safetensors unwritten/model.safetensors
train cfg.json --run unwritten --threads 1 --resume
check "the model of the last step is written by resuming" same_run whole unwritten

# A rate that spoils the model: the best weights stay those of before.
cp -r whole worse
train cfg.json --run worse --threads 1 --resume --set training.max_steps=63 \
    --set training.learning_rate.schedule=constant --set training.learning_rate.max=0.3
best_stays() {
    ended "$1" 0 && cmp whole/best.safetensors worse/best.safetensors && ! cmp whole/model.safetensors worse/model.safetensors
}
check "a worse model does not become the best one" best_stays $?

train whole/config.json --run again --threads 1
check "config.json of a run repeats it" same_run whole again

# Ctrl-C: finishes the step, saves, prints how to resume.
for signal in INT TERM HUP; do
    case $signal in INT) code=130 ;; TERM) code=143 ;; *) code=129 ;; esac
    rm -rf "a b'c"
    : >out # what an earlier run said must not send the signal before this one can take it
    (exec env --default-signal=INT,HUP "$bin/train" cfg.json --run "a b'c" --threads 1 --set training.max_steps=100000 >out 2>&1) &
    pid=$!
    while ! grep -q 'step 3/' out && kill -0 $pid 2>/dev/null; do sleep 0.05; done
    kill -$signal $pid
    wait $pid
    check "SIG$signal ends with status $code" ended $? $code
    command=$(sed -n 's/.*resume with: //p' out)
    (PATH="$bin:$PATH" && eval "${command#./} --set training.max_steps=1") >out 2>&1
    check "SIG$signal: the printed command resumes" said 'nothing to do'
done

# nohup and a shell's background jobs: what is ignored stays ignored
ignored() {
    : >out
    (trap '' INT HUP && exec "$bin/train" cfg.json --run ignored --threads 1 --set training.max_steps=100000 >out 2>&1) &
    pid=$!
    while ! grep -q 'step 3/' out && kill -0 $pid 2>/dev/null; do sleep 0.05; done
    kill -INT $pid && kill -HUP $pid && sleep 0.3 && kill -TERM $pid
    wait $pid
    ended $? 143
}
check "ignored SIGINT and SIGHUP stay ignored" ignored
check "a line about a step has at most 80 columns" [ -z "$(grep -E '^step.{77}' out)" ]

stale() { # what a killed process left goes, what a living one or a user has stays
    true &
    dead=$!
    wait $dead
    mkdir -p stale/tokenizer stale/checkpoints data/cache
    for file in stale/model.safetensors stale/tokenizer/vocab.json stale/checkpoints/step_1.safetensors data/cache/a.npy; do
        : >"$file.tmp.$dead" && : >"$file.tmp.$$" && : >"$file.tmp.mine"
    done
    train cfg.json --run stale --set training.max_steps=1 || return 1
    find stale data -name '*.tmp.*' | sed 's/.*tmp\.//' | sort | uniq -c >left
    cat left
    [ "$(wc -l <left)" -eq 2 ] && ! grep -w "$dead" left && find stale data -name "*.tmp.$$" -delete && find stale data -name '*.tmp.mine' -delete
}
check "temporary files of dead processes are removed when a run starts" stale
other_text() {
    rm -rf edited && mkdir edited && cp text.txt cfg.json edited && (
        cd edited && "$bin/train" cfg.json --run r --set training.max_steps=2 &&
            "$bin/train" cfg.json --run r --resume --set training.max_steps=3 >out && ! grep '^note: text.txt' out || exit 1
        sed 's/tree/bush/' text.txt >new && mv new text.txt
        "$bin/train" cfg.json --run r --resume --set training.max_steps=4 >out || exit 1
        grep '^note: text.txt or the validation text has changed since the last checkpoint' out || exit 1
        "$bin/train" cfg.json --run r --resume --set training.max_steps=5 >out && ! grep '^note: text.txt' out
    )
}
check "resuming with a text that has changed says so, once" other_text
elsewhere() {
    mkdir -p "else where" && (
        cd "else where" && fails_with 1 "text.txt: no such file; check the path; the run was started in $(realpath ../edited), where its data paths begin" \
            "$bin/train" --run ../edited/r --resume &&
            fails_with 1 "the run was started in $(realpath ../edited), where" "$bin/evaluate" --run ../edited/r
    )
}
check "a run whose relative data path is not found names the folder it was started in" elsewhere
nowhere() {
    fails_with 1 'nowhere: no such folder to resume; check --run, or leave out --resume to start a run there' \
        "$bin/train" cfg.json --run nowhere --resume && [ ! -e nowhere ]
}
check "--resume of a folder that is not there is an error" nowhere
warm_up() { train cfg.json --run warm --set training.max_steps=1 && said '^learning rate: rises from 0 to 0.003 in the first 5 steps$'; }
check "the warm-up is announced: the first step has the rate 0" warm_up
added_steps() {
    cp -r whole added && train cfg.json --run added --resume --set training.max_steps=61 &&
        said '^note: steps after 60 run at the lowest learning rate, 0.0003; to stretch the cosine over all steps: --set training.learning_rate.cosine_steps=61$' &&
        train cfg.json --run added --resume --set training.max_steps=62 --set training.learning_rate.cosine_steps=62 && ! grep '^note: steps' out
}
check "a longer --resume says at which rate the added steps run" added_steps
diverged() {
    train cfg.json --run wild --set training.learning_rate.max=3 --set training.learning_rate.warmup_steps=0 --set training.max_steps=6
    said 'train: warning: the loss is far above 5.70, that of guessing' && ! grep 'a story' out
}
check "a loss far above that of guessing is a warning, and no story is offered" diverged
measured() {
    train cfg.json --run measured --set data.valid=text.txt --set training.max_steps=1 &&
        said "  measured on 8 windows, 128 of [0-9]* tokens of text.txt; ./evaluate takes all$"
}
check "the loss at the end says what it is measured on" measured
macos() { # whose struct stat calls the field st_mtimespec
    mkdir -p macos/sys && cat >macos/sys/stat.h <<'END'
#define st_mtim st_mtimespec
#include_next <sys/stat.h>
#undef st_mtim
END
    ${CC:-gcc} -std=gnu11 -fsyntax-only -D__APPLE__ -DREAL_IS_float -include macos/sys/stat.h -I"$root/src" "$root/src/training/run_directory.c"
}
check "file times compile with the names of macOS" macos

train cfg.json --run whole
check "a run that is there is not overwritten" \
    said 'whole: already holds a trained run; continue it with --resume, start over with --fresh'

# --resume: what cannot change any more is refused before anything is done, the rest takes effect.
fixed() { # KEY WAS VALUE...
    key=$1 was=$2
    shift 2
    for value in "$@"; do
        fails_with 1 "whole/checkpoint.safetensors: was trained with $key = $was, and the config now says $value; use the config of that run, or start over with --fresh" \
            "$bin/train" cfg.json --run whole --resume --set "$key=$value" && ! grep -q "^data:" "$work/out" || return 1
    done
}
cp -r whole untouched
all_fixed() {
    fixed seed 1337 1 && fixed tokenizer.vocab_size 300 290 301 10000 && fixed tokenizer.special_tokens '["<|endoftext|>"]' '[]' '["a"]' &&
        fixed model.vocab_size 300 301 && fixed model.context_length 16 8 && fixed model.d_model 32 64 && fixed model.num_layers 2 1 &&
        fixed model.num_heads 2 4 && fixed model.num_kv_heads 2 1 && fixed model.d_ff 128 64 && fixed model.norm '"pre"' '"post"' &&
        fixed model.norm_eps 1e-05 1e-06 && fixed model.ffn '"swiglu"' '"silu"' && fixed model.tie_embeddings false true &&
        fixed model.document_mask false true && fixed model.position.type '"rope"' '"alibi"' && fixed model.position.theta 10000 500 &&
        fixed training.optimizer.type '"adamw"' '"sgd"' && diff -r whole untouched
}
check "--resume with another seed, tokenizer, model or type of optimizer is refused" all_fixed
without_tokenizer() {
    sed '/"tokenizer"/d; s/"context_length"/"vocab_size": 300, "context_length"/' cfg.json >bare.json &&
        fails_with 1 'was trained with tokenizer = {' "$bin/train" bare.json --run whole --resume
}
check "--resume without the tokenizer is refused" without_tokenizer
changes() { # KEY WAS VALUE [ROWS OF THE CONFIG]...: printed, and in config.json afterwards
    rm -rf on && cp -r whole on && "$bin/train" cfg.json --run on --resume --threads 1 --set training.max_steps=62 --set "$1=$3" >out 2>&1 &&
        said "^resuming with $1 = $3 (it was $2)$" && grep -q "\"${1##*.}\": $3" on/config.json && ! cmp on/model.safetensors more/model.safetensors
}
all_changes() {
    cp -r whole more && "$bin/train" cfg.json --run more --resume --threads 1 --set training.max_steps=62 || return 1
    grep -q '"cosine_steps": 60' more/config.json || return 1
    changes training.batch_size 4 2 && changes training.grad_clip 1 0.1 && changes training.learning_rate.max 0.003 0.1 &&
        changes training.learning_rate.cosine_steps 60 62 && changes training.optimizer.weight_decay 0.1 0.5 &&
        changes data.train '"text.txt"' '"more.txt"'
}
tail -n 60 text.txt >more.txt
check "--resume with other keys says so, and trains with them" all_changes
kept_cosine() {
    "$bin/train" cfg.json --run more --resume --threads 1 --set training.max_steps=64 && grep -q '"cosine_steps": 60' more/config.json
}
check "cosine_steps left out keeps its value however often max_steps is raised" kept_cosine
kept_files() { # a file earlier in the list has come since
    set -- --run lists --threads 1 --set 'data={"train": ["late.txt", "text.txt"], "valid": ["late.txt", "more.txt"]}'
    "$bin/train" cfg.json "$@" --set training.max_steps=1 --set training.learning_rate.cosine_steps=60 && cp more.txt late.txt &&
        "$bin/train" cfg.json "$@" --set training.max_steps=2 --resume >out 2>&1 && said '^data: text.txt,.* validation: more.txt,' &&
        ! grep "resuming with data" out && "$bin/evaluate" --run lists >a && "$bin/evaluate" --run lists --text more.txt >b && cmp a b
}
check "a run keeps its files when others of the lists appear" kept_files
stopped_early() { # a vocabulary that the text cannot fill is asked for again
    train cfg.json --run early --set tokenizer.vocab_size=5000 --set training.max_steps=1 && said 'no pair of tokens is left' &&
        train cfg.json --run early --set tokenizer.vocab_size=5000 --set training.max_steps=2 --resume && said 'step 2/2' &&
        train early/config.json --run early2 && cmp early/model.safetensors early2/model.safetensors
}
check "a tokenizer that stopped early goes on, and config.json repeats it" stopped_early
resume_init() {
    train cfg.json --run whole --resume --init-from early && said '^whole: has a checkpoint to resume; --init-from early is not used$'
}
check "--init-from beside --resume is not dropped in silence" resume_init
cp -r whole other
train cfg.json --run tokens --set tokenizer.vocab_size=290 --set training.max_steps=1
cp tokens/tokenizer/* other/tokenizer/
train cfg.json --run other --resume --set tokenizer.vocab_size=290 --set model.vocab_size=300
check "another tokenizer is refused" said 'tokenizer.vocab_size = 300, and the config now says 290'
train cfg.json --run other --resume
check "another tokenizer in the run's folder is refused" said 'was trained with another tokenizer than the one in its run directory'
train cfg.json --run fresh --threads 1 && train cfg.json --run fresh --threads 1 --fresh
check "--fresh gives the same run again" same_run whole fresh
lone_model() { # converted, or trained elsewhere: it is not written over
    mkdir lone && cp fresh/config.json fresh/model.safetensors lone && cp -r lone lone2 || return 1
    for option in --threads=1 --resume; do
        fails_with 1 "lone: holds a model but no checkpoint to resume from; name another folder with --run" \
            "$bin/train" cfg.json --run lone $option && diff -r lone lone2 || return 1
    done
    "$bin/train" cfg.json --run lone --fresh --set training.max_steps=1
}
check "a model without a checkpoint is not overwritten" lone_model
cp -r fresh before
fresh_refused() {
    fails_with 1 "typo.txt: no such file" "$bin/train" cfg.json --run fresh --fresh --set data.train=typo.txt &&
        fails_with 1 "GB of memory" "$bin/train" cfg.json --run fresh --fresh --set model.d_model=65536 --set training.batch_size=64 && diff -r before fresh
}
check "--fresh with a config that is refused leaves the old run alone" fresh_refused
fresh_from_itself() {
    "$bin/train" cfg.json --run fresh --fresh --init-from fresh --set training.max_steps=0 && cmp before/model.safetensors fresh/model.safetensors
}
check "--fresh --init-from the same run starts with its weights" fresh_from_itself

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
fresh_ids() { # over a run with a tokenizer, chart, samples and kept models
    cp -r fresh over && rm -r over/tokenizer && ln -s ../whole/tokenizer over && mkdir -p over/checkpoints && cp fresh/model.safetensors over/checkpoints/step_0000007.safetensors &&
        train one.json --run over --fresh --set training.max_steps=2 --set training.keep_every=2 && ls over/checkpoints &&
        [ "$(ls over/checkpoints)" = step_0000002.safetensors ] && [ ! -e over/samples.txt ] && "$bin/evaluate" --run over && cmp whole/tokenizer/vocab.json untouched/tokenizer/vocab.json
}
check "--fresh removes the old run's tokenizer and kept models" fresh_ids
loss=$(tail -1 one/log.csv | cut -d, -f5)
by_heart() { echo "loss $loss" && [ "$(echo "$loss" | awk '{print ($1 < 0.01)}')" = 1 ]; }
check "one batch is learnt by heart: a loss below 0.01" by_heart
train one.json --run plain --plain --set training.max_steps=5 --set training.log_every=1
train one.json --run fast --set training.max_steps=5 --set training.log_every=1
same_losses() {
    cut -d, -f5 plain/log.csv >a
    cut -d, -f5 fast/log.csv | paste -d, a - |
        awk -F, 'NR > 1 && ($1 - $2 > 1e-4 || $2 - $1 > 1e-4) { print; bad = 1 } END { exit bad || NR != 6 }'
}
check "--plain gives the same losses" same_losses
