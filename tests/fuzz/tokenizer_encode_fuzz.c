/* Training and encoding: learns merges from one half of the input, encodes the whole in memory and as a
 * stream, with special tokens from the input, and must get the text back. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/bpe_trainer.h"
#include "tokenizer/encoder.h"
#include "tokenizer/pretokenizer.h"

static Tokenizer *learn(const uint8_t *text, size_t length, int64_t merges) {
    WordCounts counts;
    word_counts_init(&counts);
    const uint8_t *end = text + length;
    for (size_t n; text < end; text += n) {
        n = pretoken_length(text, end);
        word_counts_add(&counts, text, n, 1);
    }
    Tokenizer *tokenizer = bpe_start(NULL, 0, NULL);
    if (!bpe_learn(tokenizer, &counts, 256 + merges, NULL, NULL)) abort();
    word_counts_free(&counts);
    return tokenizer;
}

static void check_stream(const Tokenizer *tokenizer, const uint8_t *text, size_t length,
                         size_t piece, const uint32_t *ids, size_t count) {
    StreamEncoder *stream = stream_encoder_new(tokenizer);
    IdList list = {0};
    for (size_t at = 0, n; at < length; at += n) {
        n = piece < length - at ? piece : length - at;
        if (!stream_encoder_feed(stream, text + at, n, &list, NULL)) abort();
    }
    if (!stream_encoder_finish(stream, &list, NULL)) abort();
    if (list.count != count || (count && memcmp(list.ids, ids, count * sizeof *ids) != 0)) abort();
    free(list.ids);
    stream_encoder_free(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4) return 0;
    size_t merges = data[0], piece = 1 + data[1] % 16, special = data[2] % 8;
    data += 3;
    size -= 3;
    Tokenizer *tokenizer = learn(data, size / 2, (int64_t)merges);
    for (size_t at = 0; special && at + special < size && at < 3; at++) {
        char text[8] = {0};
        memcpy(text, data + size / 2 + at, special < size - size / 2 - at ? special : 0);
        tokenizer_add_special(tokenizer, text, NULL); /* may refuse it */
    }
    uint32_t *ids;
    size_t count, length;
    if (!tokenizer_encode(tokenizer, data, size, &ids, &count, NULL)) abort();
    uint8_t *back = tokenizer_decode(tokenizer, ids, count, &length, NULL);
    if (length != size || memcmp(back, data, size) != 0) abort();
    check_stream(tokenizer, data, size, piece, ids, count);
    free(back);
    free(ids);
    tokenizer_free(tokenizer);
    return 0;
}
