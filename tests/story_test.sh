#!/bin/sh
# ./generate and ./evaluate against the float64 model in Python (tests/parity) on a small text.
# Skipped where numpy or PyTorch is not installed (Debian: python3-numpy python3-torch). PYTHON
# chooses another one.
set -u
unset CDPATH
here=$(cd -- "$(dirname -- "$0")" && pwd)
bin=$(cd -- "${BIN:-$here/..}" && pwd)
python=${PYTHON:-/usr/bin/python3}
[ -x "$python" ] || python=python3
if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
    echo "ok 1 - stories against float64 # SKIP $python has no numpy or torch"
    exit 0
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder" || exit 1
export PYTHONDONTWRITEBYTECODE=1
export OMP_WAIT_POLICY=PASSIVE # tiny steps on a busy machine: waiting threads must not spin

"$python" "$here/parity/story.py" make "$folder" || exit 1
"$bin/train" story.json --run story >output 2>&1 || sed "s|^|# train: |" output | tail -n 3
"$python" "$here/parity/story.py" check "$folder" "$bin"
