#!/bin/sh
# Other people's programs on our files and ours on theirs: tests/interop/interop.py in the environment
# that scripts/interop.sh makes.
python=${TINYLM_INTEROP:-build/interop}/bin/python
if [ ! -x "$python" ]; then
    echo "ok 1 - interop # SKIP no peers installed; scripts/interop.sh installs them"
    exit 0
fi
exec "$python" tests/interop/interop.py
