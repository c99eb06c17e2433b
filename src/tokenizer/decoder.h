/* Ids to text, one id at a time, as a generator prints it. A token may end in the middle of a
 * character; the decoder holds such bytes back until the character is complete. */
#ifndef TINYLM_TOKENIZER_DECODER_H
#define TINYLM_TOKENIZER_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tokenizer/tokenizer.h"

typedef struct Decoder {
    const Tokenizer *tokenizer;
    uint8_t held[3]; /* the beginning of a character */
    size_t held_count;
    uint8_t *text; /* what the last call returned */
    size_t text_capacity;
} Decoder;

void decoder_init(Decoder *decoder, const Tokenizer *tokenizer);
void decoder_free(Decoder *decoder);

/* The text that an id adds, as valid UTF-8: every ill-formed part (maximal subpart, see unicode.h)
 * is replaced by one U+FFFD. The text, which may be empty and is followed by a NUL, belongs to the
 * decoder and is valid until the next call. NULL for an id that is not in the vocabulary. */
const uint8_t *decoder_add(Decoder *decoder, uint32_t id, size_t *length);
/* The same for any bytes. */
const uint8_t *decoder_add_bytes(Decoder *decoder, const uint8_t *bytes, size_t count,
                                 size_t *length);
/* At the end: U+FFFD if an incomplete character was held back, else nothing. */
const uint8_t *decoder_finish(Decoder *decoder, size_t *length);

#endif
