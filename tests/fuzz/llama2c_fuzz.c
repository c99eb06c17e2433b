/* Any bytes as a llama2.c model, and as the tokenizer of a model of 300 ids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/model_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void use_tokenizer(const uint8_t *data, size_t size) {
    Error error = {""};
    Llama2cTokenizer *pieces = llama2c_tokenizer_parse(data, size, 300, "x.bin", &error);
    if (!pieces) return;
    uint32_t *ids, previous = LLAMA2C_UNKNOWN;
    size_t count, length;
    llama2c_tokenizer_encode(pieces, data, size < 400 ? size : 400, &ids, &count);
    for (size_t i = 0; i < count; i++) {
        check(llama2c_tokenizer_bytes(pieces, previous, ids[i], &length) != NULL, "no such id");
        previous = ids[i];
    }
    free(ids);
    llama2c_tokenizer_free(pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ModelFile file = {0};
    Error error = {""};
    if (!llama2c_format.parse(&file, data, size, "x.bin", NULL, &error))
        check(error.message[0] && !strpbrk(error.message, "\r\n"), "not one line");
    model_file_free(&file);
    use_tokenizer(data, size);
    return 0;
}
