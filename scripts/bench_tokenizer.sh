#!/bin/sh
# Speed of the tokenizer: whole programs on texts in the page cache, then a breakdown by stage, then
# tiktoken and Hugging Face tokenizers on part of the same text, if PYTHON (python3) has them.
#
#   bench_tokenizer.sh [--tales MEGABYTES] [--stories MEGABYTES]
#
# Texts: generated tales without repeated stories (default 1000), and shuffled TinyStories (default 400;
# skipped if data/tinystories/train.txt does not exist). On a shared machine compare the processor
# time: wall-clock time includes other users' load.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
tokenize=${TOKENIZE:-$root/tokenize} bench=${BENCH:-$root/build/bench} tales=${TALES:-$root/build/make_tales}
python=${PYTHON:-python3}
tales_size=1000 stories_size=400
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || { echo "usage: bench_tokenizer.sh [--tales MEGABYTES] [--stories MEGABYTES]" >&2; exit 2; }
    case $1 in
    --tales) tales_size=$2 ;;
    --stories) stories_size=$2 ;;
    *) echo "usage: bench_tokenizer.sh [--tales MEGABYTES] [--stories MEGABYTES]" >&2; exit 2 ;;
    esac
    shift 2
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# timed MEGABYTES NAME COMMAND…: the whole process, wall clock and processor time.
timed() {
    megabytes=$1 name=$2
    shift 2
    /usr/bin/env bash -c 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null' timed "$@" 2>"$folder/time"
    tail -n 1 "$folder/time" | awk -v name="$name" -v mb="$megabytes" '{
        printf "%-28s %8.3f s %8.0f MB/s %8.3f s of processor time\n", name, $1, mb / $1, $2 + $3 }'
}

measure() {
    text=$1
    megabytes=$(($(wc -c <"$text") / 1000000))
    cat "$text" >/dev/null # into the page cache
    for round in 1 2 3; do
        echo "whole programs, round $round of 3:"
        timed "$megabytes" "train 10,000" "$tokenize" train --input "$text" --vocab-size 10000 \
            --special '<|endoftext|>' --output "$folder/tokenizer"
        timed "$megabytes" "encode to .npy" "$tokenize" encode --tokenizer "$folder/tokenizer" \
            --input "$text" --output "$folder/ids.npy"
        timed "$megabytes" "encode to .npy, 1 thread" "$tokenize" encode --tokenizer "$folder/tokenizer" \
            --input "$text" --output "$folder/ids.npy" --threads 1
    done
    rm -f "$folder/ids.npy"
    echo "stages:"
    "$bench" tokenizer "$text" 10000
    if "$python" -c 'import tiktoken, tokenizers' 2>/dev/null; then
        "$python" "$root/scripts/bench_tokenizer.py" "$tokenize" "$folder/tokenizer" "$text"
    else
        echo "$python lacks tiktoken or tokenizers: no comparison (set PYTHON)"
    fi
}

echo "== tales =="
"$tales" --seed 3 --size "${tales_size}MB" --output "$folder/text" --grammar "$root/data/tales/tales.grammar"
measure "$folder/text"
if [ -f "$root/data/tinystories/train.txt" ]; then
    echo "== shuffled TinyStories =="
    "$bench" shuffle "$root/data/tinystories/train.txt" "$stories_size" >"$folder/text"
    measure "$folder/text"
fi
