#!/bin/sh
# The splits of SmolLM, Llama 3, GPT-4 and GPT-4o against tokenizers and tiktoken, from the environment that
# scripts/interop.sh makes. TINYLM_TEST_FULL=1: 10,000 texts each.
python=${TINYLM_INTEROP:-build/interop}/bin/python
if ! "$python" -c 'import tiktoken, tokenizers' 2>/dev/null; then
    echo "ok 1 - splits of tokenizers and tiktoken # SKIP no peers installed; scripts/interop.sh installs them"
    exit 0
fi
strings=1500
[ -z "$TINYLM_TEST_FULL" ] || strings=10000
exec "$python" tests/tokenizer_splits.py ./tokenize $strings
