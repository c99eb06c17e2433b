#!/bin/sh
# Runs test programs (cmocka binaries and *_test.sh scripts), as many at a time as there are processors
# (TEST_JOBS=N changes that), and counts their TAP lines:
#   ok N - name | not ok N - name | ok N - name # SKIP reason
# Prints the failures' output whole, and "N passed, N failed, N skipped" last.
# A program that dies, exits non-zero without a "not ok", or runs no test counts as one failure.

# --one FOLDER TEST: runs one program; a line with its counts is added to FOLDER/counts.
if [ "${1-}" = --one ]; then
    name=$(basename "$3") output=$2/$(basename "$3") report=$2/$(basename "$3").report
    start=$(date +%s)
    CMOCKA_MESSAGE_OUTPUT=TAP "$3" >"$output" 2>&1
    status=$?
    {
        # cmocka 1.1.5 reports a skipped test as "not ok N # SKIP name"
        skip=$(grep -cE '^(not )?ok .*# SKIP' "$output")
        ok=$(grep '^ok ' "$output" | grep -vc '# SKIP')
        bad=$(grep '^not ok ' "$output" | grep -vc '# SKIP')
        if [ $status -ne 0 ] && [ "$bad" -eq 0 ]; then
            bad=1
            echo "not ok - $3 exited with status $status"
        elif [ $((ok + skip + bad)) -eq 0 ]; then
            bad=1
            echo "not ok - $3 ran no test"
        fi
        [ "$bad" -eq 0 ] || cat "$output"
        [ "$skip" -eq 0 ] || awk '/^# SKIP / { reason = ": " substr($0, 8) } # printed by skip_because before the line of its test
            /^(not )?ok .*# SKIP/ { sub(/^not /, ""); print $0 reason; reason = "" }' "$output"
        echo "$name: $ok passed, $bad failed, $skip skipped ($(($(date +%s) - start)) s)"
    } >"$report"
    echo "$ok $bad $skip" >>"$2/counts"
    cat "$report" # at once, so that the lines of two programs do not mix
    exit 0
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
: >"$work/counts"
# The tests' models are tiny, and others run beside them: threads that wait must not spin.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
printf '%s\0' "$@" | xargs -0 -n 1 -P "${TEST_JOBS:-$(getconf _NPROCESSORS_ONLN)}" "$0" --one "$work"
# shellcheck disable=SC2046 # three numbers
set -- "$#" $(awk '{ ok += $1; bad += $2; skip += $3 } END { print ok + 0, bad + 0, skip + 0, NR }' "$work/counts")
passed=$2 failed=$(($3 + $1 - $5)) skipped=$4 # a test without a report has failed
[ "$skipped" -eq 0 ] || cat <<END
Skipped tests ("# SKIP" above names them, with the reason) need what a fresh copy does not have: other
programs to compare with (scripts/interop.sh installs them; then TINYLM_INTEROP=FOLDER make test), clang
with libFuzzer, all builds of OpenBLAS, models and tokenizers of others (TINYLM_SHARED=FOLDER), or more
time (make test-full).
END
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
