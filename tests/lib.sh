# What the shell tests share. A script tests/NAME_test.sh reads this file first:
#
#     . "$(dirname -- "$0")/lib.sh"
#
# It sets folders, all of them absolute, and leaves the current folder as it is:
#   root    the folder of the repository
#   bin     the folder of the programs: BIN, or root
#   work    an empty folder for the test's files, removed at the end
# and python, and has the functions below: check, skip, fails_with, has_torch, sentences.
#
# A script prints a TAP line for each check (tests/run.sh counts them), and ends with status 1 when one
# failed. A script with a trap of its own for EXIT calls finish in it.
#
# Functions of sh share all variables. In here these are in use: number failures title wanted text
# status. A command that is checked may set any of them but number, failures and title; the command
# of fails_with leaves wanted and text alone too.
# shellcheck shell=sh disable=SC2034 # the scripts use the variables
set -u
unset CDPATH

root=$(cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
bin=$(cd -- "${BIN:-$root}" && pwd) || exit 1
work=$(mktemp -d) || exit 1
number=0 failures=0
finish() {
    rm -rf "$work"
    [ "$failures" -eq 0 ] || exit 1
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# check NAME COMMAND...: one test, passed when the command succeeds. The command runs in this shell
# and may be a function; the last lines of its output are shown when it fails.
check() {
    number=$((number + 1))
    title=$1
    shift
    if "$@" >"$work/check" 2>&1; then
        echo "ok $number - $title"
    else
        failures=$((failures + 1))
        echo "not ok $number - $title"
        tail -n 12 "$work/check" | sed 's/^/# /'
    fi
}

# skip NAME REASON: a test that cannot run here.
skip() {
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

# fails_with STATUS TEXT COMMAND...: the command ends with this status and says one line on stderr,
# which has the text in it. Its output stays in $work/out and $work/err.
fails_with() {
    wanted=$1 text=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    status=$?
    echo "status $status"
    cat "$work/err"
    [ $status -eq "$wanted" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$text" "$work/err"
}

# The Python that computes in float64 what the programs are compared with: PYTHON, or the system's.
# has_torch tells whether it can (Debian: python3-numpy python3-torch).
python=${PYTHON:-/usr/bin/python3}
[ -x "$python" ] || python=python3
has_torch() { "$python" -c 'import numpy, torch' 2>/dev/null; }

# sentences COUNT: a text of short sentences with separators; 500 are enough for 300 token types.
sentences() {
    awk -v count="$1" 'BEGIN {
        n = split("cat dog bird tree house river child stone", who, " ")
        m = split("sees likes finds follows hears", does, " ")
        for (i = 0; i < count; i++) {
            printf "The %s %s the %s. ", who[i % n + 1], does[i * 7 % m + 1], who[(i * i + 3) % n + 1]
            if (i % 9 == 8) printf "<|endoftext|>"
            if (i % 4 == 3) printf "\n"
        }
    }'
}
