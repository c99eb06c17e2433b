/* Any bytes as a safetensors file: what is accepted must lie within the input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Safetensors file;
    Error error = {""};
    if (!safetensors_parse(&file, data, size, "x.safetensors", &error)) {
        check(error.message[0] && !strpbrk(error.message, "\r\n"), "not one line");
        return 0;
    }
    size_t bytes = 0;
    for (int64_t i = 0; i < file.tensors.count; i++) {
        const StoredTensor *tensor = &file.tensors.items[i];
        check(stored_tensors_find(&file.tensors, tensor->name) == tensor, "not found by its name");
        check((const uint8_t *)tensor->data >= data &&
                  (const uint8_t *)tensor->data + tensor->bytes <= data + size,
              "outside");
        bytes += tensor->bytes;
        real *numbers = allocate((size_t)tensor->count, sizeof *numbers);
        stored_tensor_to_real(tensor, numbers);
        free(numbers);
    }
    check(bytes < size, "more data than the file has");
    safetensors_metadata(&file, "k");
    safetensors_verify(&file, &error);
    safetensors_close(&file);
    return 0;
}
