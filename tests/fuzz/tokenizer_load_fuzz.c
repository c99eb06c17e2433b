/* Loading of every tokenizer format. The first byte chooses it; what loads must encode and decode. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/tokenizer_kind.h"

static FileText part(const char **text, const char *end) {
    const char *start = *text, *stop = memchr(start, 0x1F, (size_t)(end - start));
    if (!stop) stop = end;
    *text = stop < end ? stop + 1 : end;
    char *copy = malloc((size_t)(stop - start) + 1); /* as file_read gives it: a NUL at the end */
    memcpy(copy, start, (size_t)(stop - start));
    copy[stop - start] = '\0';
    return (FileText){"file", copy, (size_t)(stop - start)};
}

/* Everything that encodes must come back; a vocabulary may lack bytes. */
static void use(const Tokenizer *tokenizer, const uint8_t *text, size_t length) {
    uint32_t *ids;
    size_t count, back_length;
    if (!tokenizer_encode(tokenizer, text, length, &ids, &count, NULL)) return;
    uint8_t *back = tokenizer_decode(tokenizer, ids, count, &back_length, NULL);
    if (!back || back_length != length || memcmp(back, text, length) != 0) abort();
    free(back);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    const char *text = (const char *)data + 1, *end = (const char *)data + size;
    FileText files[3] = {part(&text, end), part(&text, end), part(&text, end)};
    Error error;
    Tokenizer *tokenizer;
    if (data[0] % 3 == 0) {
        if (data[0] & 4) {
            free((char *)(uintptr_t)files[2].text);
            files[2].text = NULL;
        }
        tokenizer = tokenizer_read_gpt2(files, &error);
    } else if (data[0] % 3 == 1) {
        tokenizer = tokenizer_read_huggingface(files, &error);
    } else {
        tokenizer = tokenizer_read_tiktoken(files, &error);
    }
    if (tokenizer) {
        use(tokenizer, data, size);
        use(tokenizer, (const uint8_t *)"abc abc ab", 10);
        tokenizer_fingerprint(tokenizer);
    }
    tokenizer_free(tokenizer);
    for (int i = 0; i < 3; i++) free((char *)(uintptr_t)files[i].text);
    return 0;
}
