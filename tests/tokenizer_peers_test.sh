#!/bin/sh
# The ids of ./tokenize against tiktoken and Hugging Face tokenizers, where a Python with them is there:
# PYTHON, or python3. (python3 -m venv DIR && DIR/bin/pip install tiktoken tokenizers)
root=$(cd -- "$(dirname -- "$0")/.." && pwd)
python=${PYTHON:-python3}
shared=${TINYLM_SHARED:-$root/../shared}
if ! [ -d "$shared" ]; then
    echo "ok 1 - ids of tiktoken and tokenizers # SKIP no shared data"
elif ! "$python" -c 'import tiktoken, tokenizers' 2>/dev/null; then
    echo "ok 1 - ids of tiktoken and tokenizers # SKIP $python lacks tiktoken or tokenizers (set PYTHON)"
else
    exec "$python" "$root/tests/tokenizer_peers.py" "${TOKENIZE:-$root/tokenize}" "$shared"
fi
