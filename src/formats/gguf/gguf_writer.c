#include "formats/gguf/gguf.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 32 };

struct GgufWriter {
    FILE *values; /* into `bytes`: the pairs as they stand in the file */
    char *bytes;
    size_t size;
    uint64_t value_count;
    StoredTensors tensors; /* of type F32 or F16; the data are real */
};

GgufWriter *gguf_writer_new(void) {
    GgufWriter *writer = allocate_zeroed(1, sizeof *writer);
    writer->values = open_memstream(&writer->bytes, &writer->size);
    if (!writer->values) out_of_memory(1, sizeof *writer);
    return writer;
}

void gguf_writer_free(GgufWriter *writer) {
    if (!writer) return;
    fclose(writer->values);
    free(writer->bytes);
    stored_tensors_free(&writer->tensors, true);
    free(writer);
}

/* ---- pairs ---- */

static void put_uint32(FILE *stream, uint32_t value) {
    fwrite(&value, sizeof value, 1, stream);
}
static void put_uint64(FILE *stream, uint64_t value) {
    fwrite(&value, sizeof value, 1, stream);
}
static void put_string(FILE *stream, const char *text, size_t length) {
    put_uint64(stream, length);
    fwrite(text, 1, length, stream);
}

static void put_key(GgufWriter *writer, const char *key, GgufType type) {
    put_string(writer->values, key, strlen(key));
    put_uint32(writer->values, type);
    writer->value_count++;
}

void gguf_add_string(GgufWriter *writer, const char *key, const char *text) {
    put_key(writer, key, GGUF_STRING);
    put_string(writer->values, text, strlen(text));
}

void gguf_add_uint32(GgufWriter *writer, const char *key, uint32_t value) {
    put_key(writer, key, GGUF_UINT32);
    put_uint32(writer->values, value);
}

void gguf_add_float32(GgufWriter *writer, const char *key, float value) {
    put_key(writer, key, GGUF_FLOAT32);
    gguf_array_float32(writer, value);
}

void gguf_add_bool(GgufWriter *writer, const char *key, bool value) {
    put_key(writer, key, GGUF_BOOL);
    fputc(value, writer->values);
}

void gguf_add_array(GgufWriter *writer, const char *key, GgufType element_type, int64_t count) {
    put_key(writer, key, GGUF_ARRAY);
    put_uint32(writer->values, element_type);
    put_uint64(writer->values, (uint64_t)count);
}

void gguf_array_string(GgufWriter *writer, const char *text, size_t length) {
    put_string(writer->values, text, length);
}

void gguf_array_int32(GgufWriter *writer, int32_t value) {
    fwrite(&value, sizeof value, 1, writer->values);
}

void gguf_array_float32(GgufWriter *writer, float value) {
    fwrite(&value, sizeof value, 1, writer->values);
}

/* ---- tensors and the file ---- */

void gguf_add_tensor(GgufWriter *writer, const char *name, NumberType type, int rank,
                     const int64_t *shape, const real *data) {
    StoredTensor tensor = {.type = type, .rank = rank, .data = data};
    memcpy(tensor.shape, shape, (size_t)rank * sizeof *shape);
    stored_tensor_measure(&tensor);
    stored_tensors_add(&writer->tensors, name, tensor);
}

static size_t padding_after(uint64_t size) {
    return (size_t)(-size & (ALIGNMENT - 1));
}

static void pad(FILE *stream, uint64_t size) {
    static const uint8_t zeros[ALIGNMENT];
    fwrite(zeros, 1, padding_after(size), stream);
}

bool gguf_write(const GgufWriter *writer, const char *path, Error *error) {
    FileWriter file;
    if (!file_writer_open(&file, path, error)) return false;
    FILE *stream = file.stream;
    fflush(writer->values);
    fwrite("GGUF", 1, 4, stream);
    put_uint32(stream, 3);
    put_uint64(stream, (uint64_t)writer->tensors.count);
    put_uint64(stream, writer->value_count);
    fwrite(writer->bytes, 1, writer->size, stream);
    uint64_t size = 24 + writer->size, offset = 0;
    for (int64_t i = 0; i < writer->tensors.count; i++) {
        const StoredTensor *tensor = &writer->tensors.items[i];
        put_string(stream, tensor->name, strlen(tensor->name));
        put_uint32(stream, (uint32_t)tensor->rank);
        for (int d = tensor->rank - 1; d >= 0; d--) put_uint64(stream, (uint64_t)tensor->shape[d]);
        put_uint32(stream, tensor->type);
        put_uint64(stream, offset);
        offset += tensor->bytes + padding_after(tensor->bytes);
        size += 24 + strlen(tensor->name) + 8 * (size_t)tensor->rank;
    }
    pad(stream, size);
    for (int64_t i = 0; i < writer->tensors.count; i++) {
        const StoredTensor *tensor = &writer->tensors.items[i];
        write_reals(stream, tensor->type, tensor->data, tensor->count);
        pad(stream, tensor->bytes);
    }
    return file_writer_commit(&file, NULL, error);
}
