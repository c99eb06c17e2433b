#include "tokenizer/decoder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tokenizer/unicode.h"

void decoder_init(Decoder *decoder, const Tokenizer *tokenizer) {
    *decoder = (Decoder){.tokenizer = tokenizer};
}

void decoder_free(Decoder *decoder) {
    free(decoder->text);
    *decoder = (Decoder){0};
}

/* Writes [text, end) with ill-formed parts replaced; returns the length. */
static size_t replace_invalid(const uint8_t *text, const uint8_t *end, uint8_t *out) {
    uint8_t *to = out;
    while (text < end) {
        uint32_t code_point;
        size_t length = unicode_decode(text, end, &code_point);
        if (code_point == UNICODE_INVALID) {
            memcpy(to, "\xEF\xBF\xBD", 3);
            to += 3;
        } else {
            memcpy(to, text, length);
            to += length;
        }
        text += length;
    }
    return (size_t)(to - out);
}

const uint8_t *decoder_add_bytes(Decoder *decoder, const uint8_t *bytes, size_t count,
                                 size_t *length) {
    size_t total = decoder->held_count + count;
    /* The result grows from the front, three bytes at most for each raw one, which lie at the end. */
    array_reserve(decoder->text, 0, decoder->text_capacity, 4 * total + 1);
    uint8_t *raw = decoder->text + decoder->text_capacity - total;
    memcpy(raw, decoder->held, decoder->held_count);
    memcpy(raw + decoder->held_count, bytes, count);
    decoder->held_count = unicode_unfinished(raw, total);
    const uint8_t *end = raw + total - decoder->held_count;
    memcpy(decoder->held, end, decoder->held_count);
    *length = replace_invalid(raw, end, decoder->text);
    decoder->text[*length] = '\0';
    return decoder->text;
}

const uint8_t *decoder_add(Decoder *decoder, uint32_t id, size_t *length) {
    size_t count;
    const uint8_t *bytes = tokenizer_token(decoder->tokenizer, id, &count);
    return bytes ? decoder_add_bytes(decoder, bytes, count, length) : NULL;
}

const uint8_t *decoder_finish(Decoder *decoder, size_t *length) {
    bool unfinished = decoder->held_count > 0;
    decoder->held_count = 0;
    *length = unfinished ? 3 : 0;
    return (const uint8_t *)(unfinished ? "\xEF\xBF\xBD" : "");
}

uint8_t *tokenizer_decode(const Tokenizer *tokenizer, const uint32_t *ids, size_t count,
                          size_t *length, Error *error) {
    size_t total = 0, token_length;
    for (size_t i = 0; i < count; i++) {
        if (!tokenizer_token(tokenizer, ids[i], &token_length)) {
            error_set(error, "id %lu is not in the vocabulary, which has %lld ids",
                      (unsigned long)ids[i], (long long)tokenizer->vocab_size);
            return NULL;
        }
        total += token_length;
    }
    uint8_t *text = allocate(total + 1, 1), *to = text;
    for (size_t i = 0; i < count; i++, to += token_length) {
        const uint8_t *bytes = tokenizer_token(tokenizer, ids[i], &token_length);
        memcpy(to, bytes, token_length);
    }
    *to = '\0';
    *length = total;
    return text;
}
