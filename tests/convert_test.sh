#!/bin/sh
# ./convert and ./inspect model as a person uses them: status, messages, nothing left behind.
number=0
check() { # name, condition already evaluated as $?
    status=$?
    number=$((number + 1))
    if [ $status -eq 0 ]; then echo "ok $number - $1"; else echo "not ok $number - $1"; fi
}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$(dirname "$0")/.." || exit 1
bin=$(cd -- "${BIN:-.}" && pwd)

# A model of random weights, without data: the seed of the fuzzer is one.
model=tests/fuzz/llama2c/separate.bin

"$bin/convert" $model "$scratch/a.gguf" >"$scratch/out" 2>"$scratch/err" && "$bin/convert" "$scratch/a.gguf" "$scratch/b.bin" >/dev/null 2>&1
check "llama2.c to GGUF and back"
cmp -s $model "$scratch/b.bin"
check "the same file comes out"

"$bin/convert" $model "$scratch/plain" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 2 ] && grep -q "give --to" "$scratch/err" && [ ! -s "$scratch/out" ]
check "a name that tells no format is wrong usage"
"$bin/convert" $model "$scratch/plain" --to hf --type f16 >/dev/null 2>"$scratch/err"
[ $? -eq 2 ] && grep -q "GGUF" "$scratch/err"
check "f16 is for GGUF only"
"$bin/convert" "$scratch/absent.bin" "$scratch/c.gguf" >/dev/null 2>"$scratch/err"
[ $? -eq 1 ] && grep -q "absent.bin: no such file" "$scratch/err" && [ "$(wc -l <"$scratch/err")" -eq 1 ]
check "a missing file is named, in one line"

odd="$scratch/my réal dir/ü (1)'s"
mkdir -p "$odd" && "$bin/convert" $model "$odd/model-hf" >/dev/null 2>&1 && "$bin/convert" "$odd/model-hf" "$odd/x.gguf" >/dev/null 2>&1 &&
    "$bin/inspect" model "$odd/x.gguf" >"$scratch/out" && grep -q "format: gguf" "$scratch/out"
check "paths with blanks, quotes and letters of other languages"

"$bin/convert" "$odd/model-hf" "$odd/model-hf" --to tinylm >/dev/null 2>"$scratch/err"
[ $? -eq 1 ] && grep -q "is there already" "$scratch/err"
check "a directory that is there is not overwritten"
if [ -w /dev/full ]; then
    "$bin/inspect" model $model >/dev/full 2>"$scratch/err"
    [ $? -eq 1 ] && [ -s "$scratch/err" ]
    check "a full disk is noticed"
fi

"$bin/inspect" model $model >"$scratch/out" && grep -q "layers.0.attn.q_proj.weight  *2 x 2 .*norm" "$scratch/out"
check "inspect model lists tensors"
"$bin/inspect" model $model --tensor lm_head.weight >"$scratch/out" && [ "$(wc -l <"$scratch/out")" -eq 3 ] && [ "$(wc -w <"$scratch/out")" -eq 6 ]
check "inspect model --tensor prints one row a line and nothing else"
"$bin/inspect" model $model --tensor nosuch >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ] && grep -q "nosuch" "$scratch/err"
check "a tensor that is not there is named"
"$bin/inspect" model tests/fuzz/safetensors/model.safetensors >"$scratch/out" && grep -q "model.norm.weight" "$scratch/out"
check "a lone safetensors file is listed"
head -c 1000 tests/fuzz/gguf/plain.gguf >"$scratch/cut.gguf"
"$bin/inspect" model "$scratch/cut.gguf" >"$scratch/out" 2>"$scratch/err"
[ $? -eq 1 ] && [ ! -s "$scratch/out" ] && grep -q "cut short" "$scratch/err"
check "a file cut short is an error"
! ls -a "$scratch" "$odd" | grep -q '\.tmp\.'
check "no temporary file is left"
