#!/bin/sh
# The cache of ids and tokenizers: an edit of the tokenizer's code makes new ones, and a cache that cannot be
# written is a warning.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
built=${BUILD:-build}
case $built in /*) ;; *) built=$root/$built ;; esac
cd "$work" || exit 1

sentences 20000 >text.txt
cat >cfg.json <<'JSON'
{"name": "small", "data": {"train": "text.txt"},
 "tokenizer": {"vocab_size": 300, "special_tokens": ["<|endoftext|>"]},
 "model": {"context_length": 8, "d_model": 8, "num_layers": 1, "num_heads": 1},
 "training": {"batch_size": 2, "max_steps": 2}}
JSON
train() { "$1/train" cfg.json --run run --fresh --threads 1 >out 2>&1 || { cat out && return 1; }; }
encoded() { train "$1" && { grep -q '^encoding ' out || { cat out && return 1; }; }; }
cached() { train "$1" && ! grep '^encoding ' out; }
ids() { find data/cache -name '*.npy' | wc -l; }

check "the first run encodes" encoded "$bin"
check "the second takes the ids of the cache" cached "$bin"

# The tree with the objects that are built, so that make compiles only what the edit concerns.
mkdir tree && cp -Rp "$root/src" "$root/Makefile" tree && mkdir tree/build &&
    cp -Rp "$built/src" "$built/flags" "$built/libtinylm.a" tree/build
build() {
    MAKEFLAGS='' make -s -C tree BUILD=build BIN=. CC="$(sed 's/ -std=.*//' "$built/flags")" train
}
check "a copy of the tree builds" build
check "the same code uses the same cache" cached tree
before=$(ids)
printf '/* an edit */\n' >>tree/src/tokenizer/pretokenizer.c
check "it builds after an edit of the tokenizer" build
check "then it encodes again with nothing deleted" encoded tree
check "the ids have a name of their own" [ "$(ids)" -eq $((before * 2)) ]
check "and are taken from the cache after that" cached tree

# warned TEXT: the run went on, with one warning that says why.
warned() {
    "$bin/train" cfg.json --run run --fresh --threads 1 >out 2>&1 || { cat out && return 1; }
    cat out
    grep 'warning: the cache is not used' out | grep -q "$1" && [ -s run/model.safetensors ]
}
rm -rf data/cache
full_disk() { (trap '' XFSZ && ulimit -f 200 && warned 'npy.*File too large'); }
check "a full disk is named, and the run goes on" full_disk
check "and leaves no ids in the cache" [ "$(ids)" -eq 0 ]
rm -rf data/cache && echo >data/cache
check "a file in the cache's place is a warning" warned 'data/cache'
rm -f data/cache && mkdir data/cache && chmod a-w data/cache
if [ -w data/cache ]; then
    skip "a cache that is read-only is a warning" "root writes anywhere"
else
    check "a cache that is read-only is a warning" warned 'Permission denied'
fi
chmod u+w data/cache
