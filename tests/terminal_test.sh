#!/bin/sh
# Nothing that a file holds reaches the terminal as a control character: names and messages never do,
# text only where stdout is a terminal (files and pipes get it byte for byte).
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
cd -- "$work" || exit 1

# no_controls FILE: but line ends; C1 counts whether it came as UTF-8 or as a byte
no_controls() { ! LC_ALL=C tr -d '\n' <"$1" | LC_ALL=C grep -a "$(printf '[\001-\037\177]\\|\302[\200-\237]')"; }

# A model file with escapes in the names of its tensors and in what is said about it.
header='{"a\u001b[31m\u009b2J\u202e":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
 "b\u0085\r\n":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}'
{
    # shellcheck disable=SC2059 # an octal escape
    printf "\\$(printf %o "${#header}")\0\0\0\0\0\0\0"
    printf '%s\0\0\200\077\0\0\200\077' "$header"
} >names.safetensors
names() {
    "$bin/inspect" model names.safetensors >out 2>err && grep -q '2 tensors' out && no_controls out
}
check "names of tensors" names
printf '{"model": {"context_length": 16, "d_\\u001bmodel\\u009b": 1}}' >config.json
refused() {
    fails_with 1 'd_?model' "$bin/train" config.json && no_controls err
}
check "a message that quotes a file" refused

sentences 200 >train.txt
cat >tiny.json <<'CONFIG'
{"data": {"train": "train.txt", "valid": "train.txt"}, "tokenizer": {"vocab_size": 260, "special_tokens": ["<|endoftext|>"]},
 "model": {"context_length": 16, "d_model": 16, "num_layers": 1, "num_heads": 1, "d_ff": 32},
 "training": {"batch_size": 2, "max_steps": 0, "sample_every": 0}}
CONFIG
"$bin/train" tiny.json --run run --threads 1 >/dev/null 2>&1
printf 'a\033[31m\302\2332J\r\nb\tc' >prompt.txt
"$bin/tokenize" encode --tokenizer run/tokenizer --input prompt.txt >ids.txt
"$bin/tokenize" encode --tokenizer run/tokenizer --input prompt.txt --output ids.npy >/dev/null
decodes() { "$bin/tokenize" decode --tokenizer run/tokenizer <ids.txt | cmp - prompt.txt; }
tells() {
    "$bin/generate" --run run --prompt-file prompt.txt --max-tokens 0 2>/dev/null >out
    { cat prompt.txt && echo; } | cmp - out
}
check "a pipe gets decoded text byte for byte" decodes
check "a file gets a story byte for byte" tells

# on_terminal COMMAND: what reaches a terminal; "\r\n" is the terminal's own line end
on_terminal() {
    script -qec "$1" /dev/null </dev/null | sed 's/\r$//' >out
    grep -a 'a?\[31m?2J$' out && grep -qa "b$(printf '\t')c" out && sed 's/\t//' out >tabless && no_controls tabless
}
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    check "a terminal gets decoded text without controls" on_terminal \
        "'$bin/tokenize' decode --tokenizer run/tokenizer --input ids.npy"
    check "a terminal gets stories without controls" on_terminal \
        "'$bin/generate' --run run --prompt-file prompt.txt --max-tokens 0 2>/dev/null"
else
    skip "what reaches a terminal" "script(1) is not here"
fi
echo "1..$number"
