#!/bin/sh
# Runs each harness of tests/fuzz/*_fuzz.c under libFuzzer with AddressSanitizer and UBSan: a second in
# the quick tier, ten minutes with TINYLM_TEST_FULL=1 (FUZZ_SECONDS overrides both). A harness NAME_fuzz
# starts from the files in tests/fuzz/NAME/ and may bring words that matter in tests/fuzz/NAME.dict.
# What it finds is left in build/fuzz/.
# In a second, what the compiler saves on slow code is worth more than the speed of the harness.
if [ -n "${TINYLM_TEST_FULL-}" ]; then seconds=600 level=-O1; else seconds=1 level=-O0; fi
seconds=${FUZZ_SECONDS:-$seconds}
build=build/fuzz
sanitize="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
count=0

mkdir -p "$build"
printf 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n);\nint LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return (void)d, (int)(n & 0); }\n' >"$build/probe.c"
if ! clang -fsanitize=fuzzer,address "$build/probe.c" -o "$build/probe" 2>/dev/null; then
    echo "ok 1 - fuzzing # SKIP clang with libFuzzer is not installed"
    exit 0
fi
# Without OpenMP: clang's runtime for it is a package of its own, and threads would make runs differ.
flags="-std=gnu11 -g $level -fno-openmp -Isrc -DREAL_IS_float $(pkg-config --cflags openblas libcjson stb libutf8proc)"
libraries="$(pkg-config --libs openblas libcjson stb libutf8proc) -lgomp -lm"
if ! make -s -j2 CC=clang BUILD="$build" ROOMS="base tensor tokenizer model formats training" OPTIMIZE=$level SANITIZE="$sanitize" CFLAGS=-fno-openmp WARN= \
    "$build/libtinylm.a" >"$build/log" 2>&1; then
    cat "$build/log"
    echo "not ok 1 - library for fuzzing"
    exit 1
fi

for harness in tests/fuzz/*_fuzz.c; do
    count=$((count + 1))
    name=$(basename "$harness" _fuzz.c)
    corpus="$build/$name.corpus"
    mkdir -p "$corpus"
    set -- -max_total_time="$seconds" -timeout=20 -artifact_prefix="$build/$name-" "$corpus"
    [ -d "tests/fuzz/$name" ] && set -- "$@" "tests/fuzz/$name"
    [ -f "tests/fuzz/$name.dict" ] && set -- -dict="tests/fuzz/$name.dict" "$@"
    # shellcheck disable=SC2086 # flags and libraries are lists of words
    if clang $flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all "$harness" \
        "$build/libtinylm.a" $libraries -o "$build/${name}_fuzz" >"$build/log" 2>&1 &&
        "$build/${name}_fuzz" "$@" >"$build/log" 2>&1; then
        echo "ok $count - $name: $(grep -E '^Done' "$build/log")"
    else
        tail -n 40 "$build/log"
        echo "not ok $count - $name"
    fi
done
