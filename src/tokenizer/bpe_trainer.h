/* Learns the merges of a byte-level BPE (Sennrich et al. 2016; handout §2.4): start from the bytes
 * and repeatedly merge the most frequent pair of adjacent tokens into a new token. Pairs are counted
 * inside pre-tokens only. Of equally frequent pairs the greatest (left, right) wins, compared as
 * byte strings.
 *
 * Only what a merge changes is recounted: each pair has a list of its positions, and a heap yields the
 * most frequent pair. Every adjacent pair counts ("aaaa" has three), counts have 64 bits. */
#ifndef TINYLM_TOKENIZER_BPE_TRAINER_H
#define TINYLM_TOKENIZER_BPE_TRAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/word_counts.h"

/* Called every 256 merges. */
typedef void (*BpeProgress)(void *context, int64_t vocab_size, int64_t wanted);

typedef struct BpeOptions {
    size_t chunk_bytes;   /* 0: a good size; the result does not depend on it */
    BpeProgress progress; /* may be NULL */
    void *context;
} BpeOptions;

typedef struct BpeStats {
    uint64_t bytes, pretokens, distinct_pretokens;
    double count_seconds, merge_seconds;
    bool stopped_early; /* no pair was left to merge before vocab_size was reached */
} BpeStats;

/* Trains on files ("-": standard input). Ids: special tokens in the order given (repeated ones once;
 * one that is a single byte shares the byte's id), then the 256 bytes, then the merges. `options` and
 * `stats` may be NULL. Errors: a file that cannot be read, a bad special token, vocab_size below 256
 * plus the special tokens or above 2^30. */
Tokenizer *bpe_train(const char *const *paths, int path_count, int64_t vocab_size,
                     const char *const *specials, int special_count, const BpeOptions *options,
                     BpeStats *stats, Error *error);

/* Its two steps. A tokenizer of special tokens and bytes … */
Tokenizer *bpe_start(const char *const *specials, int special_count, Error *error);
/* … learns merges from word counts until it has vocab_size entries or no pair is left. A merge
 * whose result is already a token (made of other parts) adds a merge but no entry. Error: more than
 * 4 GB of distinct words. */
bool bpe_learn(Tokenizer *tokenizer, const WordCounts *counts, int64_t vocab_size,
               const BpeOptions *options, Error *error);

#endif
