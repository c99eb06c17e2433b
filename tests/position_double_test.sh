#!/bin/sh
# The position schemes in double precision: the same tests with a limit of 1e-6 instead of 1e-4.
# Finite differences (make gradcheck) use the same build.
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
build=build/gradcheck
if ! output=$(make -s BUILD="$build" REAL=double ROOMS="base tensor model" "$build/tests/position_vectors_test" \
    "$build/tests/gradcheck" 2>&1); then
    printf '%s\n' "$output"
    echo "not ok 1 - double build"
    exit 1
fi
if output=$("$build/tests/gradcheck" 2>&1); then
    echo "ok 1 - every gradient agrees with finite differences"
else
    printf '%s\n' "$output" | grep -v ' ok$'
    echo "not ok 1 - every gradient agrees with finite differences"
fi
output=$(CMOCKA_MESSAGE_OUTPUT=TAP "$build/tests/position_vectors_test" 2>&1)
case $output in
*"ok 1"*) ;;
*)
    printf '%s\n' "$output"
    echo "not ok 2 - position_vectors_test died in double"
    ;;
esac
printf '%s\n' "$output" |
    sed -e 's/^not ok \([0-9]* # SKIP\)/ok \1/' -e 's/^\(.*ok [0-9]*\) - /\1 - double: /'
