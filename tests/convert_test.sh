#!/bin/sh
# ./convert and ./inspect model as a person uses them: status, messages, nothing left behind.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
cd "$work" || exit 1

# Models of random weights, without data: the seeds of the fuzzers are such.
seeds=$root/tests/fuzz
model=$seeds/llama2c/separate.bin

there_and_back() { "$bin/convert" "$model" a.gguf && "$bin/convert" a.gguf b.bin; }
check "llama2.c to GGUF and back" there_and_back
check "the same file comes out" cmp "$model" b.bin

no_format() { fails_with 2 "give --to" "$bin/convert" "$model" plain && [ ! -s out ]; }
check "a name that tells no format is wrong usage" no_format
check "f16 is for GGUF only" fails_with 2 "GGUF" "$bin/convert" "$model" plain --to hf --type f16
check "a missing file is named, in one line" \
    fails_with 1 "absent.bin: no such file" "$bin/convert" absent.bin c.gguf

odd="my réal dir/ü (1)'s"
odd_path() {
    mkdir -p "$odd" && "$bin/convert" "$model" "$odd/model-hf" &&
        "$bin/convert" "$odd/model-hf" "$odd/x.gguf" && "$bin/inspect" model "$odd/x.gguf" >table &&
        grep "format: gguf" table
}
check "paths with blanks, quotes and letters of other languages" odd_path

there_already() { # with a line before it: the model has no tokenizer
    "$bin/convert" "$odd/model-hf" "$odd/model-hf" --to tinylm 2>err
    [ $? -eq 1 ] && cat err && grep -q "already exists" err
}
check "a directory that is there is not overwritten" there_already
full_disk() {
    "$bin/inspect" model "$model" >/dev/full 2>err
    [ $? -eq 1 ] && [ -s err ]
}
if [ -w /dev/full ]; then
    check "a full disk is noticed" full_disk
else
    skip "a full disk is noticed" "no /dev/full"
fi
onto_itself() {
    cp "$model" self.bin && ln -s self.bin self.gguf &&
        fails_with 1 "is the model itself" "$bin/convert" self.bin self.bin &&
        fails_with 1 "is the model itself" "$bin/convert" self.bin self.gguf && cmp "$model" self.bin
}
check "a model is not overwritten with its own conversion" onto_itself
# A device would be replaced by a file as well; a pipe shows it without harm.
pipe() {
    mkfifo pipe.gguf || return 1
    "$bin/convert" "$model" pipe.gguf 2>err
    [ $? -eq 1 ] && grep "pipe.gguf: is a device or a pipe" err && [ -p pipe.gguf ]
}
check "a pipe or device is not replaced by a file" pipe
link() {
    mkdir far && echo old >far/x.gguf && ln -s far/x.gguf near.gguf &&
        "$bin/convert" "$model" near.gguf && [ -h near.gguf ] && cmp far/x.gguf a.gguf
}
check "a symbolic link stays, and the file behind it is written" link

lists() { "$bin/inspect" model "$1" >table && grep -- "$2" table; }
check "inspect model lists tensors" lists "$model" "layers.0.attn.q_proj.weight  *2 x 2 .*norm"
rows() {
    "$bin/inspect" model "$model" --tensor lm_head.weight >table && cat table &&
        [ "$(wc -l <table)" -eq 3 ] && [ "$(wc -w <table)" -eq 6 ]
}
check "inspect model --tensor prints one row a line and nothing else" rows
check "a tensor that is not there is named" \
    fails_with 1 "nosuch" "$bin/inspect" model "$model" --tensor nosuch
check "a lone safetensors file is listed" lists "$seeds/safetensors/model.safetensors" "model.norm.weight"
cut_short() {
    head -c 1000 "$seeds/gguf/plain.gguf" >cut.gguf &&
        fails_with 1 "cut short" "$bin/inspect" model cut.gguf && [ ! -s out ]
}
check "a file cut short is an error" cut_short
nothing_left() { ! find . -name '*.tmp.*' | grep .; }
check "no temporary file is left" nothing_left
