/* ./tokenize encode and decode. */
#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "base/printable.h"
#include "commands/tokenize/tokenize.h"
#include "formats/npy.h"
#include "tokenizer/decoder.h"

/* ---- encode ---- */

static bool write_npy(void *context, const uint32_t *ids, size_t count, Error *error) {
    return npy_writer_write(context, ids, count) || npy_writer_commit(context, error);
}

static bool write_text(void *context, const uint32_t *ids, size_t count, Error *error) {
    bool *first = context;
    char text[4096];
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        char digits[10];
        size_t n = 0;
        for (uint32_t id = ids[i]; n == 0 || id; id /= 10) digits[n++] = (char)('0' + id % 10);
        if (!*first) text[length++] = ' ';
        *first = false;
        while (n) text[length++] = digits[--n];
        if (length + 16 < sizeof text && i + 1 < count) continue;
        fwrite(text, 1, length, stdout);
        length = 0;
    }
    return !ferror(stdout) || error_set(error, "the output could not be written");
}

static bool encode_to_npy(const Tokenizer *tokenizer, const char *input, const char *output,
                          Error *error) {
    if (input && !file_check_output(output, input, "the input", error)) return false;
    NpyWriter writer;
    NpyType type = tokenizer_vocab_size(tokenizer) > 65536 ? NPY_UINT32 : NPY_UINT16;
    if (!npy_writer_open(&writer, output, type, error)) return false;
    EncodeStats stats;
    if (!tokenize_input(tokenizer, input, write_npy, &writer, &stats, error)) {
        npy_writer_abort(&writer);
        return false;
    }
    if (!npy_writer_commit(&writer, error)) return false;
    printf("%llu bytes, %llu tokens of %s in %s: %.2f bytes per token, %.3f s, %.0f MB/s\n",
           (unsigned long long)stats.bytes, (unsigned long long)stats.tokens,
           type == NPY_UINT16 ? "uint16" : "uint32", output,
           stats.tokens ? (double)stats.bytes / (double)stats.tokens : 0, stats.seconds,
           stats.seconds > 0 ? (double)stats.bytes / 1e6 / stats.seconds : 0);
    return true;
}

bool tokenize_encode(Session *session) {
    const Tokenizer *tokenizer = session->tokenizer;
    if (session->output)
        return encode_to_npy(tokenizer, session->input, session->output, &session->error);
    EncodeStats stats;
    bool first = true, done = tokenize_input(tokenizer, session->input, write_text, &first, &stats,
                                             &session->error);
    if (done) putchar('\n');
    return done;
}

/* ---- decode ---- */

/* Prints one token, raw or as valid UTF-8. */
static bool print_token(Decoder *decoder, bool raw, uint64_t id, Error *error) {
    size_t length;
    const uint8_t *text = NULL;
    if (id < TOKEN_NONE)
        text = raw ? tokenizer_token(decoder->tokenizer, (uint32_t)id, &length)
                   : decoder_add(decoder, (uint32_t)id, &length);
    if (!text)
        return error_set(error, "id %llu is not in the vocabulary of %lld entries",
                         (unsigned long long)id,
                         (long long)tokenizer_vocab_size(decoder->tokenizer));
    if (raw)
        fwrite(text, 1, length, stdout);
    else
        print_text(stdout, text, length);
    return true;
}

/* Numbers with white space between, from standard input, one at a time. */
static bool decode_text(Decoder *decoder, bool raw, Error *error) {
    for (;;) {
        int c = getchar();
        while (c == ' ' || (c >= '\t' && c <= '\r')) c = getchar();
        if (c == EOF) return !ferror(stdin) || error_set(error, "standard input: cannot be read");
        uint64_t id = 0;
        for (; c >= '0' && c <= '9'; c = getchar())
            if (id <= UINT32_MAX) id = 10 * id + (uint64_t)(c - '0');
        if (c != EOF && c != ' ' && !(c >= '\t' && c <= '\r'))
            return error_set(error,
                             isgraph(c) ? "standard input: '%c' is no part of an id; ids are whole "
                                          "numbers with spaces between"
                                        : "standard input: the byte %d is no part of an id; ids "
                                          "are whole numbers with spaces between",
                             c);
        Error reason;
        if (!print_token(decoder, raw, id, &reason))
            return error_set(error, "standard input: %s", reason.message);
    }
}

static bool decode_npy(Decoder *decoder, bool raw, const char *path, Error *error) {
    NpyArray array;
    if (!npy_open(&array, path, error)) return false;
    bool done = true;
    for (int64_t i = 0; done && i < array.count; i++) {
        Error reason;
        done = print_token(decoder, raw, npy_get(&array, i), &reason) ||
               error_set(error, "%s: %s", path, reason.message);
    }
    npy_close(&array);
    return done;
}

bool tokenize_decode(Session *session) {
    const char *input = session->input;
    bool from_stdin = !input || strcmp(input, "-") == 0;
    Decoder decoder;
    decoder_init(&decoder, session->tokenizer);
    bool done = from_stdin ? decode_text(&decoder, session->raw, &session->error)
                           : decode_npy(&decoder, session->raw, input, &session->error);
    size_t length;
    const uint8_t *rest = decoder_finish(&decoder, &length);
    print_text(stdout, rest, length);
    decoder_free(&decoder);
    return done;
}
