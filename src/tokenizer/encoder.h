/* Text to ids: the text between special tokens is split into pre-tokens, and each distinct pre-token is
 * encoded once and then looked up in a cache.
 *
 * Three entry points give the same ids: a text in memory (Encoder), a stream of chunks of any size in
 * bounded memory (StreamEncoder), and a file with all threads (encode_file). */
#ifndef TINYLM_TOKENIZER_ENCODER_H
#define TINYLM_TOKENIZER_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tokenizer/merger.h"
#include "tokenizer/tokenizer.h"

/* ---- a text in memory ---- */

/* One thread's encoder, with a bounded cache of pre-tokens (a few megabytes). The tokenizer must
 * outlive it and must not change meanwhile. */
typedef struct Encoder {
    const Tokenizer *tokenizer;
    Merger merger;
    ByteMap cache;           /* pre-tokens … */
    struct Encoded *encoded; /* … and their ids, by number */
    uint32_t encoded_capacity;
    IdList overflow, scratch;
} Encoder;
Encoder *encoder_new(const Tokenizer *tokenizer);
void encoder_free(Encoder *encoder);

/* Appends the ids of a whole text. Error: a byte for which the vocabulary has no token. */
bool encoder_encode(Encoder *encoder, const uint8_t *text, size_t length, IdList *out,
                    Error *error);
/* The parts of it. Appends the ids of the pre-tokens of [text, end) that begin before `stop`; special
 * tokens are not looked for. */
bool encoder_part(Encoder *encoder, const uint8_t *text, const uint8_t *stop, const uint8_t *end,
                  IdList *out, Error *error);
/* After the merger met a byte without a token: sets the error, returns false. */
bool encoder_missing_byte(const Encoder *encoder, Error *error);

/* ---- output ---- */

/* Receives ids in text order. Returning false (with the Error set) stops the encoding. */
typedef bool (*IdSink)(void *context, const uint32_t *ids, size_t count, Error *error);
/* A sink that appends the ids to an IdList. */
bool encode_into_list(void *list, const uint32_t *ids, size_t count, Error *error);

typedef struct EncodeStats {
    uint64_t bytes, tokens;
    double seconds; /* from the mapped file to the last call of the sink */
} EncodeStats;

/* ---- a stream ---- */

/* Holds back what later bytes could still change: an incomplete special token, pre-token or
 * character. A very long pre-token is encoded as it arrives (merger_settle), so memory does not
 * depend on the length of the stream or of any pre-token. */
typedef struct StreamEncoder StreamEncoder;
StreamEncoder *stream_encoder_new(const Tokenizer *tokenizer);
void stream_encoder_free(StreamEncoder *stream);
/* Appends to `out` the ids that no further bytes can change. */
bool stream_encoder_feed(StreamEncoder *stream, const uint8_t *bytes, size_t length, IdList *out,
                         Error *error);
/* Appends the rest; the stream is then ready for a new text. */
bool stream_encoder_finish(StreamEncoder *stream, IdList *out, Error *error);

/* ---- a file ---- */

/* Encodes a file in chunks of about `chunk_bytes` (0: a good size) with the threads of the team
 * (base/parallel.h), and passes the ids to the sink in order. The ids depend on neither number.
 * `stats` may be NULL. */
bool encode_file(const Tokenizer *tokenizer, const char *path, size_t chunk_bytes, IdSink sink,
                 void *context, EncodeStats *stats, Error *error);

#endif
