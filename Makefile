# tinylm: make            builds the programs to this folder
#         make test       quick tests            make test-full   long ones too
#         make gradcheck  every gradient against finite differences, in double precision
#         make asan       the tests under AddressSanitizer and UBSan
#         make data       the corpus data/tales   make setup     install what is needed
#         make bench      speed and memory       make format      clang-format
#         make clean      removes what was built make help        prints this
# Variables: CC, ARCH=native|haswell|…, BUILD=folder for objects, REAL=float|double.

CC      ?= cc
ifeq ($(origin CC),default)
CC      := gcc
endif
ARCH    ?= native
BUILD   ?= build
REAL    ?= float
BIN     ?= .
WARN    ?= -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
WERROR  ?=
# gnu11 keeps fused multiply-add; without the two -fno flags gcc 12 does not vectorise a clamped exp.
# Never -ffast-math: the checks for NaN must work.
# The last flag, where the compiler has it: clang halves vectors of 64 bytes without.
OPTIMIZE ?= -O3 -march=$(ARCH) -fno-math-errno -fno-trapping-math \
            $(shell $(CC) -mprefer-vector-width=512 -E -x c /dev/null >/dev/null 2>&1 && \
              echo -mprefer-vector-width=512)
SANITIZE ?=
PACKAGES := openblas libcjson stb libutf8proc

PROGRAMS := train generate tokenize evaluate convert inspect
PROGRAMS := $(filter $(PROGRAMS),$(patsubst src/commands/%.c,%,$(wildcard src/commands/*.c)))

# goals that need no libraries
ifneq ($(filter-out setup clean format data help,$(or $(MAKECMDGOALS),all)),)
ifeq ($(shell command -v pkg-config),)
$(error pkg-config is missing; run: make setup)
endif
MISSING := $(strip $(foreach p,$(PACKAGES),$(shell pkg-config --exists $(p) || echo $(p))))
ifneq ($(MISSING),)
$(error missing libraries: $(MISSING); run: make setup)
endif
LIB_CFLAGS := $(shell pkg-config --cflags $(PACKAGES))
LIB_LIBS   := $(shell pkg-config --libs $(PACKAGES))
endif

CFLAGS_ALL := -std=gnu11 -g $(OPTIMIZE) $(WARN) $(WERROR) $(SANITIZE) -fopenmp -Isrc -DREAL_IS_$(REAL) \
              $(patsubst -I%,-isystem%,$(LIB_CFLAGS)) $(CFLAGS)
LIBS_ALL   := $(LIB_LIBS) -lm $(LDFLAGS)

# The library: every room, and of commands/ what the programs share.
ROOMS    ?= base tensor tokenizer model formats training generation pictures commands
SOURCES  := $(filter-out $(PROGRAMS:%=src/commands/%.c),\
              $(wildcard $(ROOMS:%=src/%/*.c) $(ROOMS:%=src/%/*/*.c)))
OBJECTS  := $(patsubst %.c,$(BUILD)/%.o,$(SOURCES))

.PHONY: all help setup data test test-full gradcheck asan bench bench-peers format clean
all: $(PROGRAMS:%=$(BIN)/%)

# A change of compiler or flags rebuilds everything.
FLAGS_NOW := $(CC) $(CFLAGS_ALL)
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' > $@
FORCE:

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

# The cache of tokenizers and ids is named after the code that makes them, too.
CODERS := $(wildcard src/tokenizer/*.[ch] src/tokenizer/*/*.[ch])
$(BUILD)/src/training/corpus.o: $(CODERS)
$(BUILD)/src/training/corpus.o: \
    CFLAGS_ALL += -DTOKENIZER_CODE=$(shell cat $(CODERS) | cksum | cut -d' ' -f1)u

$(BUILD)/libtinylm.a: $(OBJECTS)
	@rm -f $@
	ar rcs $@ $^

$(PROGRAMS:%=$(BIN)/%): $(BIN)/%: $(BUILD)/src/commands/%.o $(BUILD)/libtinylm.a
	@mkdir -p $(BIN)
	$(CC) $(CFLAGS_ALL) $^ $(LIBS_ALL) -o $@

help: # the comment at the top of this file
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

setup:
	scripts/setup.sh --tests

# Tests: every tests/*_test.c is a cmocka program, every tests/*_test.sh a script that prints TAP lines.
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/*_test.c))
$(BUILD)/tests/%_test: $(BUILD)/tests/%_test.o $(BUILD)/libtinylm.a
	$(CC) $(CFLAGS_ALL) $^ $(LIBS_ALL) -lcmocka -o $@

test: all $(TESTS)
	tests/run.sh $(sort $(wildcard tests/*_test.sh)) $(TESTS)

# A corpus of our own, when there is no TinyStories: 20 MB of little stories, and other ones to
# validate on. The program needs one library, utf8proc, and no object that depends on the flags.
TALES := $(wildcard data/tales/*.c) $(addprefix src/base/,error.c file.c printable.c random.c text.c)
$(BUILD)/make_tales: $(TALES) $(wildcard data/tales/*.h src/base/*.h)
	@mkdir -p $(BUILD)
	$(CC) -std=gnu11 -g -O2 $(WARN) $(WERROR) $(SANITIZE) -Isrc $(TALES) -lutf8proc -lm -o $@
data: data/tales/train.txt data/tales/valid.txt
data/tales/train.txt: $(BUILD)/make_tales data/tales/tales.grammar
	$< --seed 1 --size 20MB --output $@
data/tales/valid.txt: $(BUILD)/make_tales data/tales/tales.grammar
	$< --seed 2 --size 500kB --output $@
test: $(BUILD)/make_tales

# Finite differences need double precision: the same sources with another `real`.
gradcheck:
	$(MAKE) BUILD=build/gradcheck REAL=double ROOMS="base tensor model" build/gradcheck/tests/gradcheck
	build/gradcheck/tests/gradcheck

$(BUILD)/tests/gradcheck: $(BUILD)/tests/gradcheck.o $(BUILD)/libtinylm.a
	$(CC) $(CFLAGS_ALL) $^ $(LIBS_ALL) -o $@

test-full: export TINYLM_TEST_FULL = 1
test-full: test gradcheck

# The same tests with the sanitizers; slower code, other folders.
ASAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# What is too large to allocate is refused by the program, as without the sanitizer.
asan: export ASAN_OPTIONS = allocator_may_return_null=1
asan:
	$(MAKE) BUILD=build/asan BIN=build/asan/bin OPTIMIZE=-O1 SANITIZE='$(ASAN)' test

# Speed and memory; nothing here is a test.
$(BUILD)/bench: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench*.c)) $(BUILD)/libtinylm.a
	$(CC) $(CFLAGS_ALL) $^ $(LIBS_ALL) -o $@
bench: $(BUILD)/bench $(BUILD)/make_tales $(BIN)/tokenize
	$(BUILD)/bench train tiny
	$(BUILD)/bench train cs336
	$(BUILD)/bench generate tiny
	$(BUILD)/bench generate cs336
	TOKENIZE=$(BIN)/tokenize BENCH=$(BUILD)/bench TALES=$(BUILD)/make_tales scripts/bench_tokenizer.sh
bench-peers: $(BUILD)/bench
	BENCH=$(BUILD)/bench scripts/bench_peers.sh --shape tiny
	BENCH=$(BUILD)/bench scripts/bench_peers.sh --shape cs336

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	rm -rf build $(PROGRAMS)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
