#!/bin/sh
# ./generate and ./evaluate from outside: golden ids, options, edges, errors. The models are made here:
# an untrained one (tests/golden) and one trained for a moment on the same few lines.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
cp "$root"/tests/golden/config.json "$root"/tests/golden/text.txt "$work" && cd "$work" || exit 1

generate() { "$bin/generate" "$@" 2>errors; }
evaluate() { "$bin/evaluate" "$@" 2>errors; }
# refuses STATUS TEXT PROGRAM [ARGUMENT]...: it fails with one line that has the text, and prints nothing.
refuses() {
    expected=$1 words=$2 program=$3
    shift 3
    fails_with "$expected" "$words" "$bin/$program" "$@" && [ ! -s "$work/out" ]
}

train() {
    "$bin/train" config.json "$@" >train.out 2>&1 && return
    sed 's/^/# /' train.out
    return 1
}
train --run untrained || exit 1
train --run runs/short --threads 1 --set training.max_steps=60 \
    --set 'training.learning_rate={"max":1e-2}' || exit 1

# ---- golden ----

golden() {
    while IFS= read -r line; do
        prompt=${line% : *}
        expected="$prompt ${line#* : }"
        got=$(generate --run untrained --temperature 0 --max-tokens 40 --ids --prompt-ids "$prompt" \
            "$@")
        # the story may end early, at the end of text (id 0)
        case "$expected " in
        "$got "*) [ "$got" = "$expected" ] || [ "${got##* }" = 0 ] || return 1 ;;
        *) echo "expected $expected"; echo "got      $got"; return 1 ;;
        esac
    done <"$root/tests/golden/greedy.txt"
}
check "greedy ids are the golden ones" golden --threads 1
check "and with two threads" golden --threads 2
if has_torch; then
    reference() {
        PYTHONDONTWRITEBYTECODE=1 "$python" "$root/tests/golden/golden.py" untrained >reference.txt &&
            cmp reference.txt "$root/tests/golden/greedy.txt"
    }
    check "the golden ids are those of the float64 reference" reference
else
    skip "the golden ids are those of the float64 reference" "$python has no numpy or torch"
fi

# ---- what is printed ----

half_a_character() {
    printf 'a \303' | generate --run untrained --prompt-file - --max-tokens 0 >half.txt &&
        printf 'a \357\277\275\n' | cmp - half.txt
}
check "a prompt that ends inside a character is shown as valid UTF-8" half_a_character
generate --prompt "The fox" >first.txt
cp errors times.txt
timing() {
    rate='[0-9]+ tokens, [0-9]+ tokens/s'
    grep -qE "^prompt: $rate; generation: $rate\$" times.txt
}
check "the newest run is taken, and the times are told on stderr" timing
named() { # a newer run that cannot tell a story is passed over, and said
    grep -q '^generate: runs/short, the newest run' times.txt || return 1
    mkdir runs/task && cp untrained/config.json untrained/model.safetensors runs/task/ &&
        touch -d '2030-01-01' runs/task/model.safetensors && generate --prompt "The fox" | cmp - first.txt
    named_status=$?
    rm -r runs/task
    [ $named_status -eq 0 ] && grep -q '^generate: passed over: runs/task has no model or no tokenizer' errors
}
check "the run that is taken is named, and one without a tokenizer passed over" named
untrained() { # so is a newer one that stopped in its warm-up or has learned nothing
    early='stopped after step 3, before the end of its warm-up'
    lost='has a loss of 7.00, no better than guessing (5.70)'
    "$bin/train" config.json --run runs/early --set training.max_steps=3 \
        --set 'training.learning_rate={"max":1e-2,"warmup_steps":10,"cosine_steps":20}' || return 1
    for why in "$early" "$lost"; do
        touch -d '2030-01-01' runs/early/model.safetensors
        generate --prompt "The fox" | cmp - first.txt && grep -qxF "generate: passed over: runs/early $why" errors &&
            evaluate && grep -qxF "evaluate: passed over: runs/early $why" errors || return 1
        printf '20,1,1,1e-2,7,,1,1\n' >>runs/early/log.csv
    done
    generate --run runs/early --prompt "The fox" && mkdir -p alone/runs && mv runs/early alone/runs && cd alone || return 1
    fails_with 1 "runs: no trained run there (runs/early $lost); train one" "$bin/generate"
    alone=$?
    cd .. && return $alone
}
check "a run that stopped in its warm-up or learned nothing is passed over" untrained
counted() {
    generate --run runs/short --prompt "The fox" --max-tokens 5 --temperature 0 >a && grep -q 'generation: 5 tokens' errors &&
        grep -q '^generate: stopped at --max-tokens 5 before the end of the text' errors &&
        generate --run runs/short --prompt "The fox" --max-tokens 5 --num 3 >a && grep -q 'generation: 15 tokens' errors
}
check "all generated tokens count, and an end at --max-tokens is told" counted
dropped() {
    yes 'The river was wide.' | head -n 300 | generate --run runs/short --prompt-file - --max-tokens 1 >a &&
        grep -q '^generate: the first [0-9]* of [0-9]* tokens of the prompt are beyond the context length' errors
}
check "a prompt that is cut says how many tokens were dropped" dropped
same_again() { generate --prompt "The fox" | cmp - first.txt; }
check "the same seed tells the same story" same_again
other_seed() { ! generate --prompt "The fox" --seed 2 | cmp -s - first.txt; }
check "another seed tells another one" other_seed
batch() {
    generate --prompt "The fox" --num 3 >batch.txt
    grep -q '^---- 3 ----$' batch.txt && [ "$(grep -c '^---- [1-3] ----$' batch.txt)" -eq 3 ] &&
        sed -n '2,/^---- 2 ----$/p' batch.txt | sed '$d' | cmp - first.txt
}
check "several stories stand under each other, and the first is the one told alone" batch
echo_exactly() { # FILE: the prompt comes out byte for byte, followed by what was generated
    size=$(wc -c <"$1")
    generate --prompt-file "$1" --max-tokens 3 >out.txt && head -c "$size" out.txt | cmp - "$1" &&
        [ "$(wc -c <out.txt)" -gt "$size" ] &&
        generate --prompt-file - --max-tokens 3 <"$1" | cmp - out.txt
}
printf 'a\000b\r\nThe \303\266 \377 fox' >odd.txt
check "a prompt with NUL, CRLF, bad bytes and no newline comes out as it was" echo_exactly odd.txt
printf '<|endoftext|>' >special.txt
check "a prompt of a special token only" echo_exactly special.txt
yes 'The river was wide.' | head -n 1200 >long.txt
check "a prompt of ten thousand tokens" echo_exactly long.txt
nothing() { [ "$(generate --prompt "The fox" --max-tokens 0)" = "The fox" ]; }
check "no tokens: the prompt alone" nothing
empty_prompt() {
    generate --prompt "" --max-tokens 20 >a && generate --max-tokens 20 | cmp - a &&
        [ "$(wc -c <a)" -gt 1 ]
}
check "an empty prompt begins at the end-of-text token, which is not shown" empty_prompt
no_empty_line() { # the text has a line feed after each separator
    for seed in 1 2 3 4 5 6; do
        generate --run runs/short --max-tokens 30 --seed $seed | head -n 1 | grep -q '^[^ ]' || return 1
    done
    grep -A 1 '^=== step' runs/short/samples.txt | grep -qv '^===' && ! grep -A 1 '^=== step' runs/short/samples.txt | grep -q '^$'
}
check "a story does not begin with an empty line" no_empty_line
# The same text with another separator has the same ids, so its model is the same, and tells the same
# stories: it begins and ends at that token, here and in every format.
separator() {
    sed 's/<|endoftext|>/<next>/' text.txt >next.txt
    train --run next --threads 1 --set training.max_steps=60 \
        --set 'training.learning_rate={"max":1e-2}' --set data.train=next.txt --set data.valid=next.txt \
        --set 'tokenizer.special_tokens=["<next>"]' || return 1
    set -- --num 8 --max-tokens 90 --temperature 0.7
    generate "$@" >told.txt && generate --run next "$@" | cmp - told.txt &&
        [ "$(wc -l <told.txt)" -gt 8 ] || return 1
    for format in tinylm hf gguf; do
        rm -rf "next.$format" && "$bin/convert" next "next.$format" --to $format >convert.out 2>&1 &&
            generate --model "next.$format" "$@" | cmp - told.txt || return 1
    done
    grep -q '"eos_token": "<next>"' next.hf/tokenizer_config.json &&
        "$bin/convert" next next.bin >convert.out 2>&1 &&
        generate --model next.bin --temperature 0 --max-tokens 30 >a &&
        generate --run next --temperature 0 --max-tokens 30 | cmp - a
}
check "a separator of one's own begins and ends stories too" separator
# A tokenizer that was loaded has its separator also where the config names none: stories told during
# training end there as well, and it is not shown.
loaded() {
    train --run loaded --threads 1 --set training.max_steps=60 --set training.sample_every=5 \
        --set 'training.learning_rate={"max":1e-2}' --set 'tokenizer={"load":"runs/short/tokenizer"}' &&
        [ -s loaded/samples.txt ] && ! grep -F '<|endoftext|>' loaded/samples.txt
}
check "samples of a run with a loaded tokenizer end at its separator" loaded
stops() {
    set -- --prompt "The fox" --temperature 0 --max-tokens 60
    generate "$@" --stop "never there" >whole.txt || return 1
    stop=$(cut -c 20-23 whole.txt | head -n 1) # four characters of the story itself
    generate "$@" --stop zzz --stop "$stop" >cut.txt || return 1
    size=$(($(wc -c <cut.txt) - 1))
    [ "$size" -lt "$(wc -c <whole.txt)" ] && head -c $size whole.txt >a &&
        head -c $size cut.txt | cmp - a && ! tail -c +8 cut.txt | grep -qF -- "$stop"
}
check "a stop text ends the story before it" stops
same_by_ids() {
    generate --prompt "The fox" --ids --max-tokens 30 >ids.txt || return 1
    "$bin/tokenize" encode --help >/dev/null 2>&1 || return 0
    [ "$(wc -w <ids.txt)" -le 60 ] && ! grep -q '[^0-9 ]' ids.txt
}
check "--ids prints numbers" same_by_ids
prompt_as_ids() {
    start=$(generate --prompt "The fox" --ids --max-tokens 0)
    generate --prompt-ids "$start" >a && cmp a first.txt
}
check "a prompt given as ids is the same prompt" prompt_as_ids
logprobs() {
    generate --prompt "The fox" --logprobs --temperature 0 --max-tokens 30 >table.txt
    generate --prompt "The fox" --ids --temperature 0 --max-tokens 30 >ids.txt
    # greedy: no runner-up is likelier; ln p is the fourth column; ids as by --ids
    awk -F '\t' 'NR == 1 { next }
        { n++; p = $3; if ($4 > 1e-6 || (exp($4) - p) ^ 2 > 1e-10) exit 1
          for (i = 5; i <= NF; i++) { k = split($i, word, " "); if (word[k] > p) exit 1 }
          if (NF != 8) exit 1 }
        END { if (n < 1) exit 1 }' table.txt || return 1
    awk -F '\t' 'NR > 1 { printf " %s", $1 } END { print "" }' table.txt >tail.txt
    case "$(cat ids.txt)" in *"$(cat tail.txt)") ;; *) return 1 ;; esac
}
check "--logprobs agrees with --ids, and greedy takes the likeliest" logprobs
talks() {
    printf 'The fox\nThe river' | generate --interactive --max-tokens 5 >talk.txt
    generate --prompt "The fox" --max-tokens 5 >a
    generate --prompt "The river" --max-tokens 5 >>a
    cmp talk.txt a
}
check "--interactive tells a story for each line" talks
threads() {
    generate --prompt "The fox" --temperature 0 --threads 1 >a &&
        generate --prompt "The fox" --temperature 0 --threads 3 | cmp - a
}
check "the number of threads changes nothing" threads
padded() {
    train --run padded --set model.vocab_size=400 || return 1
    generate --run padded --ids --num 20 --temperature 5 --max-tokens 50 >ids.txt || return 1
    grep -v -- '----' ids.txt | tr ' ' '\n' |
        awk '$1 >= 300 { exit 1 } { n++ } END { if (n < 200) exit 1 }'
}
check "padded rows of the vocabulary are never drawn" padded
interrupted() {
    cp -R untrained bare && rm -r bare/tokenizer # without a tokenizer no token ends a story
    (exec env --default-signal=INT,HUP "$bin/generate" --run bare --prompt-ids 5 --num 2 --max-tokens 10000000 >long.out 2>errors) &
    pid=$!
    sleep 1
    kill -INT $pid
    wait $pid
    status=$?
    [ $status -eq 130 ] && grep -q '^---- 2 ----$' long.out
}
check "an interrupt ends the stories, prints them and exits with 130" interrupted
full_disk() {
    "$bin/generate" --max-tokens 5 >/dev/full 2>errors
    [ $? -eq 1 ] && tail -n 1 errors | grep -q '^generate: '
}
if [ -e /dev/full ]; then
    check "a full disk is an error" full_disk
else
    skip "a full disk is an error" "no /dev/full"
fi

# ---- refusals ----

check "unknown options" refuses 2 "--tempersture" generate --tempersture 1
check "two prompts at once" refuses 2 "exclude each other" generate --prompt a --prompt-file odd.txt
check "top-p out of range" refuses 2 "--top-p" generate --top-p 0
check "a negative temperature" refuses 2 "--temperature" generate --temperature=-1
check "a negative top-k" refuses 2 "--top-k" generate --top-k=-1
check "an empty stop text" refuses 2 "--stop" generate --stop ""
check "a run that is not there" refuses 1 "nowhere" generate --run nowhere
check "a prompt file that is not there" refuses 1 "absent.txt" generate --prompt-file absent.txt
check "text for a model without tokenizer" refuses 1 "--prompt-ids" generate --run bare --prompt a
check "ids that are none" refuses 1 "'x'" generate --prompt-ids "1 x"
check "ids outside of the vocabulary" refuses 1 "'300'" generate --prompt-ids "1 300"
no_runs() { mkdir -p elsewhere && (cd elsewhere && refuses 1 "runs" generate --prompt a); }
check "no runs at all" no_runs
damaged() {
    cp -R runs/short broken && printf 'x' >broken/model.safetensors &&
        refuses 1 "model.safetensors" generate --run broken
}
check "a damaged model" damaged

# ---- evaluate ----

value() { awk -v name="$1" 'index($0, name " ") == 1 { print $NF }' "$2"; }
close_to() { # A B LIMIT
    awk -v a="$1" -v b="$2" -v limit="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= limit) }'
}
calculate() { awk "BEGIN { print $1 }"; }
counts() {
    evaluate --run runs/short --text text.txt >e.txt || return 1
    cat e.txt
    size=$(wc -c <text.txt)
    tokens=$(value tokens e.txt) bytes=$(value bytes e.txt) loss=$(value loss e.txt)
    # every target but the first token's counts; its bytes are at most a few
    [ "$bytes" -lt "$size" ] && [ "$bytes" -ge $((size - 12)) ] &&
        close_to "$(value perplexity e.txt)" "$(calculate "exp($loss)")" 0.01 &&
        close_to "$(value 'bits per byte' e.txt)" "$(calculate "$loss * $tokens / $bytes / log(2)")" 1e-4
}
check "loss, perplexity and bits per byte belong together, and all of the text counts" counts
own_text() {
    evaluate --run runs/short >own.txt && cmp own.txt e.txt && grep -q '^evaluate: measured on all of text.txt$' errors &&
        evaluate --run runs/short --tokens 32 >a && grep -q '^evaluate: measured on windows spread over text.txt$' errors
}
check "without --text it is the run's validation text" own_text
piped() {
    evaluate --run runs/short --text - <text.txt | cmp - e.txt || return 1
    mkfifo pipe && fails_with 1 'pipe: is not a regular file, and a pipe cannot be read twice; write what comes from it to a file first' \
        "$bin/train" config.json --text pipe --run piped
}
check "evaluate: --text - reads standard input; a pipe where it cannot be read says what to do" piped
from_logits() {
    set -- --run untrained --ids "5 17 9 250"
    evaluate "$@" --logits >logits.txt && evaluate "$@" >loss.txt || return 1
    cat loss.txt
    # −ln p of 17, 9, 250 from the first three lines
    mean=$(awk -v wanted="17 9 250" 'BEGIN { split(wanted, target, " ") }
        NR <= 3 { sum = 0; for (i = 1; i <= NF; i++) sum += exp($i)
                  total += log(sum) - $(target[NR] + 1) }
        NF != 300 { exit 1 } END { printf "%.7f", total / 3 }' logits.txt)
    [ "$(wc -l <logits.txt)" -eq 4 ] && close_to "$mean" "$(value loss loss.txt)" 1e-5
}
check "--logits prints all logits, which give the loss" from_logits
trained() {
    evaluate --run untrained --text text.txt >u.txt && ! close_to "$(value loss u.txt)" 0 5 &&
        close_to "$(value loss e.txt)" 0 3
}
check "training has lowered the loss" trained
from_checkpoint() {
    evaluate --model runs/short/checkpoint.safetensors --text text.txt | cmp - e.txt
}
check "a checkpoint is a model too" from_checkpoint
tasks() { # the same sequences as at the end of the training, so the same loss
    cat >task.json <<'EOF'
{"name": "copy", "data": {"task": "copy", "length": 4, "symbols": 5},
 "model": {"context_length": 12, "d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 32},
 "training": {"batch_size": 4, "max_steps": 3}}
EOF
    "$bin/train" task.json --run copy >train.out 2>&1 && evaluate --run copy >task.txt || return 1
    cat task.txt
    loss=$(sed -n 's/^validation: loss \([0-9.]*\).*/\1/p' train.out)
    close_to "$(value loss task.txt)" "$loss" 1e-4 && [ "$(value sequences task.txt)" -eq 80 ] &&
        close_to "$(value accuracy task.txt)" 0.5 0.5
}
check "a run of a built-in task" tasks
check "evaluate: --logits without --ids" refuses 2 "--ids" evaluate --run untrained --logits
check "evaluate: ids outside of the vocabulary" refuses 1 "'300'" evaluate --run untrained --ids "1 300"
printf 'a' >short.txt
check "evaluate: a text of one token" refuses 1 "too short" evaluate --run untrained --text short.txt

only_the_model() {
    for set in training.max_steps=3 seed=4 data.valid=short.txt name=x; do
        refuses 2 "--set $set: only keys that begin with model. change what is evaluated" evaluate --run runs/short --set $set || return 1
    done
}
check "evaluate: --set with a key that would change nothing" only_the_model
without_text() {
    "$bin/convert" runs/short runs/converted >train.out && cp -R runs/short moved && sed -i 's/"text.txt"/"gone.txt"/' moved/config.json &&
        refuses 1 "runs/converted: is no run with a validation text of its own; give a text with --text FILE" evaluate --run runs/converted &&
        refuses 1 "runs/converted: is no run that was trained here" evaluate --run runs/converted --text text.txt --set model.context_length=8 &&
        refuses 1 "gone.txt: no such file; check the path; or give another text with --text FILE" evaluate --run moved &&
        evaluate --run moved --text text.txt | cmp - e.txt && evaluate --run runs/converted --text text.txt | cmp - e.txt
}
check "evaluate: a run whose text is gone, or that never had one, names --text" without_text

# ---- a model of llama2.c ----

models=${TINYLM_SHARED:-$root/../shared}/data/models
if [ -f "$models/stories260K.bin" ]; then
    lily() {
        generate --model "$models/stories260K.bin" --tokenizer "$models/tok512.bin" \
            --temperature 0 --max-tokens 40 >lily.txt
        cat lily.txt
        grep -q '^Once upon a time, there was a little girl named Lily. She loved to play outside' lily.txt
    }
    check "stories260K.bin tells of Lily" lily
else
    skip "stories260K.bin tells of Lily" "no shared models"
fi
