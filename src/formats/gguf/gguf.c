#include "formats/gguf/gguf.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a value of fixed size. */
static const size_t VALUE_SIZE[GGUF_TYPE_COUNT] = {
    [GGUF_UINT8] = 1,  [GGUF_INT8] = 1,  [GGUF_UINT16] = 2,  [GGUF_INT16] = 2,
    [GGUF_UINT32] = 4, [GGUF_INT32] = 4, [GGUF_FLOAT32] = 4, [GGUF_BOOL] = 1,
    [GGUF_UINT64] = 8, [GGUF_INT64] = 8, [GGUF_FLOAT64] = 8,
};

enum { MOST_DIMENSIONS = 4 };

/* ---- a cursor that never passes the end ---- */

typedef struct Cursor {
    const uint8_t *at, *end;
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

/* The start of a name that came from a file, for a message. */
static int shown(GgufString string) {
    return string.length < 80 ? (int)string.length : 80;
}

bool gguf_string_equal(GgufString string, const char *text) {
    return string.length == strlen(text) && memcmp(string.text, text, string.length) == 0;
}

static int compare_strings(GgufString a, GgufString b) {
    size_t common = a.length < b.length ? a.length : b.length;
    int order = common ? memcmp(a.text, b.text, common) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

/* ---- key/value pairs ---- */

/* Skips the value itself; false when it is damaged or runs past the end. */
static bool skip_value(Cursor *cursor, GgufValue *value) {
    value->count = 1;
    if (value->type == GGUF_ARRAY) {
        uint32_t element_type;
        uint64_t count;
        if (!take(cursor, &element_type, sizeof element_type) ||
            !take(cursor, &count, sizeof count) || element_type >= GGUF_TYPE_COUNT ||
            element_type == GGUF_ARRAY || count > remaining(cursor))
            return false;
        value->element_type = (GgufType)element_type;
        value->count = (int64_t)count;
    } else {
        value->element_type = value->type;
    }
    value->data = cursor->at;
    if (value->element_type == GGUF_STRING) {
        GgufString ignored;
        for (int64_t i = 0; i < value->count; i++)
            if (!take_string(cursor, &ignored)) return false;
        return true;
    }
    size_t bytes;
    if (__builtin_mul_overflow((size_t)value->count, VALUE_SIZE[value->element_type], &bytes) ||
        bytes > remaining(cursor))
        return false;
    cursor->at += bytes;
    return true;
}

static int compare_values(const void *a, const void *b) {
    return compare_strings(((const GgufValue *)a)->key, ((const GgufValue *)b)->key);
}

static bool parse_values(Gguf *file, Cursor *cursor, uint64_t count, const char *name,
                         Error *error) {
    /* a pair takes at least 13 bytes: an impossible count ends here, before memory is asked for */
    if (count > remaining(cursor) / 13)
        return error_set(error, "%s: announces %llu key/value pairs, more than the file can hold",
                         name, (unsigned long long)count);
    file->values = allocate(count, sizeof *file->values);
    for (uint64_t i = 0; i < count; i++) {
        GgufValue *value = &file->values[i];
        uint32_t type;
        *value = (GgufValue){0};
        if (!take_string(cursor, &value->key) || !take(cursor, &type, sizeof type))
            return error_set(error,
                             "%s: ends inside its key/value pair %llu; it is cut short or "
                             "damaged",
                             name, (unsigned long long)i);
        value->type = (GgufType)type;
        if (type >= GGUF_TYPE_COUNT || !skip_value(cursor, value))
            return error_set(error,
                             "%s: the value of '%.*s' has an impossible type or length; the "
                             "file is damaged",
                             name, shown(value->key), value->key.text);
        file->value_count++;
    }
    qsort(file->values, (size_t)file->value_count, sizeof *file->values, compare_values);
    for (int64_t i = 1; i < file->value_count; i++)
        if (compare_values(&file->values[i - 1], &file->values[i]) == 0)
            return error_set(error, "%s: has the key '%.*s' twice; the file is damaged", name,
                             shown(file->values[i].key), file->values[i].key.text);
    return true;
}

/* general.alignment, 32 where it is absent. */
static bool find_alignment(const Gguf *file, size_t *alignment, const char *name, Error *error) {
    const GgufValue *value = gguf_value(file, "general.alignment");
    *alignment = 32;
    if (!value) return true;
    int64_t given;
    if (value->type != GGUF_UINT32 || !gguf_integer(value, 0, &given) || given == 0 ||
        (given & (given - 1)) != 0)
        return error_set(
            error, "%s: its general.alignment is not a power of two; the file is damaged", name);
    *alignment = (size_t)given;
    return true;
}

/* ---- tensors ---- */

static bool ends_inside(const char *name, Error *error) {
    return error_set(error, "%s: ends inside its list of tensors; it is cut short or damaged",
                     name);
}

/* Reads one description. The offset is kept in `offset`, as the data's start is not known yet. */
static bool parse_tensor(StoredTensor *tensor, uint64_t *offset, Cursor *cursor, const char *name,
                         Error *error) {
    uint32_t rank, type;
    GgufString text;
    if (!take_string(cursor, &text) || !take(cursor, &rank, sizeof rank))
        return ends_inside(name, error);
    if (text.length > 0 && memchr(text.text, '\0', text.length))
        return error_set(error, "%s: a tensor's name has a NUL inside; the file is damaged", name);
    tensor->name =
        string_format("%.*s", (int)(text.length < INT32_MAX ? text.length : INT32_MAX), text.text);
    if (rank < 1 || rank > MOST_DIMENSIONS)
        return error_set(error, "%s: tensor '%.80s' has %u dimensions; 1 to %d are possible", name,
                         tensor->name, rank, MOST_DIMENSIONS);
    tensor->rank = (int)rank;
    for (int i = tensor->rank - 1; i >= 0; i--) /* the fastest first */
        if (!take(cursor, &tensor->shape[i], sizeof *tensor->shape))
            return ends_inside(name, error);
    if (!take(cursor, &type, sizeof type) || !take(cursor, offset, sizeof *offset))
        return ends_inside(name, error);
    tensor->type = (NumberType)type;
    if (type >= NUMBER_GGUF_COUNT || !number_type_name(tensor->type))
        return error_set(error, "%s: tensor '%.80s' has the unknown type %u", name, tensor->name,
                         type);
    return stored_tensor_measure(tensor) ||
           error_set(error, "%s: tensor '%.80s' has an impossible shape; the file is damaged", name,
                     tensor->name);
}

/* Turns offsets into pointers, and looks for overlaps. */
static bool place_tensors(StoredTensors *tensors, const uint64_t *offsets, const Cursor *data,
                          size_t alignment, const char *name, Error *error) {
    size_t size = remaining(data);
    for (int64_t i = 0; i < tensors->count; i++) {
        StoredTensor *tensor = &tensors->items[i];
        if (offsets[i] % alignment != 0)
            return error_set(error,
                             "%s: the data of tensor '%.80s' is not aligned to %zu bytes; the "
                             "file is damaged",
                             name, tensor->name, alignment);
        if (offsets[i] > size || tensor->bytes > size - offsets[i])
            return error_set(error,
                             "%s: the data of tensor '%.80s' (%zu bytes at %llu) does not lie "
                             "within the %zu bytes of data; the file is cut short or damaged",
                             name, tensor->name, tensor->bytes, (unsigned long long)offsets[i],
                             size);
        tensor->data = data->at + offsets[i];
    }
    if (!stored_tensors_check(tensors, data->at, size, false, name, error)) return false;
    const StoredTensor *twice = stored_tensors_sort(tensors);
    return !twice || error_set(error, "%s: has two tensors named '%.80s'; the file is damaged",
                               name, twice->name);
}

static bool parse_tensors(Gguf *file, Cursor *cursor, uint64_t count, const uint8_t *start,
                          const char *name, Error *error) {
    size_t alignment;
    if (!find_alignment(file, &alignment, name, error)) return false;
    if (count > remaining(cursor) / 32) /* a tensor's description takes at least 32 bytes */
        return error_set(error, "%s: announces %llu tensors, more than the file can hold", name,
                         (unsigned long long)count);
    StoredTensors *tensors = &file->tensors;
    tensors->items = allocate_zeroed(count, sizeof *tensors->items);
    uint64_t *offsets = allocate(count, sizeof *offsets);
    bool good = true;
    for (uint64_t i = 0; i < count && good; i++, tensors->count++)
        good = parse_tensor(&tensors->items[i], &offsets[i], cursor, name, error);
    if (good) {
        size_t used = (size_t)(cursor->at - start), padding = -used & (alignment - 1);
        if (padding > remaining(cursor)) padding = remaining(cursor); /* no data at all */
        cursor->at += padding;
        good = place_tensors(tensors, offsets, cursor, alignment, name, error);
    }
    free(offsets);
    return good;
}

/* ---- files ---- */

bool gguf_parse(Gguf *file, const void *data, size_t size, const char *name, Error *error) {
    *file = (Gguf){0};
    const uint8_t *start = data;
    Cursor cursor = {start, start + size};
    uint64_t tensor_count, value_count;
    char magic[4];
    if (!take(&cursor, magic, sizeof magic) || memcmp(magic, "GGUF", 4) != 0)
        return error_set(error, "%s: is not a GGUF file", name);
    if (!take(&cursor, &file->version, sizeof file->version) ||
        !take(&cursor, &tensor_count, sizeof tensor_count) ||
        !take(&cursor, &value_count, sizeof value_count))
        return error_set(error, "%s: ends inside its header", name);
    if (file->version != 2 && file->version != 3) {
        bool swapped = file->version != 0 && (file->version & 0xffff) == 0;
        return error_set(error, "%s: is GGUF %s; versions 2 and 3, little-endian, are read", name,
                         swapped ? "for big-endian machines" : "of another version");
    }
    if (parse_values(file, &cursor, value_count, name, error) &&
        parse_tensors(file, &cursor, tensor_count, start, name, error))
        return true;
    gguf_close(file);
    return false;
}

bool gguf_open(Gguf *file, const char *path, Error *error) {
    MappedFile map;
    if (!file_map(&map, path, error)) return false;
    if (!gguf_parse(file, map.data, map.size, path, error)) {
        file_unmap(&map);
        return false;
    }
    file->map = map;
    return true;
}

void gguf_close(Gguf *file) {
    if (file->map.data) file_unmap(&file->map);
    free(file->values);
    stored_tensors_free(&file->tensors, true);
    *file = (Gguf){0};
}

const GgufValue *gguf_value(const Gguf *file, const char *key) {
    GgufValue wanted = {.key = {key, strlen(key)}};
    return bsearch(&wanted, file->values, (size_t)file->value_count, sizeof wanted, compare_values);
}

/* ---- values ---- */

/* An integer of `size` bytes, sign-extended or not. */
static int64_t read_integer(const uint8_t *at, size_t size, bool is_signed) {
    uint64_t bits = 0;
    memcpy(&bits, at, size);
    int unused = 64 - 8 * (int)size;
    return is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

bool gguf_integer(const GgufValue *value, int64_t index, int64_t *out) {
    static const bool is_signed[GGUF_TYPE_COUNT] = {
        [GGUF_INT8] = true, [GGUF_INT16] = true, [GGUF_INT32] = true, [GGUF_INT64] = true};
    GgufType type = value->element_type;
    if (type == GGUF_FLOAT32 || type == GGUF_FLOAT64 || type == GGUF_BOOL || type == GGUF_STRING)
        return false;
    size_t size = VALUE_SIZE[type];
    *out = read_integer(value->data + (size_t)index * size, size, is_signed[type]);
    return is_signed[type] || *out >= 0;
}

bool gguf_number(const GgufValue *value, int64_t index, double *out) {
    float single;
    int64_t integer;
    switch (value->element_type) {
    case GGUF_FLOAT32:
        memcpy(&single, value->data + (size_t)index * sizeof single, sizeof single);
        *out = single;
        return true;
    case GGUF_FLOAT64:
        memcpy(out, value->data + (size_t)index * sizeof *out, sizeof *out);
        return true;
    default:
        if (!gguf_integer(value, index, &integer)) return false;
        *out = (double)integer;
        return true;
    }
}

bool gguf_boolean(const GgufValue *value, bool *out) {
    if (value->type != GGUF_BOOL) return false;
    *out = value->data[0] != 0;
    return true;
}

bool gguf_string(const GgufValue *value, GgufString *out) {
    if (value->type != GGUF_STRING) return false;
    const uint8_t *cursor = value->data;
    *out = gguf_next_string(&cursor);
    return true;
}

GgufString gguf_next_string(const uint8_t **cursor) {
    uint64_t length; /* was checked when the file was opened */
    memcpy(&length, *cursor, sizeof length);
    GgufString string = {(const char *)*cursor + sizeof length, (size_t)length};
    *cursor += sizeof length + length;
    return string;
}

bool gguf_is(const Gguf *file, const char *key, const char *text) {
    const GgufValue *value = gguf_value(file, key);
    GgufString string;
    return value && gguf_string(value, &string) && gguf_string_equal(string, text);
}
