#!/bin/sh
# The corpus "tales": the same bytes everywhere, sound English as far as a script can tell, no story
# twice, and clear words about a grammar that is wrong.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
cd -- "$root" || exit 1
export LC_ALL=C
tales=${BUILD:-build}/make_tales

# Changes with the grammar, and only with it: take the new value from a failing run.
expected=e8f164e5a07bb05f86cd6016e00da23a2cf546094b02b97f1658f11d10bf61f6
same_bytes() {
    found=$("$tales" --size 1MB | sha256sum | cut -d ' ' -f 1)
    [ "$found" = "$expected" ] || { echo "seed 1, 1 MB: $found instead of $expected" && false; }
}
check "the same seed gives the same bytes on every machine" same_bytes

"$tales" --seed 1 --size 20MB --output "$work/train.txt" &&
    "$tales" --seed 2 --size 500kB --output "$work/valid.txt" || exit 1

sizes() {
    train=$(wc -c <"$work/train.txt") valid=$(wc -c <"$work/valid.txt")
    [ "$train" -ge 20000000 ] && [ "$train" -lt 20010000 ] && [ "$valid" -ge 500000 ] &&
        [ "$valid" -lt 510000 ]
}
check "the size is what was asked for, and the rest of a story" sizes

prefix() {
    "$tales" --size 300kB >"$work/short.txt"
    head -c "$(wc -c <"$work/short.txt")" "$work/train.txt" | cmp - "$work/short.txt"
}
check "a story depends on its number, not on the size" prefix

# One story a line, without its end.
stories() {
    awk '$0 == "<|endoftext|>" { print story; story = ""; next } { story = story "\\n" $0 }
         END { if (story != "") print "UNFINISHED" story }' "$1"
}
stories "$work/train.txt" >"$work/train.stories"
stories "$work/valid.txt" >"$work/valid.stories"

# none WHAT PATTERN: no story matches; what does is shown.
none() {
    ! grep -nE -- "$2" "$work/train.stories" "$work/valid.stories" | head -n 3 | grep .
}
ends() { ! grep -vnE '[.!?]"?$' "$work/train.stories" | head -n 3 | grep . && none "" '^UNFINISHED'; }
check "every story ends with a sentence and its end mark" ends
check "no story is short" none "" '^.{0,300}$'

no_story_twice() {
    [ "$(cat "$work/train.stories" "$work/valid.stories" | sort | uniq -d | wc -l)" -eq 0 ]
}
check "no story twice, none in both texts" no_story_twice
check "nothing of the grammar's notation is left" none "" '[][{}|^_;=]'
check "no doubled space or stop" none "" '  | [,.!?]|\.\.|,\.|[?!]\.|,,|""| (\\n|$)'
check "every sentence begins with a capital" none "" '(\\n|[^.][.!?] |\." )[a-z]'
balanced() {
    awk '{ n = split($0, part, "\\\\n"); for (i = 1; i <= n; i++) if (gsub(/"/, "", part[i]) % 2)
           { print; bad = 1; exit } } END { exit bad }' "$work/train.stories"
}
check "quotation marks come in pairs in every paragraph" balanced
articles() {
    grep -ohE '\b([Aa]|[Aa]n) [A-Za-z]+' "$work/train.stories" | sort -u |
        awk '{ word = tolower($2); vowel = word ~ /^[aeiou]/
               if (word ~ /^(uni|use|usu|one|eu)/) vowel = 0
               if (word ~ /^(hour|honest|honor)/) vowel = 1
               if (tolower($1) == "a" && $2 == "and") next # letters: "A and B"
               if ((tolower($1) == "an") != vowel) { print; bad = 1 } } END { exit bad }'
}
check "a and an" articles

# The hero of a story comes back: the name in the first paragraph with a name that ends "named NAME"
# or "called NAME" is in the last paragraph of almost all.
heroes_stay() {
    awk '{ n = split($0, part, "\\\\n")
           if (match(part[2], /(named|called) [A-Z][a-z]+/)) {
               split(substr($0, index($0, part[2]) + RSTART - 1, RLENGTH), word, " ")
               all++; if (index(part[n], word[2])) stays++ } }
         END { print stays " of " all > "/dev/stderr"; exit !(all > 5000 && stays > 0.9 * all) }' \
        "$work/train.stories" 2>"$work/err" || { cat "$work/err" && false; }
}
check "who a story begins with is still there at its end" heroes_stay

# shellcheck disable=SC3045 # where there is no ulimit -v there is no limit
memory() { (ulimit -v 100000 2>/dev/null && "$tales" --size 60MB | wc -c >"$work/count"); }
if grep -q fsanitize "${BUILD:-build}/flags" 2>/dev/null; then
    skip "60 MB in little memory" "the sanitizers need much memory"
else
    check "60 MB in little memory" memory
fi

# ---- what a person may do wrong ----

usage() {
    for words in "--size 20MiB" "--size -1" "--seed x" "--size" "--frobnicate 1" "--size 99999999999GB"; do
        # shellcheck disable=SC2086 # the words are to be split
        "$tales" $words >"$work/out" 2>"$work/err"
        [ $? -eq 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] || return 1
    done
    "$tales" --help | grep -q -- --grammar
}
check "wrong usage is one line and status 2" usage

# refuses WORDS GRAMMAR: one line with the words, status 1, and no file
refuses() {
    printf '%b' "$2" >"$work/wrong.grammar"
    fails_with 1 "$1" "$tales" --grammar "$work/wrong.grammar" --output "$work/none.txt" &&
        [ -z "$(find "$work" -name 'none.txt*')" ] && return 0
    echo "for '$2'"
    return 1
}
wrong_grammars() {
    refuses "no rule 'story'" '' &&
        refuses ":2: neither a rule nor a variable: 'her'" 'story:\n  Hi {her}.\n' &&
        refuses ":2: no such table: 'cat'" 'story:\n  {x := cat}.\n' &&
        refuses ":2: no end of bracket" 'story:\n  Hi [a|b.\n' &&
        refuses ":2: a stray bracket" 'story:\n  Hi a]b.\n' &&
        refuses ":3: defined twice: 'story'" 'story:\n  Hi.\nstory:\n  Ho.\n' &&
        refuses ":1: neither a table nor a rule" 'story\n  Hi.\n' &&
        refuses ":1: a rule without alternatives" 'story:\n' &&
        refuses ":2: a row with too few columns" 'table t a; b\n  x\nstory:\n  {v := t}{v}\n' &&
        refuses ":2: too many columns" 'table t a\n  x; y\nstory:\n  {v := t}{v}\n' &&
        refuses ":4: wrong number of arguments for 'r'" 'r x:\n  {x}\nstory:\n  {r}\n' &&
        refuses "a rule without end: story" 'story:\n  {story}\n' &&
        refuses "used before it is set: v" 'table t a\n  x\nstory:\n  {v} {v := t}\n' &&
        refuses "a variable without the column b" 'table t a\n  x\nstory:\n  {v := t}{v.b}\n' &&
        refuses "no alternative fits in r" 'table t a\n  x\nr:\n  (v=y) z\nstory:\n  {v := t}{r}\n' &&
        refuses "text before the first rule" '  Hi.\nstory:\n  Ho.\n'
}
check "a wrong grammar is one line with its place" wrong_grammars
no_grammar() {
    ! "$tales" --grammar "$work" 2>"$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        ! "$tales" --grammar "$work/nowhere" 2>"$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ]
}
check "no grammar is one line" no_grammar
