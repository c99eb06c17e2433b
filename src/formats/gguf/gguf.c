#include "formats/gguf/gguf.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIMENSIONS = 4, SMALLEST_PAIR = 13, SMALLEST_TENSOR = 32 }; /* bytes in the file */

/* Bytes of a value of fixed size. */
static const size_t VALUE_SIZE[GGUF_TYPE_COUNT] = {
    [GGUF_UINT8] = 1,  [GGUF_INT8] = 1,  [GGUF_UINT16] = 2,  [GGUF_INT16] = 2,
    [GGUF_UINT32] = 4, [GGUF_INT32] = 4, [GGUF_FLOAT32] = 4, [GGUF_BOOL] = 1,
    [GGUF_UINT64] = 8, [GGUF_INT64] = 8, [GGUF_FLOAT64] = 8,
};

/* ---- a place in the file, which never passes its end ---- */

typedef struct Cursor {
    const uint8_t *at, *end;
    const char *name; /* of the file */
    Error *error;
} Cursor;

static size_t remaining(const Cursor *cursor) {
    return (size_t)(cursor->end - cursor->at);
}

static bool take(Cursor *cursor, void *out, size_t size) {
    if (size > remaining(cursor)) return false;
    memcpy(out, cursor->at, size);
    cursor->at += size;
    return true;
}

static bool take_string(Cursor *cursor, GgufString *string) {
    uint64_t length;
    if (!take(cursor, &length, sizeof length) || length > remaining(cursor)) return false;
    *string = (GgufString){(const char *)cursor->at, (size_t)length};
    cursor->at += length;
    return true;
}

/* Fails with "file: …; it is cut short or damaged". */
static bool __attribute__((format(printf, 2, 3)))
damaged(const Cursor *cursor, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_set(cursor->error, "%s: %s; it is cut short or damaged", cursor->name, text);
}

/* The start of a name that came from a file, for a message. */
static int shown(GgufString string) {
    return string.length < 80 ? (int)string.length : 80;
}

/* ---- key/value pairs ---- */

/* Skips the value itself; false when it is damaged or runs past the end. */
static bool skip_value(Cursor *cursor, GgufValue *value) {
    uint32_t element_type = value->type;
    uint64_t count = 1;
    if (value->type == GGUF_ARRAY &&
        (!take(cursor, &element_type, sizeof element_type) || !take(cursor, &count, sizeof count)))
        return false;
    if (element_type >= GGUF_TYPE_COUNT || element_type == GGUF_ARRAY || count > remaining(cursor))
        return false;
    value->element_type = (GgufType)element_type;
    value->count = (int64_t)count;
    value->data = cursor->at;
    GgufString ignored;
    for (uint64_t i = 0; element_type == GGUF_STRING && i < count; i++)
        if (!take_string(cursor, &ignored)) return false;
    size_t bytes; /* 0 for strings */
    if (__builtin_mul_overflow(count, VALUE_SIZE[element_type], &bytes) ||
        bytes > remaining(cursor))
        return false;
    cursor->at += bytes;
    return true;
}

static int compare_values(const void *a, const void *b) {
    GgufString x = ((const GgufValue *)a)->key, y = ((const GgufValue *)b)->key;
    size_t common = x.length < y.length ? x.length : y.length;
    int order = common ? memcmp(x.text, y.text, common) : 0;
    return order ? order : (x.length > y.length) - (x.length < y.length);
}

static bool parse_values(Gguf *file, Cursor *cursor, uint64_t count) {
    if (count > remaining(cursor) / SMALLEST_PAIR)
        return damaged(cursor, "announces %llu key/value pairs, more than the file can hold",
                       (unsigned long long)count);
    file->values = allocate_zeroed(count, sizeof *file->values);
    for (uint64_t i = 0; i < count; i++, file->value_count++) {
        GgufValue *value = &file->values[i];
        uint32_t type;
        if (!take_string(cursor, &value->key) || !take(cursor, &type, sizeof type))
            return damaged(cursor, "ends inside its key/value pair %llu", (unsigned long long)i);
        value->type = (GgufType)type;
        if (type >= GGUF_TYPE_COUNT || !skip_value(cursor, value))
            return damaged(cursor, "the value of '%.*s' has an impossible type or length",
                           shown(value->key), value->key.text);
    }
    qsort(file->values, count, sizeof *file->values, compare_values);
    for (uint64_t i = 1; i < count; i++)
        if (compare_values(&file->values[i - 1], &file->values[i]) == 0)
            return damaged(cursor, "has the key '%.*s' twice", shown(file->values[i].key),
                           file->values[i].key.text);
    return true;
}

/* general.alignment, 32 where it is absent. */
static bool find_alignment(const Gguf *file, const Cursor *cursor, uint64_t *alignment) {
    const GgufValue *value = gguf_value(file, "general.alignment");
    int64_t given = 32;
    if (value && (value->type != GGUF_UINT32 || !gguf_integer(value, 0, &given))) given = 0;
    *alignment = (uint64_t)given;
    return (given > 0 && (given & (given - 1)) == 0) ||
           damaged(cursor, "its general.alignment is not a power of two");
}

/* ---- tensors ---- */

/* Reads one description. The offset is kept in `offset`, as the data's start is not known yet. */
static bool parse_tensor(StoredTensor *tensor, uint64_t *offset, Cursor *cursor) {
    uint32_t rank = 0, type = 0;
    GgufString name;
    bool whole = take_string(cursor, &name) && take(cursor, &rank, sizeof rank);
    if (!whole) return damaged(cursor, "ends inside its list of tensors");
    tensor->name = string_format("%.*s", (int)(name.length < 4096 ? name.length : 4096), name.text);
    if (strlen(tensor->name) != name.length)
        return damaged(cursor, "tensor '%.80s' has an impossible name", tensor->name);
    if (rank < 1 || rank > MOST_DIMENSIONS)
        return damaged(cursor, "tensor '%.80s' has %u dimensions; 1 to %d are possible",
                       tensor->name, rank, MOST_DIMENSIONS);
    tensor->rank = (int)rank;
    for (int i = tensor->rank - 1; i >= 0; i--) /* the fastest first */
        whole = whole && take(cursor, &tensor->shape[i], sizeof *tensor->shape);
    if (!whole || !take(cursor, &type, sizeof type) || !take(cursor, offset, sizeof *offset))
        return damaged(cursor, "ends inside its list of tensors");
    tensor->type = (NumberType)type;
    if (type >= NUMBER_GGUF_COUNT || !number_type_name(tensor->type))
        return damaged(cursor, "tensor '%.80s' has the unknown type %u", tensor->name, type);
    return stored_tensor_measure(tensor) ||
           damaged(cursor, "tensor '%.80s' has an impossible shape", tensor->name);
}

/* Turns offsets into pointers, and looks for overlaps. */
static bool place_tensors(StoredTensors *tensors, const uint64_t *offsets, const Cursor *data,
                          uint64_t alignment) {
    size_t size = remaining(data);
    for (int64_t i = 0; i < tensors->count; i++) {
        StoredTensor *tensor = &tensors->items[i];
        if (offsets[i] % alignment != 0)
            return damaged(data, "the data of tensor '%.80s' is not aligned to %llu bytes",
                           tensor->name, (unsigned long long)alignment);
        if (offsets[i] > size || tensor->bytes > size - offsets[i])
            return damaged(data,
                           "the data of tensor '%.80s' (%zu bytes at %llu) does not lie within the "
                           "%zu bytes of data",
                           tensor->name, tensor->bytes, (unsigned long long)offsets[i], size);
        tensor->data = data->at + offsets[i];
    }
    if (!stored_tensors_check(tensors, data->at, size, false, data->name, data->error))
        return false;
    const StoredTensor *twice = stored_tensors_sort(tensors);
    return !twice || damaged(data, "has two tensors named '%.80s'", twice->name);
}

static bool parse_tensors(Gguf *file, Cursor *cursor, uint64_t count, const uint8_t *start) {
    uint64_t alignment;
    StoredTensors *tensors = &file->tensors;
    if (!find_alignment(file, cursor, &alignment)) return false;
    if (count > remaining(cursor) / SMALLEST_TENSOR)
        return damaged(cursor, "announces %llu tensors, more than the file can hold",
                       (unsigned long long)count);
    tensors->items = allocate_zeroed(count, sizeof *tensors->items);
    uint64_t *offsets = allocate(count, sizeof *offsets);
    bool good = true;
    for (; good && tensors->count < (int64_t)count; tensors->count++)
        good = parse_tensor(&tensors->items[tensors->count], &offsets[tensors->count], cursor);
    size_t padding = -(size_t)(cursor->at - start) & (alignment - 1);
    if (padding > remaining(cursor)) padding = remaining(cursor); /* no data at all */
    cursor->at += padding;
    good = good && place_tensors(tensors, offsets, cursor, alignment);
    free(offsets);
    return good;
}

/* ---- files ---- */

bool gguf_parse(Gguf *file, const void *data, size_t size, const char *name, Error *error) {
    *file = (Gguf){0};
    const uint8_t *start = data;
    Cursor cursor = {start, start + size, name, error};
    uint64_t tensor_count, value_count;
    char magic[4];
    if (!take(&cursor, magic, sizeof magic) || memcmp(magic, "GGUF", 4) != 0)
        return error_set(error, "%s: is not a GGUF file", name);
    if (!take(&cursor, &file->version, sizeof file->version) ||
        !take(&cursor, &tensor_count, sizeof tensor_count) ||
        !take(&cursor, &value_count, sizeof value_count))
        return damaged(&cursor, "ends inside its header");
    if (file->version != 2 && file->version != 3) {
        bool swapped = file->version != 0 && (file->version & 0xffff) == 0;
        return error_set(error, "%s: is GGUF %s; versions 2 and 3, little-endian, are read", name,
                         swapped ? "for big-endian machines" : "of another version");
    }
    if (parse_values(file, &cursor, value_count) &&
        parse_tensors(file, &cursor, tensor_count, start))
        return true;
    gguf_close(file);
    return false;
}

bool gguf_open(Gguf *file, const char *path, Error *error) {
    MappedFile map;
    if (!file_map(&map, path, error)) return false;
    bool good = gguf_parse(file, map.data, map.size, path, error);
    if (good)
        file->map = map;
    else
        file_unmap(&map);
    return good;
}

void gguf_close(Gguf *file) {
    if (file->map.data) file_unmap(&file->map);
    free(file->values);
    stored_tensors_free(&file->tensors, true);
    *file = (Gguf){0};
}

/* ---- values ---- */

const GgufValue *gguf_value(const Gguf *file, const char *key) {
    GgufValue wanted = {.key = {key, strlen(key)}};
    return bsearch(&wanted, file->values, (size_t)file->value_count, sizeof wanted, compare_values);
}

bool gguf_integer(const GgufValue *value, int64_t index, int64_t *out) {
    GgufType type = value->element_type;
    bool is_signed =
        type == GGUF_INT8 || type == GGUF_INT16 || type == GGUF_INT32 || type == GGUF_INT64;
    if (type == GGUF_FLOAT32 || type == GGUF_FLOAT64 || type == GGUF_BOOL || type == GGUF_STRING)
        return false;
    size_t size = VALUE_SIZE[type];
    int unused = 64 - 8 * (int)size;
    uint64_t bits = 0;
    memcpy(&bits, value->data + (size_t)index * size, size);
    *out = is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return is_signed || *out >= 0;
}

bool gguf_number(const GgufValue *value, int64_t index, double *out) {
    const uint8_t *at = value->data + (size_t)index * VALUE_SIZE[value->element_type];
    int64_t integer;
    float single;
    if (value->element_type == GGUF_FLOAT64) return memcpy(out, at, sizeof *out) != NULL;
    bool is_single = value->element_type == GGUF_FLOAT32;
    if (is_single) memcpy(&single, at, sizeof single);
    if (!is_single && !gguf_integer(value, index, &integer)) return false;
    *out = is_single ? (double)single : (double)integer;
    return true;
}

bool gguf_boolean(const GgufValue *value, bool *out) {
    if (value->type != GGUF_BOOL) return false;
    *out = value->data[0] != 0;
    return true;
}

GgufString gguf_next_string(const uint8_t **cursor) {
    uint64_t length; /* was checked when the file was opened */
    memcpy(&length, *cursor, sizeof length);
    GgufString string = {(const char *)*cursor + sizeof length, (size_t)length};
    *cursor += sizeof length + length;
    return string;
}

bool gguf_string(const GgufValue *value, GgufString *out) {
    if (value->type != GGUF_STRING) return false;
    const uint8_t *cursor = value->data;
    *out = gguf_next_string(&cursor);
    return true;
}

bool gguf_string_equal(GgufString string, const char *text) {
    return string.length == strlen(text) && memcmp(string.text, text, string.length) == 0;
}

int64_t gguf_whole(const Gguf *file, const char *key, int64_t fallback) {
    const GgufValue *value = gguf_value(file, key);
    bool flag;
    if (!value) return fallback;
    if (gguf_boolean(value, &flag)) return flag;
    return value->type != GGUF_ARRAY && gguf_integer(value, 0, &fallback) ? fallback : INT64_MIN;
}

bool gguf_is(const Gguf *file, const char *key, const char *text) {
    const GgufValue *value = gguf_value(file, key);
    GgufString string;
    return value && gguf_string(value, &string) && gguf_string_equal(string, text);
}
