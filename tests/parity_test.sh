#!/bin/sh
# Training against a float64 reimplementation in Python (tests/parity): 20 steps of many models,
# every loss and gradient norm. Skipped where numpy or PyTorch is not installed (Debian:
# python3-numpy python3-torch). PYTHON chooses another one.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
if ! has_torch; then
    skip "parity with float64" "$python has no numpy or torch"
    exit 0
fi
cd "$work" || exit 1
export PYTHONDONTWRITEBYTECODE=1
export OMP_WAIT_POLICY=PASSIVE # tiny steps on a busy machine: waiting threads must not spin

# for the variants with documents: bytes and a separator
echo "no pairs" >text
"$bin/tokenize" train --input text --vocab-size 257 --special '<|endoftext|>' --output tokenizer >output 2>&1 ||
    sed 's/^/# /' output
"$python" "$root/tests/parity/parity.py" make "$work" || exit 1
for config in *.json; do
    for run in "${config%.json}.initial" "${config%.json}"; do
        set --
        [ "$run" = "${config%.json}" ] || set -- --set training.max_steps=0
        "$bin/train" "$config" --run "$run" "$@" >output 2>&1 || sed "s|^|# train $run: |" output | tail -n 3
    done
done
"$python" "$root/tests/parity/parity.py" check "$work"
