#include "formats/gguf/gguf.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/half.h"

enum { ALIGNMENT = 32 };

/* A growing byte buffer. */
typedef struct Bytes {
    uint8_t *data;
    size_t size, capacity;
} Bytes;

static void put(Bytes *bytes, const void *data, size_t size) {
    array_reserve(bytes->data, bytes->size, bytes->capacity, size);
    if (size > 0) memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void put_uint32(Bytes *bytes, uint32_t value) {
    put(bytes, &value, sizeof value);
}
static void put_uint64(Bytes *bytes, uint64_t value) {
    put(bytes, &value, sizeof value);
}

static void put_string(Bytes *bytes, const char *text, size_t length) {
    put_uint64(bytes, length);
    put(bytes, text, length);
}

typedef struct PendingTensor {
    uint32_t type;
    int64_t count;
    const real *data;
} PendingTensor;

struct GgufWriter {
    Bytes values, tensors; /* as they stand in the file */
    uint64_t value_count, tensor_count;
    PendingTensor *pending;
    uint64_t offset; /* of the next tensor's data */
};

GgufWriter *gguf_writer_new(void) {
    return allocate_zeroed(1, sizeof(GgufWriter));
}

void gguf_writer_free(GgufWriter *writer) {
    if (!writer) return;
    free(writer->values.data);
    free(writer->tensors.data);
    free(writer->pending);
    free(writer);
}

static void put_key(GgufWriter *writer, const char *key, GgufType type) {
    put_string(&writer->values, key, strlen(key));
    put_uint32(&writer->values, type);
    writer->value_count++;
}

void gguf_add_string(GgufWriter *writer, const char *key, const char *text) {
    put_key(writer, key, GGUF_STRING);
    put_string(&writer->values, text, strlen(text));
}

void gguf_add_uint32(GgufWriter *writer, const char *key, uint32_t value) {
    put_key(writer, key, GGUF_UINT32);
    put_uint32(&writer->values, value);
}

void gguf_add_float32(GgufWriter *writer, const char *key, float value) {
    put_key(writer, key, GGUF_FLOAT32);
    put(&writer->values, &value, sizeof value);
}

void gguf_add_bool(GgufWriter *writer, const char *key, bool value) {
    uint8_t byte = value;
    put_key(writer, key, GGUF_BOOL);
    put(&writer->values, &byte, 1);
}

void gguf_add_array(GgufWriter *writer, const char *key, GgufType element_type, int64_t count) {
    put_key(writer, key, GGUF_ARRAY);
    put_uint32(&writer->values, element_type);
    put_uint64(&writer->values, (uint64_t)count);
}

void gguf_array_string(GgufWriter *writer, const char *text, size_t length) {
    put_string(&writer->values, text, length);
}

void gguf_array_int32(GgufWriter *writer, int32_t value) {
    put(&writer->values, &value, sizeof value);
}

void gguf_array_float32(GgufWriter *writer, float value) {
    put(&writer->values, &value, sizeof value);
}

static size_t padding_after(uint64_t size) {
    return (size_t)(-size & (ALIGNMENT - 1));
}

void gguf_add_tensor(GgufWriter *writer, const char *name, uint32_t type, int rank,
                     const int64_t *shape, const real *data) {
    int64_t count = 1;
    put_string(&writer->tensors, name, strlen(name));
    put_uint32(&writer->tensors, (uint32_t)rank);
    for (int i = rank - 1; i >= 0; i--) {
        put_uint64(&writer->tensors, (uint64_t)shape[i]);
        count *= shape[i];
    }
    put_uint32(&writer->tensors, type);
    put_uint64(&writer->tensors, writer->offset);
    uint64_t bytes = (uint64_t)count * (type == NUMBER_F16 ? 2 : 4);
    writer->offset += bytes + padding_after(bytes);
    writer->pending =
        reallocate(writer->pending, writer->tensor_count + 1, sizeof *writer->pending);
    writer->pending[writer->tensor_count++] = (PendingTensor){type, count, data};
}

/* Converts and writes in pieces that stay in cache. */
static void write_numbers(const PendingTensor *tensor, FILE *stream) {
    enum { PART = 4096 };
    float floats[PART];
    uint16_t halves[PART];
    for (int64_t start = 0; start < tensor->count; start += PART) {
        size_t count = tensor->count - start < PART ? (size_t)(tensor->count - start) : PART;
        for (size_t i = 0; i < count; i++) floats[i] = (float)tensor->data[start + (int64_t)i];
        if (tensor->type == NUMBER_F32) {
            fwrite(floats, sizeof *floats, count, stream);
        } else {
            for (size_t i = 0; i < count; i++) halves[i] = half_from_float(floats[i]);
            fwrite(halves, sizeof *halves, count, stream);
        }
    }
}

bool gguf_write(const GgufWriter *writer, const char *path, Error *error) {
    static const uint8_t zeros[ALIGNMENT];
    FileWriter file;
    if (!file_writer_open(&file, path, error)) return false;
    Bytes header = {0};
    put(&header, "GGUF", 4);
    put_uint32(&header, 3);
    put_uint64(&header, writer->tensor_count);
    put_uint64(&header, writer->value_count);
    put(&header, writer->values.data, writer->values.size);
    put(&header, writer->tensors.data, writer->tensors.size);
    put(&header, zeros, padding_after(header.size));
    fwrite(header.data, 1, header.size, file.stream);
    free(header.data);
    for (uint64_t i = 0; i < writer->tensor_count; i++) {
        const PendingTensor *tensor = &writer->pending[i];
        write_numbers(tensor, file.stream);
        uint64_t bytes = (uint64_t)tensor->count * (tensor->type == NUMBER_F16 ? 2 : 4);
        fwrite(zeros, 1, padding_after(bytes), file.stream);
    }
    return file_writer_commit(&file, NULL, error);
}
