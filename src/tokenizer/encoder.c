#include "tokenizer/encoder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tokenizer/pretokenizer.h"

enum {
    INLINE_IDS = 3,
    CACHED_LENGTH = 64,     /* longer pre-tokens hardly come twice */
    CACHED_COUNT = 1 << 17, /* when there are about this many, the memory starts over */
    STEP = 1 << 14,
};

/* How a remembered pre-token was encoded. */
typedef struct Encoded {
    uint32_t count;
    uint32_t ids[INLINE_IDS]; /* with more, the first one says where they begin in `overflow` */
} Encoded;

Encoder *encoder_new(const Tokenizer *tokenizer) {
    Encoder *encoder = allocate_zeroed(1, sizeof *encoder);
    encoder->tokenizer = tokenizer;
    merger_init(&encoder->merger, tokenizer);
    byte_map_init(&encoder->cache);
    return encoder;
}

void encoder_free(Encoder *encoder) {
    if (!encoder) return;
    merger_free(&encoder->merger);
    byte_map_free(&encoder->cache);
    free(encoder->encoded);
    free(encoder->overflow.ids);
    free(encoder->scratch.ids);
    free(encoder);
}

bool encoder_missing_byte(const Encoder *encoder, Error *error) {
    return error_set(error,
                     "the text has the byte 0x%02X, which the vocabulary has no token for; use a "
                     "tokenizer with all 256 bytes",
                     (unsigned)encoder->merger.missing_byte);
}

/* Encodes a pre-token that the cache has just got as its last one. */
static bool remember(Encoder *encoder, const uint8_t *text, size_t length) {
    IdList *scratch = &encoder->scratch;
    scratch->count = 0;
    if (!merger_apply(&encoder->merger, text, length, scratch)) return false;
    uint32_t index = encoder->cache.count - 1;
    array_reserve(encoder->encoded, index, encoder->encoded_capacity, 1);
    Encoded *encoded = &encoder->encoded[index];
    *encoded = (Encoded){(uint32_t)scratch->count, {0}};
    if (scratch->count <= INLINE_IDS) {
        memcpy(encoded->ids, scratch->ids, scratch->count * sizeof *scratch->ids);
    } else {
        IdList *overflow = &encoder->overflow;
        encoded->ids[0] = (uint32_t)overflow->count;
        id_list_append(overflow, scratch->ids, scratch->count);
    }
    return true;
}

static void forget(Encoder *encoder) {
    byte_map_clear(&encoder->cache);
    encoder->overflow.count = 0;
}

/* Encodes the pre-tokens of the plain text [text, end) that begin before `stop`, until about STEP bytes
 * are done or a long one comes. Returns where it stopped, or NULL at a byte without a token. */
static const uint8_t *encode_step(Encoder *encoder, const uint8_t *text, const uint8_t *stop,
                                  const uint8_t *end, IdList *out) {
    /* A token has at least one byte; INLINE_IDS are written at once, whatever their count. */
    id_list_reserve(out, STEP + CACHED_LENGTH + INLINE_IDS);
    const uint8_t *limit = stop - text > STEP ? text + STEP : stop;
    uint32_t known = encoder->cache.count;
    uint32_t *to = out->ids + out->count;
    PretokenWalk walk = {encoder->tokenizer->pretokenizer, text, end, NULL, 0};
    while (walk.text < limit) {
        text = walk.text;
        size_t length = pretoken_walk(&walk);
        if (length > CACHED_LENGTH) {
            walk.text = text;
            break;
        }
        uint32_t index = byte_map_add(&encoder->cache, text, length, end);
        if (index == known) {
            if (!remember(encoder, text, length)) return NULL;
            known++;
        }
        const Encoded *encoded = &encoder->encoded[index];
        memcpy(to, encoded->ids, sizeof encoded->ids);
        if (encoded->count > INLINE_IDS)
            memcpy(to, encoder->overflow.ids + encoded->ids[0], encoded->count * sizeof *to);
        to += encoded->count;
    }
    out->count = (size_t)(to - out->ids);
    return walk.text;
}

static bool encode_plain(Encoder *encoder, const uint8_t *text, const uint8_t *stop,
                         const uint8_t *end, IdList *out) {
    while (text < stop) {
        text = encode_step(encoder, text, stop, end, out);
        if (!text) return false;
        if (encoder->cache.count >= CACHED_COUNT) forget(encoder);
        if (text >= stop) break;
        size_t length = encoder->tokenizer->pretokenizer->length(text, end);
        if (length <= CACHED_LENGTH) continue;
        if (!merger_apply(&encoder->merger, text, length, out)) return false;
        text += length;
    }
    return true;
}

bool encoder_part(Encoder *encoder, const uint8_t *text, const uint8_t *stop, const uint8_t *end,
                  IdList *out, Error *error) {
    if (encode_plain(encoder, text, stop, end, out)) return true;
    forget(encoder); /* the cache ends with a pre-token that has no ids */
    return encoder_missing_byte(encoder, error);
}

bool encoder_encode(Encoder *encoder, const uint8_t *text, size_t length, IdList *out,
                    Error *error) {
    const uint8_t *end = text + length;
    while (text < end) {
        const SpecialToken *special = NULL;
        const uint8_t *wall =
            special_tokens_find(&encoder->tokenizer->specials, text, end, &special);
        if (!encoder_part(encoder, text, wall, wall, out, error)) return false;
        if (wall == end) break;
        id_list_push(out, special->id);
        text = wall + special->length;
    }
    return true;
}

bool tokenizer_encode(const Tokenizer *tokenizer, const uint8_t *text, size_t length,
                      uint32_t **ids, size_t *count, Error *error) {
    Encoder *encoder = encoder_new(tokenizer);
    IdList list = {0};
    id_list_reserve(&list, 1); /* never NULL, also for an empty text */
    if (tokenizer->begin != TOKEN_NONE) id_list_push(&list, tokenizer->begin);
    bool done = encoder_encode(encoder, text, length, &list, error);
    encoder_free(encoder);
    if (!done) {
        free(list.ids);
        return false;
    }
    *ids = list.ids;
    *count = list.count;
    return true;
}
