#!/bin/sh
# The layout of src/ (src/README.md): what lies at the top of a room is the core and includes nothing from a
# subfolder but through the room's table; no circles; files and the whole stay small.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
cd -- "$root/src" || exit 1

# The files at the top of a room that may include from its subfolders: each holds the table of what lies there
# (position schemes, kinds of tokenizer files, model formats). A program may include its own folder, commands/NAME/.
tables="model/position.c tokenizer/tokenizer_files.c formats/model_format.c"
# Each operation names its definition in loops, and plain.h declares those with the operations' own types.
definitions=tensor/plain/plain.h
# Circles that are left, as pairs of modules: the block is a part of the Transformer and computes with its Model;
# the config reads its position keys with the tables, which are made from the config.
known="model/transformer:model/block model/model_config:model/position_tables"
# Lines: of a file, of the core (the tops of the rooms and tensor/plain/), of all. The limits are what has been
# reached; the goals are 9,000 and 18,000 for the last two.
file_lines=450 core_lines=16900 all_lines=25650

# One line for each include of a file of ours: who, whom.
sources=$(find . -name '*.[ch]' | sed 's|^\./||' | sort)
for source in $sources; do
    sed -n 's/^ *# *include "\(.*\)".*/\1/p' "$source" | while read -r header; do
        [ -f "$header" ] || header=$(dirname "$source")/$header
        echo "$source $header"
    done
done >"$work/includes"

listed() { [ "$(wc -l <"$work/includes")" -gt 300 ]; }
check "the includes are found" listed
exist() { for file in $tables $definitions; do [ -f "$file" ] || { echo "there is no $file" && return 1; }; done; }
check "the tables are there" exist

core_alone() {
    awk -v allowed=" $tables " -v definitions="$definitions" '
        { from = split($1, a, "/"); to = split($2, b, "/") }
        from > 2 || to < 3 || $2 == definitions || index(allowed, " " $1 " ") { next }
        a[1] == "commands" && b[1] == "commands" && a[2] == b[2] ".c" { next }
        { print $1 " includes " $2; bad = 1 }
        END { exit bad }' "$work/includes"
}
check "the core includes nothing from a subfolder but through the tables" core_alone

rooms_in_order() {
    awk 'BEGIN { n = split("base tensor tokenizer model formats training generation pictures commands", room, " ")
                 for (i = 1; i <= n; i++) place[room[i]] = i }
        { split($1, a, "/"); split($2, b, "/")
          if (!(a[1] in place) || place[b[1]] > place[a[1]]) { print $1 " includes " $2; bad = 1 } }
        END { exit bad }' "$work/includes"
}
check "a room includes only rooms above it" rooms_in_order

# A module is NAME.h with NAME.c. A table is what its file lists, and the file that lists it is no part of it.
no_circles() {
    awk -v tables=" $tables " -v known=" $known " -v definitions="$definitions" '
        function module(file) { if (!index(tables, " " file " ")) sub(/\.[ch]$/, "", file); return file }
        { from = module($1); to = module($2) }
        $2 != definitions && from != to && !index(known, " " from ":" to " ") { print from, to }' "$work/includes" |
        tsort >/dev/null
}
check "no circle of includes but the known ones" no_circles

small_files() {
    # shellcheck disable=SC2086 # a list of files without spaces
    wc -l $sources | awk -v limit=$file_lines '$2 != "total" && $1 > limit { print; bad = 1 } END { exit bad }'
}
check "no file has more than $file_lines lines" small_files
within() { # LIMIT FILE...
    limit=$1
    shift
    lines=$(cat "$@" | wc -l)
    echo "$lines lines of at most $limit"
    [ "$lines" -le "$limit" ]
}
check "the core has at most $core_lines lines" within $core_lines ./*/*.[ch] tensor/plain/*.[ch]
# shellcheck disable=SC2086 # a list of files without spaces
check "all of src has at most $all_lines lines" within $all_lines $sources

every_test_listed() {
    for test in "$root"/tests/*_test.c "$root"/tests/*_test.sh; do
        name=$(basename "$test")
        [ "$(grep -c "^| \`$name\` |" "$root/tests/README.md")" -eq 1 ] || { echo "$name" && missing=1; }
    done
    [ -z "${missing-}" ]
}
check "tests/README.md lists every test once" every_test_listed
