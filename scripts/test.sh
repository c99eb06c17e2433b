#!/bin/sh
# Setup, build and quick tests: one command that checks that this copy works on this machine.
# The last line is "N passed, N failed, N skipped"; the exit status is 0 if nothing failed.
# The environment may set the Makefile's variables CC, WERROR, ARCH and BUILD.
set -eu
unset CDPATH
cd -- "$(dirname -- "$0")/.."

case ${1-} in
'') ;;
-h | --help)
    sed -n '2,4s/^# \{0,1\}//p' scripts/test.sh
    exit 0
    ;;
*)
    echo "test.sh: unknown argument '$1' (see --help)" >&2
    exit 2
    ;;
esac

# If setup or build fails, no test runs, which counts as a failure.
broken() {
    echo "test.sh: $1 failed" >&2
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}

jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null) || jobs=2
scripts/setup.sh --tests || broken "setup (scripts/setup.sh)"
make -s -j "$jobs" || broken "build (make)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# No pipefail in POSIX sh: the status travels in a file.
echo 1 >"$work/status"
if make -s -j "$jobs" test 2>&1; then echo 0 >"$work/status"; fi | tee "$work/log"
count=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$work/log" | tail -n 1)
[ -n "$count" ] || broken "build of the tests (make test)"
[ "$(tail -n 1 "$work/log")" = "$count" ] || echo "$count"
exit "$(cat "$work/status")"
