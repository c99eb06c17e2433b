#!/bin/sh
# ./generate and ./evaluate against the float64 model in Python (tests/parity) on a small text.
# Skipped where numpy or PyTorch is not installed (Debian: python3-numpy python3-torch). PYTHON
# chooses another one.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
if ! has_torch; then
    skip "stories against float64" "$python has no numpy or torch"
    exit 0
fi
cd "$work" || exit 1
export PYTHONDONTWRITEBYTECODE=1
export OMP_WAIT_POLICY=PASSIVE # tiny steps on a busy machine: waiting threads must not spin

"$python" "$root/tests/parity/story.py" make "$work" || exit 1
"$bin/train" story.json --run story >output 2>&1 || sed "s|^|# train: |" output | tail -n 3
"$python" "$root/tests/parity/story.py" check "$work" "$bin"
