#!/bin/sh
# The shell scripts: clean, usable from any folder and under any path, and get_tinystories.sh
# against a local stand-in for the data set's page.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
unset TINYSTORIES_URL
server=
trap '[ -z "$server" ] || kill "$server"; finish' EXIT

# A copy of the scripts under a path that breaks careless quoting.
home="$work/it's a \"folder\" \$HOME"
mkdir -p "$home/.ci"
cp -R "$root/scripts" "$home/"
get="$home/scripts/get_tinystories.sh"
texts="$home/data/tinystories"
cd "$work" || exit 1

if command -v shellcheck >/dev/null; then
    check "shellcheck finds nothing" shellcheck -x "$root"/scripts/*.sh \
        "$root/.ci/run" "$root"/tests/*.sh
else
    skip "shellcheck finds nothing" "no shellcheck here"
fi

refuses_unknown_words() {
    for script in setup test quickstart get_tinystories; do
        [ -f "$home/scripts/$script.sh" ] || continue
        "$home/scripts/$script.sh" --frobnicate >out 2>&1
        [ $? -eq 2 ] && [ "$(wc -l <out)" -eq 1 ] && grep -q frobnicate out || return 1
        "$home/scripts/$script.sh" --help >out 2>&1 && [ "$(wc -l <out)" -ge 2 ] || return 1
    done
}
check "an unknown argument is wrong usage, --help is help" refuses_unknown_words

# ---- setup.sh on systems that are not this one: only the commands that it looks for exist ----

# setup_on MANAGER [OPTION]: what it would run
setup_on() {
    rm -rf bin && mkdir bin
    for tool in sh dirname id sed; do ln -s "$(command -v "$tool")" "bin/$tool"; done
    [ -z "$1" ] || { printf '#!/bin/sh\n' >"bin/$1" && chmod +x "bin/$1"; }
    # shellcheck disable=SC2016 # it is the other script that expands $2
    [ ! -e stb ] || { printf '#!/bin/sh\n[ "$2" = stb ]\n' >bin/pkg-config && chmod +x bin/pkg-config; }
    PATH=$work/bin "$home/scripts/setup.sh" --print ${2:+"$2"} 2>&1
}
knows_other_systems() {
    setup_on dnf --tests | grep -q '^setup.sh: dnf install -y gcc .*openblas-devel .*libcmocka-devel$' &&
        setup_on pacman | grep -q '^setup.sh: pacman -S --needed .*openblas cjson stb libutf8proc' &&
        setup_on brew | grep -q '^setup.sh: pkg-config does not know stb; build libstb' && : >stb &&
        setup_on brew --tests | grep -q '^setup.sh: brew install .*openblas cjson utf8proc cmocka$' && rm stb &&
        setup_on '' | grep -q 'install by hand: C compiler make pkg-config$'
}
check "setup.sh knows Fedora, Arch and Homebrew, and says when it knows nothing" knows_other_systems

without_tests() { # cmocka is not needed to train
    for manager in dnf pacman; do
        setup_on $manager >out && ! grep cmocka out && setup_on $manager --tests | grep -q cmocka || return 1
    done
}
check "setup.sh installs cmocka for the tests only" without_tests
make_help() { make -C "$root" help >out && grep -q 'make test-full' out && grep -q 'make data' out; }
check "make help lists the goals" make_help

# ---- quickstart.sh: a run belongs to its corpus ----

quickstart() { # with programs that only leave what is looked at
    mkdir -p quick/bin quick/data/tinystories quick/data/tales && cp -R "$root/scripts" quick/ && rm -rf quick/runs || return 1
    printf '#!/bin/sh\n' >quick/scripts/setup.sh
    printf '#!/bin/sh\n' | tee quick/bin/make >quick/generate
    cat >quick/train <<'END'
#!/bin/sh
while [ "$1" != --run ]; do shift; done
mkdir -p "$2" && : >"$2/checkpoint.safetensors"
corpus=tales
[ ! -f data/tinystories/train.txt ] || corpus=tinystories
case "$*" in *--resume*) ;; *) echo "data/$corpus/train.txt" >"$2/config.json" ;; esac
END
    chmod +x quick/bin/make quick/train quick/generate
    PATH=$work/quick/bin:$PATH quick/scripts/quickstart.sh >out && grep -q '^The run is in runs/tiny:' out || return 1
    : >quick/data/tinystories/train.txt && : >quick/data/tinystories/valid.txt
    for turn in first second; do
        PATH=$work/quick/bin:$PATH quick/scripts/quickstart.sh >out && echo $turn &&
            grep -q '^runs/tiny was trained on another corpus' out && grep -q '^The run is in runs/tiny-tinystories:' out || return 1
    done
    grep -q tales quick/runs/tiny/config.json && grep -q tinystories quick/runs/tiny-tinystories/config.json
}
check "quickstart.sh does not resume a run of another corpus" quickstart
skips_explained() {
    printf '#!/bin/sh\necho "ok 1 - a"\necho "ok 2 - b # SKIP no peers"\n' >t_test.sh && chmod +x t_test.sh &&
        "$root/tests/run.sh" ./t_test.sh >out && grep -q '^Skipped tests' out && [ "$(tail -n 1 out)" = "1 passed, 0 failed, 1 skipped" ]
}
check "tests that are skipped are explained before the last line" skips_explained

# ---- get_tinystories.sh --from ----

nothing_under_final_names() {
    [ ! -e "$texts/train.txt" ] && [ ! -e "$texts/valid.txt" ] &&
        [ -z "$(find "$texts" -name '*.copy' -o -name '*.cut')" ]
}

mkdir "from here"
from_missing() {
    fails_with 1 'is not a folder' "$get" --from "$work/nowhere" &&
        fails_with 1 'has neither valid.txt nor' "$get" --from "from here" &&
        : >"from here/valid.txt" && fails_with 1 'is empty' "$get" --from "from here" &&
        rm "from here/valid.txt" && mkdir "from here/valid.txt" &&
        fails_with 1 'is a folder, not a text' "$get" --from "from here" &&
        rmdir "from here/valid.txt" && echo short >"from here/TinyStoriesV2-GPT4-valid.txt" &&
        fails_with 1 'has 6 bytes instead of 22502601' "$get" --from "from here" &&
        rm "from here/TinyStoriesV2-GPT4-valid.txt" && nothing_under_final_names
}
check "--from refuses missing, empty and short texts in one line" from_missing

from_copies() {
    printf 'A story.\n<|endoftext|>\n' >"from here/train.txt"
    printf 'Another.\n<|endoftext|>\n' >"from here/valid.txt"
    "$get" --from "from here" >out && cmp "from here/train.txt" "$texts/train.txt" &&
        cmp "from here/valid.txt" "$texts/valid.txt"
}
check "--from copies both texts, from any folder, under any path" from_copies

# ---- get_tinystories.sh downloads ----

start_server() {
    python3 "$root/tests/story_server.py" >port 2>/dev/null &
    server=$!
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -s port ] && break
        sleep 0.3
    done
    url=http://127.0.0.1:$(cat port)
}
# The first N bytes of what the server has.
stories() {
    env PATH="$everything" python3 -c 'import sys, re
text = re.search("STORY = (b.*)", open(sys.argv[1]).read()).group(1)
story = eval(text); n = int(sys.argv[2])
sys.stdout.buffer.write((story * (n // len(story) + 1))[:n])' "$root/tests/story_server.py" "$1"
}
# download PLACE [ARGUMENTS]
download() {
    place=$1
    shift
    TINYSTORIES_URL="$url/$place" "$get" "$@"
}
whole_valid() { stories 22502601 | cmp - "$texts/valid.txt"; }
train_is_cut() {
    size=$(wc -c <"$texts/train.txt")
    [ "$size" -le 100000000 ] && [ "$size" -gt 99999000 ] &&
        [ "$(tail -n 1 "$texts/train.txt")" = '<|endoftext|>' ] &&
        stories "$size" | cmp - "$texts/train.txt"
}
downloads() {
    rm -rf "$texts"
    download good >out 2>err && [ ! -s err ] && whole_valid && train_is_cut &&
        [ -z "$(find "$texts" -name '*.part')" ] &&
        download good >out && [ "$(grep -c 'is there already' out)" -eq 2 ]
}
survives_a_bad_line() {
    rm -rf "$texts"
    download breaks >out 2>err && [ ! -s err ] && whole_valid && train_is_cut
}
goes_on() {
    rm -rf "$texts"
    mkdir -p "$texts"
    stories 12345678 >"$texts/valid.txt.part"
    # wget skips what it has already, curl refuses
    if [ "$client" = curl ]; then
        fails_with 1 'broke off at byte 12345678' download norange && nothing_under_final_names || return 1
    fi
    download good >out 2>err && [ ! -s err ] && whole_valid && train_is_cut
}
download_refusals() {
    rm -rf "$texts"
    fails_with 1 'has 22502600 bytes instead of 22502601' download short &&
        fails_with 1 'absent/TinyStoriesV2-GPT4-valid.txt: ' download absent && nothing_under_final_names &&
        fails_with 1 'check the network' env TINYSTORIES_URL=http://127.0.0.1:1 "$get" &&
        nothing_under_final_names
}
full() {
    download good --full >out && [ "$(wc -c <"$texts/train.txt")" -eq 2227753162 ]
}

if ! command -v python3 >/dev/null; then
    skip "get_tinystories.sh downloads" "no python3 for the local server"
    exit 0
fi
start_server
everything=$PATH
clients=
for client in curl wget; do
    if ! command -v $client >/dev/null; then
        skip "get_tinystories.sh with $client" "no $client here"
        continue
    fi
    clients=yes
    # the other client is hidden behind a PATH without it
    rm -rf tools && mkdir tools
    for tool in sh env dirname mktemp mkdir rm mv cat wc tr sed tail head grep cut sleep tee $client \
        cmp find; do
        ln -s "$(command -v "$tool")" "tools/$tool"
    done
    # shellcheck disable=SC2123 # the search path is meant
    PATH=$work/tools
    check "$client: downloads, and cuts the training text after a whole story" downloads
    check "$client: goes on when the line breaks" survives_a_bad_line
    check "$client: goes on where an earlier run stopped" goes_on
    check "$client: wrong size, missing page, no network are one line" download_refusals
    if [ -n "${TINYLM_TEST_FULL-}" ]; then check "$client: --full" full; fi
    PATH=$everything
done
rm -f "$work/tools/curl" "$work/tools/wget"
needs_a_client() { fails_with 1 'needs curl or wget' env PATH="$work/tools" "$get"; }
[ -z "$clients" ] || check "neither curl nor wget is one line" needs_a_client
