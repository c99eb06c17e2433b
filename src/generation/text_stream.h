/* From generated ids to text: whole characters only, up to an end-of-text token or a stop text, which
 * are not shown. A suffix that may be the beginning of a stop text is held back until that is decided. */
#ifndef TINYLM_GENERATION_TEXT_STREAM_H
#define TINYLM_GENERATION_TEXT_STREAM_H

#include "tokenizer/model_tokenizer.h"
#include "tokenizer/decoder.h"

typedef struct TextStream {
    const ModelTokenizer *tokenizer;
    const char *const *stops; /* not empty texts; the caller's */
    int stop_count;
    Decoder decoder;
    uint32_t previous; /* the id before the next one */
    bool at_start;     /* right after the token between texts: white space is not shown */
    bool ended;
    char *text; /* shown already, up to `shown`; from there on held back */
    size_t length, shown, capacity;
} TextStream;

/* A stream that continues after `previous`, the last id of the prompt. A text that begins there, after a
 * token that ends the one before, is shown without the blank lines at its beginning. */
void text_stream_init(TextStream *stream, const ModelTokenizer *tokenizer, uint32_t previous,
                      const char *const *stops, int stop_count);
void text_stream_free(TextStream *stream);

/* Gives a new stream the text that precedes its ids. Returns how many bytes of it can be shown: an
 * incomplete character at its end waits for the first ids. */
size_t text_stream_follow(TextStream *stream, const char *text, size_t length);

/* Adds an id. The text that can be shown now belongs to the stream and is valid until the next
 * call; it may be empty and is not NUL-terminated. Afterwards stream->ended says whether the story
 * is over. */
const char *text_stream_add(TextStream *stream, uint32_t id, size_t *length);
/* No more ids come: the text that was held back, if the story is not over anyway. */
const char *text_stream_finish(TextStream *stream, size_t *length);

#endif
