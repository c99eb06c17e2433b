/* Special tokens: literal pieces of text, such as <|endoftext|>, that stand for one id. They are
 * never split, never merged with their neighbours, and never counted in training.
 *
 * Where several could match, the leftmost wins, then the longest, regardless of the order in which they
 * were added; the search continues after it. */
#ifndef TINYLM_TOKENIZER_SPECIAL_TOKENS_H
#define TINYLM_TOKENIZER_SPECIAL_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tokenizer/pretokenizer.h"

typedef struct SpecialToken {
    uint8_t *text;
    size_t length;
    uint32_t id;
} SpecialToken;

typedef struct SpecialTokens {
    SpecialToken *tokens; /* longest first */
    int count;
    size_t longest;       /* bytes; 0 when there are none */
    bool first_byte[256]; /* some token begins with this byte */
    int only_first_byte;  /* the one byte that all begin with, or -1 */
} SpecialTokens;

/* Checks that a text can be a special token: not empty, valid UTF-8 (files store it as text). */
bool special_tokens_check(const char *text, Error *error);

/* Adds a token unless it is already there. Start with a zeroed `specials`. */
void special_tokens_add(SpecialTokens *specials, const char *text, uint32_t id);
void special_tokens_free(SpecialTokens *specials);

/* The first special token in [text, end): its start (and in `found` which one it is), or `end`. */
const uint8_t *special_tokens_find(const SpecialTokens *specials, const uint8_t *text,
                                   const uint8_t *end, const SpecialToken **found);

/* The first place at or after `at` where the text [begin, end) may be cut into two that are tokenized
 * separately with the same result: a cut of the pre-tokenizer inside no special token. */
const uint8_t *special_tokens_cut(const SpecialTokens *specials, const Pretokenizer *kind,
                                  const uint8_t *begin, const uint8_t *at, const uint8_t *end);

#endif
