#!/bin/sh
# Installs the TinyStories corpus (Eldan and Li 2023, the GPT-4 part):
# data/tinystories/train.txt and data/tinystories/valid.txt.
#
#   scripts/get_tinystories.sh              downloads the first 100 MB of the training text, cut
#                                           after a whole story, and the validation text (22.5 MB)
#   scripts/get_tinystories.sh --full       the whole training text (2.2 GB)
#   scripts/get_tinystories.sh --from DIR   copies them from DIR, where they are named train.txt
#                                           and valid.txt, or as on the data set's page
#
# An interrupted download resumes where it stopped. A file gets its final name once complete.
# Data set: https://huggingface.co/datasets/roneneldan/TinyStories (licence: CDLA-Sharing-1.0).
# TINYSTORIES_URL=... downloads from another server. Needs curl or wget.
set -eu
unset CDPATH
export LC_ALL=C

program=get_tinystories.sh
url=${TINYSTORIES_URL-https://huggingface.co/datasets/roneneldan/TinyStories/resolve/main}
train_name=TinyStoriesV2-GPT4-train.txt train_size=2227753162
valid_name=TinyStoriesV2-GPT4-valid.txt valid_size=22502601
part_size=100000000   # of the training text, without --full
piece_size=50000000   # per request, so that progress can be shown
story_end='<|endoftext|>'

fail() {
    echo "$program: $*" >&2
    exit 1
}

wrong_usage() {
    echo "$program: $* (see --help)" >&2
    exit 2
}

size_of() {
    if [ -f "$1" ]; then wc -c <"$1" | tr -d ' '; else echo 0; fi
}

# copy FILE SIZE FROM [ORIGINAL]: a size other than the original's means a broken copy.
copy() {
    for name in "$3/$1" "$3/$4"; do
        [ ! -d "$name" ] || fail "$name is a folder, not a text; give the folder that holds it"
        [ -f "$name" ] || continue
        size=$(size_of "$name")
        [ "$size" -gt 0 ] || fail "$name is empty; copy or download it again"
        if [ "$name" = "$3/$4" ] && [ "$size" -ne "$2" ]; then
            fail "$name has $size bytes instead of $2; download it again"
        fi
        [ -r "$name" ] || fail "$name cannot be read; check its permissions"
        cat <"$name" >"$folder/$1.copy" || fail "cannot copy $name to $folder; is the disk full?"
        [ "$(size_of "$folder/$1.copy")" -eq "$size" ] || fail "$name changed during the copy; try again"
        mv -f "$folder/$1.copy" "$folder/$1"
        echo "$program: data/tinystories/$1: $size bytes, from $name"
        return 0
    done
    fail "$3 has neither $1 nor $4; give the folder that holds them"
}

# The size that the server reports for a file, after redirects; nothing if there is no such file.
remote_size() {
    if [ "$client" = curl ]; then
        curl -fsSLI "$1" >"$headers" 2>"$errors"
    else
        wget -nv -S --spider "$1" >/dev/null 2>"$headers" || { cat "$headers" >"$errors" && false; }
    fi || return 0
    tr -d '\r' <"$headers" |
        sed -n 's/^ *[Cc]ontent-[Ll]ength: *\([0-9][0-9]*\)$/\1/p' | tail -n 1
}

# fetch URL OFFSET: its bytes from OFFSET on. Neither client writes anything if the server
# does not support ranges.
fetch() {
    if [ "$client" = curl ]; then
        curl -fsSL -C "$2" "$1" 2>"$errors"
    else
        wget -nv --tries=1 --start-pos="$2" -O - "$1" 2>"$errors"
    fi
}

# The client's last error message.
why() {
    last=$(grep -v '^ *$' "$errors" | tail -n 1)
    echo "${last:-no answer}"
}

# download FILE SIZE WANTED ORIGINAL: the first WANTED bytes of the original, in FILE.part.
download() {
    there=$(remote_size "$url/$4")
    [ -n "$there" ] || fail "$url/$4: $(why); check the network, or use --from DIR"
    [ "$there" -eq "$2" ] ||
        fail "$url/$4 has $there bytes instead of $2; it is not the expected text, use --from DIR"
    part=$folder/$1.part
    [ "$(size_of "$part")" -le "$3" ] || rm -f "$part" # left by a run that wanted more
    idle=0
    have=$(size_of "$part")
    while [ "$have" -lt "$3" ]; do
        want=$(($3 - have))
        [ "$want" -le "$piece_size" ] || want=$piece_size
        fetch "$url/$4" "$have" | head -c "$want" >>"$part"
        now=$(size_of "$part")
        if [ "$now" -gt "$have" ]; then
            idle=0
            echo "$program: $1: $((now / 1000000)) of $(($3 / 1000000)) MB"
        else
            idle=$((idle + 1))
            [ "$idle" -lt 3 ] ||
                fail "$url/$4 broke off at byte $have: $(why); run this again to resume from there"
            sleep "$idle"
        fi
        have=$now
    done
}

# cut_after_story FILE: cuts FILE.part after its last complete story. It searches only the end of
# the file: a story has about a thousand bytes.
cut_after_story() {
    part=$folder/$1.part
    size=$(size_of "$part")
    tail_size=1000000
    end=$(tail -c "$tail_size" "$part" | grep -abF "$story_end" | tail -n 1 | cut -d : -f 1)
    [ -n "$end" ] || fail "$part is not TinyStories (no $story_end in it); delete it and try again"
    head -c $((size - tail_size + end + ${#story_end} + 1)) "$part" >"$folder/$1.cut"
    mv -f "$folder/$1.cut" "$folder/$1"
    rm -f "$part"
}

# get FILE SIZE WANTED ORIGINAL: keeps an existing file; --full replaces a partial one.
get() {
    if [ "$(size_of "$folder/$1")" -eq "$2" ] ||
        { [ "$3" -lt "$2" ] && [ -s "$folder/$1" ]; }; then
        echo "$program: data/tinystories/$1 is there already"
        return 0
    fi
    download "$@"
    if [ "$3" -eq "$2" ]; then mv -f "$folder/$1.part" "$folder/$1"; else cut_after_story "$1"; fi
    echo "$program: data/tinystories/$1: $(size_of "$folder/$1") bytes"
}

from='' full=no
while [ $# -gt 0 ]; do
    case $1 in
    --from)
        [ $# -ge 2 ] || wrong_usage "--from needs a folder"
        from=$2
        shift
        ;;
    --full) full=yes ;;
    -h | --help)
        sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) wrong_usage "unknown argument '$1'" ;;
    esac
    shift
done

root=$(cd -- "$(dirname -- "$0")/.." && pwd)
folder=$root/data/tinystories
mkdir -p "$folder" || fail "cannot create the folder $folder"
errors=$(mktemp) headers=$(mktemp)
trap 'rm -f "$errors" "$headers" "$folder"/*.copy "$folder"/*.cut' EXIT
trap 'exit 1' HUP INT TERM

if [ -n "$from" ]; then
    [ -d "$from" ] || fail "$from is not a folder; --from needs the folder that holds the texts"
    copy valid.txt "$valid_size" "$from" "$valid_name"
    copy train.txt "$train_size" "$from" "$train_name"
    exit 0
fi

if command -v curl >/dev/null; then
    client=curl
elif command -v wget >/dev/null; then
    client=wget
else
    fail "needs curl or wget to download; install one of them, or use --from DIR"
fi
get valid.txt "$valid_size" "$valid_size" "$valid_name"
if [ "$full" = yes ]; then
    get train.txt "$train_size" "$train_size" "$train_name"
else
    get train.txt "$train_size" "$part_size" "$train_name"
fi
