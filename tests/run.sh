#!/bin/sh
# Runs test programs (cmocka binaries and *_test.sh scripts) and counts their TAP lines:
#   ok N - name | not ok N - name | ok N - name # SKIP reason
# Prints the failures' output whole, and "N passed, N failed, N skipped" last.
# A program that dies, exits non-zero without a "not ok", or runs no test counts as one failure.
passed=0 failed=0 skipped=0
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT
for test in "$@"; do
    start=$(date +%s)
    CMOCKA_MESSAGE_OUTPUT=TAP "$test" >"$output" 2>&1
    status=$?
    # cmocka 1.1.5 reports a skipped test as "not ok N # SKIP name"
    skip=$(grep -cE '^(not )?ok .*# SKIP' "$output")
    ok=$(grep '^ok ' "$output" | grep -vc '# SKIP')
    bad=$(grep '^not ok ' "$output" | grep -vc '# SKIP')
    if [ $status -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        echo "not ok - $test exited with status $status"
    elif [ $((ok + skip + bad)) -eq 0 ]; then
        bad=1
        echo "not ok - $test ran no test"
    fi
    [ "$bad" -eq 0 ] || cat "$output"
    [ "$skip" -eq 0 ] || grep -E '^(not )?ok .*# SKIP' "$output" | sed 's/^not ok/ok/'
    echo "$(basename "$test"): $ok passed, $bad failed, $skip skipped ($(($(date +%s) - start)) s)"
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
done
[ "$skipped" -eq 0 ] || cat <<END
Skipped tests ("# SKIP" above names them) need what a fresh copy does not have: other programs to
compare with (scripts/interop.sh installs them; then TINYLM_INTEROP=FOLDER make test), clang with
libFuzzer, or data sets and models of others (TINYLM_SHARED=FOLDER).
END
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
