#!/bin/sh
# Installs what tinylm needs: a C compiler, make, pkg-config, OpenBLAS, cJSON, stb, utf8proc.
# Prints nothing if everything is installed already. Run it from any folder:
#   scripts/setup.sh            as root, or as a user who may use sudo
#   scripts/setup.sh --tests    also cmocka, which only the tests need
#   scripts/setup.sh --print    prints the command that would be run, and runs nothing
set -eu
unset CDPATH
program=setup.sh
libraries="openblas libcjson stb libutf8proc"

# Descriptors 3 and 4 carry the script's own messages while a command's output goes to a log.
exec 3>&1 4>&2
fail() {
    echo "$program: $*" >&4
    exit 1
}

# Names of the missing tools and libraries.
missing() {
    command -v gcc >/dev/null || command -v cc >/dev/null || printf ' C compiler'
    command -v make >/dev/null || printf ' make'
    if command -v pkg-config >/dev/null; then
        for library in $libraries; do
            pkg-config --exists "$library" || printf ' %s' "$library"
        done
    else
        printf ' pkg-config'
    fi
}

no_stb() {
    fail "pkg-config does not know stb; build libstb from github.com/nothings/stb, add a stb.pc to" \
        "a folder in PKG_CONFIG_PATH, and run this again"
}

# As root itself, or through sudo; with --print, not at all.
as_root() {
    echo "$program: $*" >&3
    [ "$print_only" = no ] || return 0
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "needs root: run the command above as root, then again: scripts/setup.sh"
    fi
}

debian() {
    wanted=
    # libc6-dev is only a recommendation of gcc, and recommendations are left out
    for package in gcc libc6-dev make pkg-config libopenblas-dev libcjson-dev libstb-dev \
        libutf8proc-dev $(cmocka libcmocka-dev); do
        case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true) in
        ?i*) ;;
        *) wanted="$wanted $package" ;;
        esac
    done
    [ -n "$wanted" ] || return 0
    [ "$print_only" = yes ] || [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        fail "needs root; run this as root: apt-get install --no-install-recommends$wanted"
    quietly as_root apt-get -qq update
    # shellcheck disable=SC2086 # a list of names without spaces
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 \
        install --no-install-recommends $wanted
}

# apt-get's two hundred lines of output are useful only on failure.
quietly() {
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    last=$(grep -m 1 '^E:' "$log") || last=$(tail -n 1 "$log")
    fail "apt-get failed: ${last#E: } (full log: $log)"
}

# cmocka NAME: the name of its package, with --tests
cmocka() { [ "$tests" = no ] || printf ' %s' "$1"; }

print_only=no tests=no
for argument; do case $argument in
--print) print_only=yes ;;
--tests) tests=yes libraries="$libraries cmocka" ;;
-h | --help)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
*)
    echo "$program: unknown argument '$argument' (see --help)" >&2
    exit 2
    ;;
esac; done

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
    debian
elif [ -z "$(missing)" ]; then
    :
elif command -v dnf >/dev/null; then
    # shellcheck disable=SC2046 # one word or none
    as_root dnf install -y gcc make pkgconf-pkg-config openblas-devel cjson-devel stb-devel \
        utf8proc-devel $(cmocka libcmocka-devel)
elif command -v pacman >/dev/null; then
    # shellcheck disable=SC2046 # one word or none
    as_root pacman -S --needed --noconfirm gcc make pkgconf openblas cjson stb libutf8proc \
        $(cmocka cmocka)
elif command -v brew >/dev/null; then
    # Homebrew refuses to run as root. Apple's cc has no OpenMP, so gcc comes with it.
    # It has no stb: report that before installing anything.
    pkg-config --exists stb 2>/dev/null || no_stb
    echo "$program: brew install gcc make pkgconf openblas cjson utf8proc$(cmocka cmocka)"
    # shellcheck disable=SC2046 # one word or none
    [ "$print_only" = yes ] ||
        brew install gcc make pkgconf openblas cjson utf8proc $(cmocka cmocka)
else
    fail "no apt-get, dnf, pacman or brew here; install by hand:$(missing)"
fi
[ "$print_only" = no ] || exit 0

left=$(missing)
case $left in
'') ;;
' stb')
    # Some systems ship only the headers, without Debian's library and stb.pc.
    no_stb
    ;;
*) fail "still missing:$left; install by hand so that pkg-config finds it" ;;
esac
