#!/bin/sh
# From this folder to a trained language model that tells stories: installs missing packages, builds,
# prepares a corpus, trains configs/tiny.json, and generates three stories. Run it again to resume
# after an interruption.
# A run belongs to its corpus: if runs/tiny was trained on another one, it uses runs/tiny-CORPUS.
#   scripts/quickstart.sh             the whole way
#   scripts/quickstart.sh --steps N   a trial with only N training steps, in runs/tiny-N
set -eu
unset CDPATH
cd -- "$(dirname -- "$0")/.."

steps=
case ${1-} in
'') ;;
--steps)
    case ${2-} in
    '' | *[!0-9]* | 0*)
        echo "quickstart.sh: --steps needs a whole number, not '${2-}' (see --help)" >&2
        exit 2
        ;;
    esac
    steps=$2
    ;;
-h | --help)
    sed -n '2,7s/^# \{0,1\}//p' scripts/quickstart.sh
    exit 0
    ;;
*)
    echo "quickstart.sh: unknown argument '$1' (see --help)" >&2
    exit 2
    ;;
esac

started=$(date +%s)
# say WORDS: a heading with the seconds since the start
say() {
    printf '\n== %s (%s s)\n' "$1" "$(($(date +%s) - started))"
}

say "1 of 5: dependencies (scripts/setup.sh)"
scripts/setup.sh

say "2 of 5: building (make)"
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null) || jobs=2
make -s -j "$jobs"

say "3 of 5: stories to learn from"
if [ -f data/tinystories/train.txt ] && [ -f data/tinystories/valid.txt ]; then
    corpus=tinystories
    echo "TinyStories, in data/tinystories"
else
    corpus=tales
    echo "generated tales (make data); scripts/get_tinystories.sh downloads the better TinyStories"
    make -s data
fi

run=runs/tiny${steps:+-$steps}
if [ -f "$run/checkpoint.safetensors" ] && ! grep -q "data/$corpus/" "$run/config.json"; then
    echo "$run was trained on another corpus and stays unchanged; this run goes to $run-$corpus"
    run=$run-$corpus
fi
set -- --run "$run"
if [ -n "$steps" ]; then
    set -- "$@" --set "training.max_steps=$steps" --set "training.learning_rate.warmup_steps=0"
fi
if [ -f "$run/checkpoint.safetensors" ]; then set -- "$@" --resume; fi
say "4 of 5: training (./train configs/tiny.json); Ctrl-C stops, run the same command again to resume"
./train configs/tiny.json "$@"

say "5 of 5: three stories (./generate)"
for seed in 1 2 3; do
    ./generate --run "$run" --prompt "Once upon a time" \
        --temperature 0.7 --top-p 0.95 --seed "$seed"
    echo
done

say "done"
cat <<END
The run is in $run: model, log.csv, samples.txt, loss.svg. Next steps:
  ./generate --run $run --prompt "One day, a little fox"
  ./train configs/tiny.json --set model.norm=none --run runs/no-norm    change one thing
  README.md                                     every program, and how to read the code
END
