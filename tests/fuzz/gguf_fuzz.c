/* Any bytes as a GGUF file, as a list of tensors and as a model with its tokenizer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/gguf.h"
#include "formats/model_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void use_tokenizer(const ModelTokenizer *tokenizer) {
    static const char text[] = "Once upon a time, the \xc3\xa9 1234 \xff";
    uint32_t *ids, previous = TOKEN_NONE;
    size_t count, length;
    Error error;
    if (!model_tokenizer_present(tokenizer)) return;
    if (model_tokenizer_encode(tokenizer, (const uint8_t *)text, sizeof text - 1, &ids, &count,
                               &error)) {
        for (size_t i = 0; i < count; i++) {
            check(ids[i] < model_tokenizer_size(tokenizer), "an id that does not exist");
            model_tokenizer_bytes(tokenizer, previous, ids[i], &length);
            previous = ids[i];
        }
        free(ids);
    }
    check(!model_tokenizer_bytes(tokenizer, 0, (uint32_t)model_tokenizer_size(tokenizer), &length),
          "a token after the last");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Gguf gguf;
    ModelFile file = {0};
    Error error = {""};
    if (!gguf_parse(&gguf, data, size, "x.gguf", &error)) {
        check(error.message[0] && !strpbrk(error.message, "\r\n"), "not one line");
        return 0;
    }
    for (int64_t i = 0; i < gguf.tensors.count; i++) {
        const StoredTensor *tensor = &gguf.tensors.items[i];
        check((const uint8_t *)tensor->data >= data &&
                  (const uint8_t *)tensor->data + tensor->bytes <= data + size,
              "outside");
    }
    gguf_close(&gguf);
    gguf_format.parse(&file, data, size, "x.gguf", NULL, &error);
    use_tokenizer(&file.tokenizer);
    model_file_free(&file);
    return 0;
}
