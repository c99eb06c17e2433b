#!/bin/sh
# Trains position schemes side by side and writes the results as tables and charts.
#
#   scripts/experiments.sh positions    every scheme on stories and on the built-in tasks, evaluated at
#                                       1, 2 and 4 times the trained length   -> runs/positions/
#                                       (either half alone: stories, tasks)
#   scripts/experiments.sh extend       a model extended to four times its context length, by changing
#                                       its frequencies, with and without more training -> runs/extend/
#
# Options: --output DIR, --steps N (stories), --task-steps N, --tokens N (evaluated on), --threads N
# (0: all cores), --seed N (differences between seeds show the noise in differences between
# schemes), and --set KEY=VALUE for the stories' config, such as other data. A completed run is not
# repeated; an interrupted one resumes.
#
# A variable holds several options for a program as words, which the shell splits where it is used:
# shellcheck disable=SC2086,SC2048
set -eu
unset CDPATH
cd -- "$(dirname -- "$0")/.."

fail() {
    echo "experiments.sh: $1 (see --help)" >&2
    exit 2
}

experiment='' output='' steps=400 task_steps=400 tokens=131072 threads=0 seed=1337 story_set=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        sed -n '2,14s/^# \{0,1\}//p' scripts/experiments.sh
        exit 0
        ;;
    positions | stories | tasks | extend) experiment=$1 ;;
    --output | --steps | --task-steps | --tokens | --threads | --seed | --set)
        [ $# -ge 2 ] || fail "$1 needs a value"
        case $1 in
        --output) output=$2 ;;
        --steps) steps=$2 ;;
        --task-steps) task_steps=$2 ;;
        --tokens) tokens=$2 ;;
        --threads) threads=$2 ;;
        --seed) seed=$2 ;;
        --set)
            case $2 in *[\ \'\"]*) fail "--set cannot hold blanks or quotes here" ;; esac
            story_set="$story_set --set $2"
            ;;
        esac
        shift
        ;;
    *) fail "unknown argument '$1'" ;;
    esac
    shift
done
[ -n "$experiment" ] || fail "name an experiment: positions or extend"
case $experiment in
stories | tasks) output=${output:-runs/positions} ;;
*) output=${output:-runs/$experiment} ;;
esac
mkdir -p "$output"
if [ ! -x ./train ] || [ ! -x ./evaluate ] || [ ! -x ./inspect ]; then make -s; fi

# ---- training and evaluating ----

# train RUN CONFIG OPTIONS: prints the last lines of the output only on failure
train() {
    run=$1
    shift
    ! grep -qs '^the run is in' "$run.out" || return 0
    echo "training $run" >&2
    mkdir -p "$run"
    ./train $* --set "seed=$seed" --run "$run" --resume --threads "$threads" >"$run.out" 2>&1 || {
        tail -n 3 "$run.out" >&2
        return 1
    }
}

# loss_at RUN CONTEXT OPTIONS: the loss, or nothing if the model does not support that context
loss_at() {
    run=$1 context=$2
    shift 2
    ./evaluate --run "$run" --context "$context" --tokens "$tokens" --threads "$threads" $* 2>"$output/refused" |
        awk -v n="$context" '$1 == n { print $2; exit }'
}

# accuracy_at RUN CONTEXT: percentage of correct symbols
accuracy_at() {
    ./evaluate --run "$1" --context "$2" --threads "$threads" 2>"$output/refused" |
        awk -v n="$2" '$1 == n { print $4; exit }'
}

perplexity() { [ -z "$1" ] || awk -v x="$1" 'BEGIN { printf(x < 11 ? "%.2f" : "%.3g", exp(x)) }'; }

# above FILE NAME: the table minus the first number on the line NAME, so that bars show differences
above() {
    awk -F, -v name="$2" 'FNR == NR { if ($1 == name) base = $2; next }
        FNR == 1 { print; next }
        { line = $1
          for (i = 2; i <= NF; i++) line = line "," ($i == "" ? "" : sprintf("%.4f", $i - base))
          print line }' "$1" "$1"
}

# ---- positions ----

# Name and options of every variant; the last one only applies to text.
variants() {
    for scheme in none index sinusoidal; do echo "$scheme --set model.position.type=$scheme"; done
    for inject in concat gate; do
        echo "sinusoidal_$inject --set model.position.type=sinusoidal --set model.position.inject=$inject"
    done
    for scheme in sinusoidal_learned learned rope; do
        echo "$scheme --set model.position.type=$scheme"
    done
    echo "rope_values --set model.position.type=rope --set model.position.rotate_values=true"
    for scheme in t5 window shaw transformer_xl alibi; do
        echo "$scheme --set model.position.type=$scheme"
    done
    echo "rope_documents --set model.position.type=rope --set model.document_mask=true"
}

# measure_stories NAME RUN CONTEXT…: a line "name,loss at each context"
measure_stories() {
    name=$1 run=$2
    shift 2
    line=$name
    for context in "$@"; do
        case $name in
        *+*) line="$line,$(loss_at "$run" "$context" --set "model.position.scaling.type=${name#*+}")" ;;
        *stretched) line="$line,$(loss_at "$run" "$context" --set "model.position.stretch=$context")" ;;
        *) line="$line,$(loss_at "$run" "$context")" ;;
        esac
    done
    echo "$line"
}

stories() {
    variants | while read -r name options; do
        train "$output/$name" configs/positions/stories.json $story_set --set "training.max_steps=$steps" $options
    done
    echo "scheme,1x,2x,4x" >"$output/stories.csv"
    variants | while read -r name options; do
        measure_stories "$name" "$output/$name" 128 256 512
        if [ "$name" = learned ]; then
            measure_stories learned_stretched "$output/learned" 128 256 512
        fi
        if [ "$name" = rope ]; then
            for scaling in linear ntk dynamic_ntk yarn llama3; do
                measure_stories "rope+$scaling" "$output/rope" 128 256 512
            done
        fi
    done >>"$output/stories.csv"
    above "$output/stories.csv" rope >"$output/stories_above_rope.csv"
    ./inspect chart "$output/stories_above_rope.csv" --unit "nats a token" --output "$output/stories.svg" \
        --title "Stories: loss at 1, 2 and 4 times the trained length, above that of rope at 1"
}

tasks() {
    variants | grep -v '^rope_documents' | while read -r name options; do
        for task in copy reverse sort; do
            train "$output/$name-$task" configs/positions/rope.json --set "data.task=$task" \
                --set "training.max_steps=$task_steps" $options
        done
    done
    echo "scheme,copy,reverse,sort,copy twice as long" >"$output/tasks.csv"
    variants | grep -v '^rope_documents' | while read -r name options; do
        line=$name
        for task in copy reverse sort; do line="$line,$(accuracy_at "$output/$name-$task" 32)"; done
        echo "$line,$(accuracy_at "$output/$name-copy" 64)"
    done >>"$output/tasks.csv"
    ./inspect chart "$output/tasks.csv" --unit "symbols right, per cent" --output "$output/tasks.svg" \
        --title "Tasks that need nothing but positions"
}

positions() {
    stories
    tasks
    {
        echo "| scheme | validation loss | perplexity 1x | 2x | 4x | copy | reverse | sort | copy, 2x |"
        echo "|---|---|---|---|---|---|---|---|---|"
        sed 1d "$output/stories.csv" | while IFS=, read -r name one two four; do
            line="| $name | ${one:--} "
            for loss in "$one" "$two" "$four"; do
                value=$(perplexity "$loss")
                line="$line| ${value:-refused} "
            done
            scores=$(awk -F, -v name="$name" '$1 == name {
                for (i = 2; i <= 5; i++) printf "| %s ", $i == "" ? "refused" : $i " %" }' \
                "$output/tasks.csv")
            echo "$line${scores:-| | | | }|"
        done
    } >"$output/table.md"
    cat "$output/table.md"
}

# ---- extend ----

# A line "name,256 alone,512 alone,1024 alone,256 trained,512 trained,1024 trained".
# extend_with NAME BASE OPTIONS: the options configure the model with the longer context.
extend_with() {
    name=$1 base=$2
    shift 2
    train "$output/$name" configs/positions/stories.json $story_set "$@" --set model.context_length=1024 \
        --set training.batch_size=2 --set "training.max_steps=$((steps / 8))" \
        --set training.learning_rate.max=1e-3 --set training.learning_rate.warmup_steps=5 \
        --init-from "$output/$base"
    line=$name
    for context in 256 512 1024; do
        case $name in
        stretched) options="--set model.position.stretch=1024" ;;
        base*) options="--set model.position.theta=160000" ;;
        unchanged) options='' ;;
        *) options="--set model.position.scaling.type=$name --set model.position.scaling.factor=4" ;;
        esac
        line="$line,$(loss_at "$output/$base" "$context" $options)"
    done
    for context in 256 512 1024; do line="$line,$(loss_at "$output/$name" "$context")"; done
    echo "$line" >>"$output/extend.csv"
}

extend() {
    for scheme in rope learned; do
        train "$output/$scheme" configs/positions/stories.json $story_set --set "training.max_steps=$steps" \
            --set model.context_length=256 --set training.batch_size=8 --set "model.position.type=$scheme"
    done
    echo "method,256 alone,512 alone,1024 alone,256 trained on,512 trained on,1024 trained on" \
        >"$output/extend.csv"
    extend_with unchanged rope
    extend_with base_x16 rope --set model.position.theta=160000
    for scaling in linear ntk yarn; do
        extend_with $scaling rope --set "model.position.scaling.type=$scaling" \
            --set model.position.scaling.original_context=256
    done
    extend_with stretched learned --set model.position.type=learned
    above "$output/extend.csv" unchanged >"$output/extend_above.csv"
    ./inspect chart "$output/extend_above.csv" --unit "nats a token" --output "$output/extend.svg" \
        --title "From 256 positions to 1024, alone and after $((steps / 8)) more steps: loss above that at 256"
    {
        echo "| method | 256 | 512 | 1024 | 256, trained on | 512, trained on | 1024, trained on |"
        echo "|---|---|---|---|---|---|---|"
        sed 1d "$output/extend.csv" | while IFS=, read -r name losses; do
            line="| $name "
            for loss in $(echo "$losses" | tr , ' '); do line="$line| $(perplexity "$loss") "; done
            echo "$line|"
        done
    } >"$output/table.md"
    cat "$output/table.md"
}

"$experiment"
rm -f "$output/refused"
