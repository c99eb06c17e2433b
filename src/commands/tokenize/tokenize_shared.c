#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "commands/tokenize/tokenize.h"

Tokenizer *tokenize_load(const char *path, const OptionList *specials, Error *error) {
    Tokenizer *tokenizer = tokenizer_load(path, error);
    bool done = tokenizer != NULL;
    if (done && tokenizer->fixed_length)
        print_line(stderr, "warning: %s: " TOKENIZER_FIXED_LENGTH_WARNING, path);
    for (int i = 0; done && i < specials->count; i++)
        done = tokenizer_add_special(tokenizer, specials->items[i], error);
    return tokenizer_keep_if(tokenizer, done);
}

/* The stream in reads of whatever size comes; `ids` is the buffer between. */
static bool encode_stream(StreamEncoder *stream, IdList *ids, IdSink sink, void *context,
                          EncodeStats *stats, Error *error) {
    uint8_t bytes[1 << 16];
    for (;;) {
        ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_set(error, "standard input: cannot be read: %s", strerror(errno));
        ids->count = 0;
        Error reason;
        if (got > 0 ? !stream_encoder_feed(stream, bytes, (size_t)got, ids, &reason)
                    : !stream_encoder_finish(stream, ids, &reason))
            return error_set(error, "standard input: %s", reason.message);
        if (!sink(context, ids->ids, ids->count, error)) return false;
        stats->bytes += (uint64_t)got;
        stats->tokens += ids->count;
        if (got == 0) return true;
    }
}

bool tokenize_input(const Tokenizer *tokenizer, const char *input, IdSink sink, void *context,
                    EncodeStats *stats, Error *error) {
    if (input && strcmp(input, "-") != 0)
        return encode_file(tokenizer, input, 0, sink, context, stats, error);
    double start = omp_get_wtime();
    StreamEncoder *stream = stream_encoder_new(tokenizer);
    IdList ids = {0};
    *stats = (EncodeStats){0};
    bool done = encode_stream(stream, &ids, sink, context, stats, error);
    stats->seconds = omp_get_wtime() - start;
    free(ids.ids);
    stream_encoder_free(stream);
    return done;
}

void tokenize_print_token(const Tokenizer *tokenizer, uint32_t id) {
    size_t length;
    const uint8_t *bytes = tokenizer_token(tokenizer, id, &length);
    print_quoted(stdout, bytes, length);
}

uint32_t tokenize_longest(const Tokenizer *tokenizer, const uint64_t *counts) {
    uint32_t longest = TOKEN_NONE;
    size_t longest_length = 0, length;
    for (uint32_t id = 0; id < tokenizer->vocab_size; id++) {
        if ((counts && !counts[id]) || tokenizer_is_special(tokenizer, id) ||
            !tokenizer_token(tokenizer, id, &length) || length <= longest_length)
            continue;
        longest = id;
        longest_length = length;
    }
    return longest;
}
