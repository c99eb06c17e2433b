#include "generation/text_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tokenizer/unicode.h"

void text_stream_init(TextStream *stream, const ModelTokenizer *tokenizer, uint32_t previous,
                      const char *const *stops, int stop_count) {
    *stream = (TextStream){
        .tokenizer = tokenizer, .previous = previous, .stops = stops, .stop_count = stop_count};
    stream->at_start = model_tokenizer_ends(tokenizer, previous);
    decoder_init(&stream->decoder, NULL); /* it gets bytes, not ids */
}

void text_stream_free(TextStream *stream) {
    decoder_free(&stream->decoder);
    free(stream->text);
    *stream = (TextStream){0};
}

size_t text_stream_follow(TextStream *stream, const char *text, size_t length) {
    size_t unfinished = unicode_unfinished((const uint8_t *)text, length), nothing;
    const uint8_t *rest = (const uint8_t *)text + length - unfinished;
    decoder_add_bytes(&stream->decoder, rest, unfinished, &nothing);
    if (length > 0) stream->at_start = false;
    return length - unfinished;
}

/* Appends to what is held back; what has been shown makes room. */
static void append(TextStream *stream, const uint8_t *bytes, size_t count) {
    size_t held = stream->length - stream->shown;
    if (held) memmove(stream->text, stream->text + stream->shown, held);
    stream->shown = 0;
    array_reserve(stream->text, held, stream->capacity, count);
    if (count) memcpy(stream->text + held, bytes, count);
    stream->length = held + count;
}

/* Cuts the held text before the first stop text in it; says whether there is one. */
static bool cut_at_stop(TextStream *stream) {
    size_t first = stream->length;
    bool found = false;
    for (int i = 0; i < stream->stop_count; i++) {
        size_t size = strlen(stream->stops[i]);
        for (size_t at = 0; at + size <= stream->length && at < first; at++) {
            if (memcmp(stream->text + at, stream->stops[i], size) != 0) continue;
            first = at;
            found = true;
        }
    }
    stream->length = first;
    return found;
}

/* How many bytes at the end of the text may be the beginning of a stop text. */
static size_t unsure(const TextStream *stream) {
    size_t most = 0;
    for (int i = 0; i < stream->stop_count; i++) {
        size_t size = strlen(stream->stops[i]) - 1;
        if (size > stream->length) size = stream->length;
        while (size > most &&
               memcmp(stream->text + stream->length - size, stream->stops[i], size) != 0)
            size--;
        if (size > most) most = size;
    }
    return most;
}

/* The text from `shown` on but for the last `keep` bytes, which stay held back. */
static const char *show(TextStream *stream, size_t keep, size_t *length) {
    stream->shown = stream->length - keep;
    *length = stream->shown;
    return stream->text ? stream->text : "";
}

const char *text_stream_add(TextStream *stream, uint32_t id, size_t *length) {
    if (!stream->ended && !model_tokenizer_ends(stream->tokenizer, id)) {
        size_t count;
        const uint8_t *bytes =
            model_tokenizer_bytes(stream->tokenizer, stream->previous, id, &count);
        if (!bytes)
            bytes = (const uint8_t *)"", count = 0; /* an id without text, such as padding */
        const uint8_t *text = decoder_add_bytes(&stream->decoder, bytes, count, &count);
        stream->previous = id;
        while (stream->at_start && count > 0 && (*text == '\n' || *text == '\r' || *text == ' '))
            text++, count--;
        if (count > 0) stream->at_start = false;
        append(stream, text, count);
        stream->ended = cut_at_stop(stream);
        return show(stream, stream->ended ? 0 : unsure(stream), length);
    }
    const char *rest = text_stream_finish(stream, length);
    stream->ended = true;
    return rest;
}

const char *text_stream_finish(TextStream *stream, size_t *length) {
    size_t count;
    const uint8_t *text = decoder_finish(&stream->decoder, &count);
    append(stream, text, stream->ended ? 0 : count);
    return show(stream, 0, length);
}
