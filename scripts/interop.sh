#!/bin/sh
# Creates a Python environment with the programs whose files tinylm reads and writes, for the tests
# in tests/interop/: transformers (with torch), tokenizers, tiktoken, safetensors, gguf,
# llama-cpp-python, numpy.
#
#   scripts/interop.sh [DIR]      default: $TINYLM_INTEROP, or build/interop
#
# It needs about 6 GB of disk and ten minutes, most of them to compile llama.cpp. The versions are
# those the tests last passed with. Then run: make test (with TINYLM_INTEROP=DIR if DIR was given).
set -eu
directory=${1:-${TINYLM_INTEROP:-build/interop}}
if [ -x "$directory/bin/python" ] && [ -e "$directory/complete" ]; then
    echo "$directory is complete"
    exit 0
fi
command -v python3 >/dev/null || { echo "interop.sh: python3 is missing; install it" >&2; exit 1; }
python3 -m venv "$directory"
pip() {
    nice "$directory/bin/python" -m pip --disable-pip-version-check --quiet "$@"
}
pip install numpy==2.4.6 safetensors==0.8.0 tokenizers==0.23.3 tiktoken==0.14.0 gguf==0.19.0
pip install torch==2.15.0
pip install transformers==5.24.0
pip install llama-cpp-python==0.3.36
touch "$directory/complete"
echo "$directory is ready"
