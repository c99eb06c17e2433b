#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tokenizer/encoder.h"
#include "tokenizer/pretokenizer.h"

enum { SLICE = 1 << 18, LOOK_BACK = 1 << 12 };

struct StreamEncoder {
    Encoder *encoder;
    uint8_t *buffer; /* bytes whose ids are not certain yet */
    size_t length, capacity;
    bool begun;      /* the tokenizer's first token is out */
    size_t next_try; /* with fewer bytes than this nothing new is looked for */
    /* A pre-token longer than the buffer: part of it is encoded and gone already. */
    bool inside;
    CharacterClass class;
    size_t run; /* bytes of the buffer known to belong to it; at the border of a character */
};

StreamEncoder *stream_encoder_new(const Tokenizer *tokenizer) {
    StreamEncoder *stream = allocate_zeroed(1, sizeof *stream);
    stream->encoder = encoder_new(tokenizer);
    return stream;
}

void stream_encoder_free(StreamEncoder *stream) {
    if (!stream) return;
    encoder_free(stream->encoder);
    free(stream->buffer);
    free(stream);
}

/* Where the pre-tokens that nothing behind `limit` can change end. */
static const uint8_t *certain_end(const Pretokenizer *kind, const uint8_t *text,
                                  const uint8_t *limit) {
    /* Usually there is white space close to the end; else walk the pre-tokens from the front. Only of
     * GPT-2's is it known how far a pre-token depends on what follows. */
    bool gpt2 = kind->length == pretoken_length;
    for (ptrdiff_t back = LOOK_BACK;; back *= 2) {
        const uint8_t *from = limit - text > back ? limit - back : text;
        const uint8_t *cut = pretoken_cut(kind, text, from, limit);
        if (cut < limit) return cut;
        if (gpt2) break;
        if (from == text) return text;
    }
    while (text < limit) {
        size_t length = pretoken_length(text, limit);
        if ((size_t)(limit - text) < length + PRETOKEN_LOOKAHEAD) break;
        text += length;
    }
    return text;
}

static bool merge_rest(StreamEncoder *stream, const uint8_t *text, size_t length, IdList *out,
                       Error *error) {
    stream->inside = false;
    return merger_apply(&stream->encoder->merger, text, length, out) ||
           encoder_missing_byte(stream->encoder, error);
}

/* Goes on with the pre-token that the buffer began in the middle of (or begins with, when it is too
 * long). Sets `used` to the bytes done with. */
static bool advance_inside(StreamEncoder *stream, const uint8_t *text, const uint8_t *limit,
                           bool complete, IdList *out, size_t *used, Error *error) {
    const uint8_t *run_end = pretoken_run_end(stream->class, text + stream->run, limit);
    if (complete || limit - run_end >= PRETOKEN_LOOKAHEAD) {
        if (stream->class == CLASS_SPACE && run_end < limit) /* its last character stays out */
            do run_end--;
            while ((*run_end & 0xC0) == 0x80);
        *used = (size_t)(run_end - text);
        return merge_rest(stream, text, *used, out, error);
    }
    /* Only whole characters, of which none is the last of a run of white space. */
    *used = 0;
    if (limit - text < PRETOKEN_LOOKAHEAD) return true;
    const uint8_t *known = limit - PRETOKEN_LOOKAHEAD;
    known -= unicode_unfinished(text, (size_t)(known - text));
    if (known < text + stream->run) return true;
    stream->run = (size_t)(pretoken_run_end(stream->class, text + stream->run, known) - text);
    if (!merger_settle(&stream->encoder->merger, text, stream->run, out, used))
        return encoder_missing_byte(stream->encoder, error);
    stream->run -= *used;
    return true;
}

/* Encodes what is certain of [text, limit), in which no special token begins. `complete`: the text
 * really ends at `limit`. */
static bool advance_plain(StreamEncoder *stream, const uint8_t *text, const uint8_t *limit,
                          bool complete, IdList *out, size_t *used, Error *error) {
    const Pretokenizer *kind = stream->encoder->tokenizer->pretokenizer;
    *used = 0;
    if (stream->inside && !advance_inside(stream, text, limit, complete, out, used, error))
        return false;
    if (stream->inside) return true;
    text += *used;
    const uint8_t *end = complete ? limit : certain_end(kind, text, limit);
    if (!encoder_part(stream->encoder, text, end, limit, out, error)) return false;
    *used += (size_t)(end - text);
    bool gpt2 = kind->length == pretoken_length;
    if (complete || !gpt2 || limit - end < MERGER_WINDOW) return true;
    stream->inside = true;
    stream->class = pretoken_class(end, limit);
    stream->run = *end == ' ' && stream->class != CLASS_SPACE;
    size_t more;
    if (!advance_inside(stream, end, limit, false, out, &more, error)) return false;
    *used += more;
    return true;
}

/* Encodes as much of the buffer as is certain and removes it. */
static bool advance(StreamEncoder *stream, bool final, IdList *out, Error *error) {
    const uint8_t *text = stream->buffer, *end = text + stream->length;
    const Tokenizer *tokenizer = stream->encoder->tokenizer;
    const SpecialTokens *specials = &tokenizer->specials;
    size_t longest = specials->longest, used = 0;
    if (!stream->begun && tokenizer->begin != TOKEN_NONE) id_list_push(out, tokenizer->begin);
    stream->begun = true;
    while (text < end) {
        const SpecialToken *special = NULL;
        const uint8_t *wall = special_tokens_find(specials, text, end, &special);
        bool whole = final || (wall < end && (size_t)(end - wall) >= longest);
        const uint8_t *limit = wall;
        if (!whole) { /* near the end a longer special token may have begun */
            size_t unsure = longest > 1 ? longest - 1 : 0;
            const uint8_t *sure = (size_t)(end - text) > unsure ? end - unsure : text;
            if (sure < limit) limit = sure;
        }
        if (!advance_plain(stream, text, limit, whole, out, &used, error)) return false;
        text += used;
        if (!whole || wall == end) break;
        id_list_push(out, special->id);
        text = wall + special->length;
    }
    stream->length = (size_t)(end - text);
    if (stream->length) memmove(stream->buffer, text, stream->length);
    stream->next_try = stream->length + stream->length / 2 + 1;
    return true;
}

bool stream_encoder_feed(StreamEncoder *stream, const uint8_t *bytes, size_t length, IdList *out,
                         Error *error) {
    while (length > 0) {
        size_t slice = length < SLICE ? length : SLICE;
        array_reserve(stream->buffer, stream->length, stream->capacity, slice);
        memcpy(stream->buffer + stream->length, bytes, slice);
        stream->length += slice;
        bytes += slice;
        length -= slice;
        if (stream->length >= stream->next_try && !advance(stream, false, out, error)) return false;
    }
    return true;
}

bool stream_encoder_finish(StreamEncoder *stream, IdList *out, Error *error) {
    bool done = advance(stream, true, out, error);
    stream->length = stream->next_try = stream->run = 0;
    stream->inside = stream->begun = false;
    return done;
}
