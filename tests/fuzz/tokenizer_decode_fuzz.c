/* Decoding: tokens of any bytes through the streaming decoder. What comes out is valid UTF-8, and the
 * same however the bytes are divided into tokens. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/decoder.h"
#include "tokenizer/unicode.h"

typedef struct Output {
    uint8_t *bytes;
    size_t length;
} Output;

static void append(Output *output, const uint8_t *text, size_t length) {
    memcpy(output->bytes + output->length, text, length);
    output->length += length;
}

/* Decodes in tokens whose lengths the bytes themselves decide (or one byte each). */
static Output decode(const uint8_t *data, size_t size, bool one_by_one) {
    Output output = {malloc(3 * size + 3), 0};
    Decoder decoder;
    decoder_init(&decoder, NULL);
    size_t length;
    for (size_t at = 0, n; at < size; at += n) {
        n = one_by_one ? 1 : data[at] % 7;
        if (n == 0) { /* an empty token too */
            append(&output, decoder_add_bytes(&decoder, data, 0, &length), 0);
            n = 1;
        }
        if (n > size - at) n = size - at;
        const uint8_t *text = decoder_add_bytes(&decoder, data + at, n, &length);
        append(&output, text, length);
    }
    const uint8_t *text = decoder_finish(&decoder, &length);
    append(&output, text, length);
    decoder_free(&decoder);
    return output;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Output a = decode(data, size, false), b = decode(data, size, true);
    if (a.length != b.length || memcmp(a.bytes, b.bytes, a.length) != 0) abort();
    const uint8_t *text = a.bytes, *end = text + a.length;
    while (text < end) {
        uint32_t character;
        text += unicode_decode(text, end, &character);
        if (character == UNICODE_INVALID) abort();
    }
    free(a.bytes);
    free(b.bytes);
    return 0;
}
