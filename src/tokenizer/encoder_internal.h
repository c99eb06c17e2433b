/* What the stream encoder uses of the encoder. */
#ifndef TINYLM_TOKENIZER_ENCODER_INTERNAL_H
#define TINYLM_TOKENIZER_ENCODER_INTERNAL_H

#include "tokenizer/encoder.h"
#include "tokenizer/merger.h"

/* Encodes the pre-tokens of the text [text, end) that begin before `stop`, without looking for special
 * tokens. */
bool encoder_part(Encoder *encoder, const uint8_t *text, const uint8_t *stop, const uint8_t *end,
                  IdList *out, Error *error);
Merger *encoder_merger(Encoder *encoder);
/* Fills the error after the merger met a byte without a token; returns false. */
bool encoder_missing_byte(const Encoder *encoder, Error *error);

#endif
