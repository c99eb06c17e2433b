/* How often each distinct pre-token occurs in a set of files: all that BPE training needs to know. */
#ifndef TINYLM_TOKENIZER_WORD_COUNTS_H
#define TINYLM_TOKENIZER_WORD_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "tokenizer/byte_map.h"
#include "tokenizer/special_tokens.h"

typedef struct WordCounts {
    ByteMap words;    /* distinct pre-tokens */
    uint64_t *counts; /* by their numbers */
    uint32_t capacity;
    uint64_t bytes, total; /* of all files: bytes, pre-tokens (special tokens are not counted) */
} WordCounts;

void word_counts_init(WordCounts *counts);
void word_counts_free(WordCounts *counts);

/* Counts `times` more occurrences of one pre-token. */
void word_counts_add(WordCounts *counts, const uint8_t *word, size_t length, uint64_t times);

/* Adds the pre-tokens of a file, which is mapped ("-": standard input, read whole) and counted by the
 * threads of the team in chunks of about `chunk_bytes` (0: a good size). Special tokens
 * separate pre-tokens. The counts depend neither on the chunks nor on the number of threads (the order
 * of the words does; it does not affect training). */
bool word_counts_add_file(WordCounts *counts, const char *path, const SpecialTokens *specials,
                          size_t chunk_bytes, Error *error);

#endif
