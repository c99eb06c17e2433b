/* GGUF, the file of llama.cpp: key/value pairs, then tensors, in one file.
 *
 * Layout, all little-endian: "GGUF", uint32 version, uint64 tensor count, uint64 pair count; the
 * pairs: key, uint32 type, value; the tensors: name, uint32 rank, uint64 dimensions (the fastest
 * first), uint32 type, uint64 offset; padding to general.alignment; the data. A string is a uint64
 * length and that many bytes, no NUL. An array is uint32 element type, uint64 count, the elements.
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
#ifndef TINYLM_FORMATS_GGUF_GGUF_H
#define TINYLM_FORMATS_GGUF_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"
#include "formats/stored_tensor.h"

typedef enum GgufType {
    GGUF_UINT8,
    GGUF_INT8,
    GGUF_UINT16,
    GGUF_INT16,
    GGUF_UINT32,
    GGUF_INT32,
    GGUF_FLOAT32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_UINT64,
    GGUF_INT64,
    GGUF_FLOAT64,
    GGUF_TYPE_COUNT
} GgufType;

/* Counted bytes inside the map, any bytes. */
typedef struct GgufString {
    const char *text;
    size_t length;
} GgufString;

typedef struct GgufValue {
    GgufString key;
    GgufType type;
    GgufType element_type; /* of an array */
    int64_t count;         /* of an array; else 1 */
    const uint8_t *data;   /* the value or the first element, at any alignment */
} GgufValue;

typedef struct Gguf {
    uint32_t version;
    GgufValue *values;
    int64_t value_count;
    StoredTensors tensors;
    MappedFile map;
} Gguf;

/* Maps a file of version 2 or 3 and checks every count, length, type and offset against its size
 * before use: no key or tensor twice, no tensor data that overlaps. Memory stays below a few times
 * the size of the file, whatever its counts say. Errors name the file and what is wrong in it. */
bool gguf_open(Gguf *file, const char *path, Error *error);
/* The same on bytes in memory, which must outlive `file`; `name` stands for the file. */
bool gguf_parse(Gguf *file, const void *data, size_t size, const char *name, Error *error);
void gguf_close(Gguf *file);

const GgufValue *gguf_value(const Gguf *file, const char *key); /* or NULL */

/* The value as this C type; false when it is of another kind or does not fit. gguf_number takes
 * integers too. `index` counts the elements of an array; it is 0 otherwise. */
bool gguf_integer(const GgufValue *value, int64_t index, int64_t *out);
bool gguf_number(const GgufValue *value, int64_t index, double *out);
bool gguf_boolean(const GgufValue *value, bool *out);
bool gguf_string(const GgufValue *value, GgufString *out);
/* Walks an array of strings: start with `cursor` = value->data, call it value->count times. */
GgufString gguf_next_string(const uint8_t **cursor);

/* The integer under a key, or the flag as 0 or 1; `fallback` when the key is absent, INT64_MIN when its
 * value is of another kind. */
int64_t gguf_whole(const Gguf *file, const char *key, int64_t fallback);
/* Whether there is a string under this key, and this one. */
bool gguf_is(const Gguf *file, const char *key, const char *text);
bool gguf_string_equal(GgufString string, const char *text);

/* ---- writing ---- */

/* Collects pairs and tensors, then writes a file of version 3 with alignment 32. Keys, names and
 * strings are copied; tensor data must live until gguf_write. */
typedef struct GgufWriter GgufWriter;

GgufWriter *gguf_writer_new(void);
void gguf_writer_free(GgufWriter *writer);
void gguf_add_string(GgufWriter *writer, const char *key, const char *text);
void gguf_add_uint32(GgufWriter *writer, const char *key, uint32_t value);
void gguf_add_float32(GgufWriter *writer, const char *key, float value);
void gguf_add_bool(GgufWriter *writer, const char *key, bool value);
/* Arrays: the elements follow by the calls below, exactly `count` of the announced type. */
void gguf_add_array(GgufWriter *writer, const char *key, GgufType element_type, int64_t count);
void gguf_array_string(GgufWriter *writer, const char *text, size_t length);
void gguf_array_int32(GgufWriter *writer, int32_t value);
void gguf_array_float32(GgufWriter *writer, float value);
/* `type` is F32 or F16 (rounded to nearest); shape slowest first; data real [product of shape]. */
void gguf_add_tensor(GgufWriter *writer, const char *name, NumberType type, int rank,
                     const int64_t *shape, const real *data);
/* Complete or not at all. The writer stays usable and must still be freed. */
bool gguf_write(const GgufWriter *writer, const char *path, Error *error);

#endif
