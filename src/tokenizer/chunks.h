/* Cuts texts into chunks for several threads, only where tokenizing the chunks separately gives the
 * same ids as tokenizing the whole text. */
#ifndef TINYLM_TOKENIZER_CHUNKS_H
#define TINYLM_TOKENIZER_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/pretokenizer.h"
#include "tokenizer/special_tokens.h"

typedef struct Chunk {
    const uint8_t *text;
    size_t length;
} Chunk;

typedef struct Chunks {
    Chunk *chunks;
    int64_t count, capacity;
} Chunks;

/* Appends the chunks of one text, each of about `bytes` (0: a good size) or more if the text has
 * no cut. Start with a zeroed `chunks`; the chunks point into the text. */
void chunks_cut(Chunks *chunks, const uint8_t *text, size_t length, const Pretokenizer *kind,
                const SpecialTokens *specials, size_t bytes);
void chunks_free(Chunks *chunks);

#endif
