#!/bin/sh
# Installs what tinylm needs: a C compiler, make, pkg-config, OpenBLAS, cJSON, stb, utf8proc, and
# cmocka for the tests. Says nothing when everything is there already. Run it from anywhere:
#   scripts/setup.sh            as root, or as a user who may use sudo
#   scripts/setup.sh --print    prints the command that would be run, and runs nothing
set -eu
unset CDPATH
program=setup.sh
libraries="openblas libcjson stb libutf8proc cmocka"

# 3 and 4 are where our own words go, also while those of a command go to a log.
exec 3>&1 4>&2
fail() {
    echo "$program: $*" >&4
    exit 1
}

# Names of the tools and libraries that are not there.
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
        libutf8proc-dev libcmocka-dev; do
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

# Two hundred lines about unpacking are of use only when something went wrong.
quietly() {
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    last=$(grep -m 1 '^E:' "$log") || last=$(tail -n 1 "$log")
    fail "apt-get failed: ${last#E: } (all it said: $log)"
}

print_only=no
case ${1-} in
'') ;;
--print) print_only=yes ;;
-h | --help)
    sed -n '2,5s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
*)
    echo "$program: unknown argument '$1' (see --help)" >&2
    exit 2
    ;;
esac

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
    debian
elif [ -z "$(missing)" ]; then
    :
elif command -v dnf >/dev/null; then
    as_root dnf install -y gcc make pkgconf-pkg-config openblas-devel cjson-devel stb-devel \
        utf8proc-devel libcmocka-devel
elif command -v pacman >/dev/null; then
    as_root pacman -S --needed --noconfirm gcc make pkgconf openblas cjson stb libutf8proc cmocka
elif command -v brew >/dev/null; then
    # Homebrew refuses to run as root. Apple's cc has no OpenMP, so gcc comes with it.
    echo "$program: brew install gcc make pkgconf openblas cjson utf8proc cmocka"
    [ "$print_only" = yes ] || brew install gcc make pkgconf openblas cjson utf8proc cmocka
else
    fail "no apt-get, dnf, pacman or brew here; install by hand:$(missing)"
fi
[ "$print_only" = no ] || exit 0

left=$(missing)
case $left in
'') ;;
' stb')
    # Some systems ship the headers alone, without library and stb.pc as Debian has them.
    fail "pkg-config does not know stb; build libstb from github.com/nothings/stb, and add a stb.pc"
    ;;
*) fail "still missing:$left; install by hand so that pkg-config finds it" ;;
esac
