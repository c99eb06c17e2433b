#!/bin/sh
# ./tokenize from the outside: every subcommand, standard input against files, errors and exit statuses.
# shellcheck disable=SC2016 # the inner shells expand their own variables
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
tokenize=$bin/tokenize
cd "$work" || exit 1

equal() {
    echo "expected: $2"
    echo "got:      $1"
    [ "$1" = "$2" ]
}

{
    i=0
    while [ $i -lt 300 ]; do
        echo "Once upon a time there was a cat number $i. It said: \"I'll sleep.\""
        echo '<|endoftext|>'
        i=$((i + 1))
    done
    printf 'h\303\251llo \360\237\214\215  \n\n\t end\000\377 <|endof <|endoftext'
} >text

"$tokenize" train --input text --vocab-size 400 --special '<|endoftext|>' --output one --threads 1 >log1 2>&1
check "train prints what it learned" grep -q "pre-tokens: .*distinct" log1
"$tokenize" train --vocab-size 400 --special '<|endoftext|>' --output two --threads 5 <text >/dev/null 2>&1
check "training on standard input with other threads writes the same files" diff -r one two
check "the special token has id 0" grep -q '"<|endoftext|>": 0,' one/vocab.json
check "training that runs out of pairs succeeds" "$tokenize" train --input text --vocab-size 100000 --output big
"$tokenize" train --input text --vocab-size 100000 --output big >log2 2>&1
check "... and says so" grep -q "stopped early" log2
check "two inputs count like one that is twice as long" sh -c '
    cat text text >double
    "$0" train --input text --input text --vocab-size 350 --output three >/dev/null
    "$0" train --input double --vocab-size 350 --special "<|endof" --output four >/dev/null
    "$0" train --input text --input text --vocab-size 350 --special "<|endof" --output five >/dev/null
    diff -r four five' "$tokenize"

"$tokenize" encode --tokenizer one --input text >ids
"$tokenize" encode --tokenizer one <text >ids2
check "a stream has the ids of a file" cmp ids ids2
"$tokenize" encode --tokenizer one/tokenizer.json --input - <text >ids2
check "tokenizer.json has the ids of the folder" cmp ids ids2
"$tokenize" decode --tokenizer one --raw <ids >back
check "raw decoding gives the text back" cmp text back
"$tokenize" encode --tokenizer one --input text --output ids.npy --threads 7 >/dev/null
"$tokenize" decode --tokenizer one --raw --input ids.npy >back
check "... also through .npy" cmp text back
"$tokenize" encode --tokenizer one --output ids2.npy <text >/dev/null
check "a stream writes the same .npy" cmp ids.npy ids2.npy
"$tokenize" decode --tokenizer one --input ids.npy | tail -c 24 >end
printf 'end\000\357\277\275 <|endof <|endoftext' | tail -c 24 >wanted
check "decoding replaces invalid UTF-8" cmp end wanted
check "an empty text has no ids" equal "$("$tokenize" encode --tokenizer one </dev/null)" ""
check "an unknown special token gets the next id" equal \
    "$(printf 'cat<x>' | "$tokenize" encode --tokenizer one --special '<x>' | sed 's/.* //')" \
    "$(grep -c ':' one/vocab.json)"

check "split" equal "$(printf ' the<|e|> x' | "$tokenize" split --special '<|e|>' | tr '\n' ' ')" \
    "p 20746865 s 3c7c657c3e p 2078 "
check "split of a file" equal "$(printf "it's  1" >small && "$tokenize" split --input small | tr '\n' ' ')" \
    "p 6974 p 2773 p 20 p 2031 "
check "show prints ids and pieces" equal "$("$tokenize" show --tokenizer one 'a<|endoftext|>' | tr '\n' ' ')" \
    '98 "a" 0 "<|endoftext|>" '
check "merges ends with the ids that encode gives" equal \
    "$("$tokenize" merges --tokenizer one ' there' | tail -1)" \
    "ids: $(printf ' there' | "$tokenize" encode --tokenizer one)"
check "bytes shows surrogate pairs" sh -c '"$0" bytes "é🌍" | grep -q "3C D8 0D DF"' "$tokenize"
check "stats" sh -c '"$0" stats --tokenizer one --input text | grep -q "825 GB"' "$tokenize"
check "compare" equal "$("$tokenize" compare one two --input text --input small | wc -l)" 5

check "an empty special token" fails_with 2 "empty" "$tokenize" split --special '' --input text
check "a missing option" fails_with 2 "--tokenizer" "$tokenize" encode --input text
check "an unknown subcommand" fails_with 2 "tokenise" "$tokenize" tokenise
check "a missing file" fails_with 1 "nowhere" "$tokenize" encode --tokenizer one --input nowhere
check "a missing tokenizer" fails_with 1 "nowhere" "$tokenize" encode --tokenizer nowhere --input text
check "a vocabulary too small" fails_with 1 "from 257" \
    "$tokenize" train --input text --vocab-size 256 --special '<|endoftext|>' --output six
check "... writes nothing" test ! -e six
check "an id that is not there" sh -c 'echo 12 999 | "$0" decode --tokenizer one 2>&1 | grep -q 999' "$tokenize"
check "a byte that is no text among ids" fails_with 1 "the byte 0 is no part of an id" \
    sh -c 'printf "12 \\000 13" | "$0" decode --tokenizer one' "$tokenize"
check "ids that are words" fails_with 1 "'h'" sh -c 'echo 12 hello | "$0" decode --tokenizer one' "$tokenize"
too_late() { fails_with 1 "text: is not a directory" "$tokenize" train --input text --vocab-size 300 --output text && [ ! -s out ]; }
check "an output folder that is a file is refused before the work" too_late
if [ -w /dev/full ]; then
    check "an output that is a full disk" sh -c '
        ! "$0" encode --tokenizer one --input text >/dev/full 2>/dev/null' "$tokenize"
else
    skip "an output that is a full disk" "no /dev/full"
fi
input_as_output() {
    cp text precious && ln -s precious link || return 1
    for output in precious ./precious link; do
        fails_with 1 "is the input itself" "$tokenize" encode --tokenizer one --input precious --output $output || return 1
    done
    cmp text precious
}
check "a text is not overwritten with its own ids" input_as_output

cut_json='{"padding": {"pad_id": 0}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}'
echo "$cut_json" >cut.json
warns_of_padding() { [ "$(printf aaa | "$tokenize" encode --tokenizer cut.json 2>err | tr '\n' ' ')" = "0 0 0 " ] && grep -q "warning: cut.json: its tokenizer sets truncation or padding" err; }
check "truncation and padding are not applied, with a warning" warns_of_padding

# Constant memory: an endless pre-token, and one that is never anything else than its beginning.
if nm "$tokenize" 2>/dev/null | grep -q __asan_init; then
    skip "32 MB of one letter in little memory" "the sanitizers need much memory"
else
    check "32 MB of one letter in little memory" sh -c '
    ulimit -v 400000
    head -c 32000000 /dev/zero | tr "\0" a | OMP_NUM_THREADS=1 "$0" encode --tokenizer one >/dev/null' "$tokenize"
fi
