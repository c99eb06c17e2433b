#include "formats/gguf/gguf.h"

#include <stdlib.h>
#include <string.h>

#include "formats/half.h"

/* Bytes of a value of fixed size. */
static const size_t VALUE_SIZE[GGUF_TYPE_COUNT] = {
    [GGUF_UINT8] = 1,  [GGUF_INT8] = 1,  [GGUF_UINT16] = 2,  [GGUF_INT16] = 2,
    [GGUF_UINT32] = 4, [GGUF_INT32] = 4, [GGUF_FLOAT32] = 4, [GGUF_BOOL] = 1,
    [GGUF_UINT64] = 8, [GGUF_INT64] = 8, [GGUF_FLOAT64] = 8,
};

/* Tensor types: quantised ones come in blocks of some elements. They are known by name and size so
 * that such a file can be listed, though not run. */
static const struct {
    const char *name;
    int elements, bytes;
} TENSOR_TYPES[] = {
    [0] = {"F32", 1, 4},       [1] = {"F16", 1, 2},       [2] = {"Q4_0", 32, 18},
    [3] = {"Q4_1", 32, 20},    [6] = {"Q5_0", 32, 22},    [7] = {"Q5_1", 32, 24},
    [8] = {"Q8_0", 32, 34},    [9] = {"Q8_1", 32, 36},    [10] = {"Q2_K", 256, 84},
    [11] = {"Q3_K", 256, 110}, [12] = {"Q4_K", 256, 144}, [13] = {"Q5_K", 256, 176},
    [14] = {"Q6_K", 256, 210}, [15] = {"Q8_K", 256, 292}, [24] = {"I8", 1, 1},
    [25] = {"I16", 1, 2},      [26] = {"I32", 1, 4},      [27] = {"I64", 1, 8},
    [28] = {"F64", 1, 8},      [30] = {"BF16", 1, 2},
};

static bool tensor_type_known(uint32_t type) {
    return type < sizeof TENSOR_TYPES / sizeof *TENSOR_TYPES && TENSOR_TYPES[type].name;
}

const char *gguf_tensor_type_name(uint32_t type) {
    return tensor_type_known(type) ? TENSOR_TYPES[type].name : "?";
}

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

/* Reads one description. The offset is kept in `offset`, as the data's start is not known yet. */
static bool parse_tensor(GgufTensor *tensor, uint64_t *offset, Cursor *cursor, const char *name,
                         Error *error) {
    uint32_t rank;
    *tensor = (GgufTensor){.count = 1};
    if (!take_string(cursor, &tensor->name) || !take(cursor, &rank, sizeof rank))
        return error_set(error, "%s: ends inside its list of tensors; it is cut short or damaged",
                         name);
    int shown_length = shown(tensor->name);
    const char *shown_text = tensor->name.text;
    if (rank < 1 || rank > GGUF_MAX_RANK)
        return error_set(error, "%s: tensor '%.*s' has %u dimensions; 1 to %d are possible", name,
                         shown_length, shown_text, rank, GGUF_MAX_RANK);
    tensor->rank = (int)rank;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        uint64_t length;
        if (!take(cursor, &length, sizeof length))
            return error_set(error, "%s: ends inside its list of tensors", name);
        if (length > INT64_MAX ||
            __builtin_mul_overflow(tensor->count, (int64_t)length, &tensor->count))
            return error_set(error,
                             "%s: tensor '%.*s' has an impossible shape; the file is damaged", name,
                             shown_length, shown_text);
        tensor->shape[i] = (int64_t)length;
    }
    if (!take(cursor, &tensor->type, sizeof tensor->type) || !take(cursor, offset, sizeof *offset))
        return error_set(error, "%s: ends inside its list of tensors", name);
    if (!tensor_type_known(tensor->type))
        return error_set(error, "%s: tensor '%.*s' has the unknown type %u", name, shown_length,
                         shown_text, tensor->type);
    int64_t block = TENSOR_TYPES[tensor->type].elements, bytes;
    if (tensor->shape[tensor->rank - 1] % block != 0 ||
        __builtin_mul_overflow(tensor->count / block, (int64_t)TENSOR_TYPES[tensor->type].bytes,
                               &bytes))
        return error_set(error, "%s: tensor '%.*s' has an impossible shape; the file is damaged",
                         name, shown_length, shown_text);
    tensor->bytes = (size_t)bytes;
    return true;
}

static int compare_tensors(const void *a, const void *b) {
    return compare_strings(((const GgufTensor *)a)->name, ((const GgufTensor *)b)->name);
}

static int compare_places(const void *a, const void *b) {
    const GgufTensor *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Turns offsets into pointers, and looks for overlaps. Leaves the tensors sorted by name. */
static bool place_tensors(Gguf *file, const uint64_t *offsets, const uint8_t *data, size_t size,
                          size_t alignment, const char *name, Error *error) {
    GgufTensor *tensors = file->tensors;
    for (int64_t i = 0; i < file->tensor_count; i++) {
        if (offsets[i] % alignment != 0)
            return error_set(error,
                             "%s: the data of tensor '%.*s' is not aligned to %zu bytes; the "
                             "file is damaged",
                             name, shown(tensors[i].name), tensors[i].name.text, alignment);
        if (offsets[i] > size || tensors[i].bytes > size - offsets[i])
            return error_set(error,
                             "%s: the data of tensor '%.*s' (%zu bytes at %llu) does not lie "
                             "within the %zu bytes of data; the file is cut short or damaged",
                             name, shown(tensors[i].name), tensors[i].name.text, tensors[i].bytes,
                             (unsigned long long)offsets[i], size);
        tensors[i].data = data + offsets[i];
    }
    qsort(tensors, (size_t)file->tensor_count, sizeof *tensors, compare_places);
    for (int64_t i = 1; i < file->tensor_count; i++)
        if (tensors[i].data < tensors[i - 1].data + tensors[i - 1].bytes)
            return error_set(error,
                             "%s: the data of tensor '%.*s' overlaps another tensor's; the "
                             "file is damaged",
                             name, shown(tensors[i].name), tensors[i].name.text);
    qsort(tensors, (size_t)file->tensor_count, sizeof *tensors, compare_tensors);
    for (int64_t i = 1; i < file->tensor_count; i++)
        if (compare_tensors(&tensors[i - 1], &tensors[i]) == 0)
            return error_set(error, "%s: has two tensors named '%.*s'; the file is damaged", name,
                             shown(tensors[i].name), tensors[i].name.text);
    return true;
}

static bool parse_tensors(Gguf *file, Cursor *cursor, uint64_t count, const uint8_t *start,
                          const char *name, Error *error) {
    size_t alignment;
    if (!find_alignment(file, &alignment, name, error)) return false;
    if (count > remaining(cursor) / 32) /* a tensor's description takes at least 32 bytes */
        return error_set(error, "%s: announces %llu tensors, more than the file can hold", name,
                         (unsigned long long)count);
    file->tensors = allocate(count, sizeof *file->tensors);
    uint64_t *offsets = allocate(count, sizeof *offsets);
    bool good = true;
    for (uint64_t i = 0; i < count && good; i++)
        good = parse_tensor(&file->tensors[i], &offsets[i], cursor, name, error);
    if (good) {
        file->tensor_count = (int64_t)count;
        size_t used = (size_t)(cursor->at - start), padding = -used & (alignment - 1);
        if (padding > remaining(cursor)) padding = remaining(cursor); /* no data at all */
        cursor->at += padding;
        good = place_tensors(file, offsets, cursor->at, remaining(cursor), alignment, name, error);
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
    free(file->tensors);
    *file = (Gguf){0};
}

const GgufValue *gguf_value(const Gguf *file, const char *key) {
    GgufValue wanted = {.key = {key, strlen(key)}};
    return bsearch(&wanted, file->values, (size_t)file->value_count, sizeof wanted, compare_values);
}

const GgufTensor *gguf_tensor(const Gguf *file, const char *name) {
    GgufTensor wanted = {.name = {name, strlen(name)}};
    return bsearch(&wanted, file->tensors, (size_t)file->tensor_count, sizeof wanted,
                   compare_tensors);
}

/* ---- values ---- */

#define READ(type)                                                                                 \
    (*(type *)memcpy(&(type){0}, value->data + (size_t)index * sizeof(type), sizeof(type)))

bool gguf_integer(const GgufValue *value, int64_t index, int64_t *out) {
    switch (value->element_type) {
    case GGUF_UINT8:
        *out = READ(uint8_t);
        return true;
    case GGUF_INT8:
        *out = READ(int8_t);
        return true;
    case GGUF_UINT16:
        *out = READ(uint16_t);
        return true;
    case GGUF_INT16:
        *out = READ(int16_t);
        return true;
    case GGUF_UINT32:
        *out = READ(uint32_t);
        return true;
    case GGUF_INT32:
        *out = READ(int32_t);
        return true;
    case GGUF_INT64:
        *out = READ(int64_t);
        return true;
    case GGUF_UINT64:
        *out = READ(int64_t);
        return *out >= 0;
    default:
        return false;
    }
}

bool gguf_number(const GgufValue *value, int64_t index, double *out) {
    int64_t integer;
    if (value->element_type == GGUF_FLOAT32) {
        *out = READ(float);
    } else if (value->element_type == GGUF_FLOAT64) {
        *out = READ(double);
    } else {
        if (!gguf_integer(value, index, &integer)) return false;
        *out = (double)integer;
    }
    return true;
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

bool gguf_to_real(const GgufTensor *tensor, real *out) {
    switch (tensor->type) {
    case GGUF_TENSOR_F32:
        reals_from_float32(out, tensor->data, tensor->count);
        return true;
    case GGUF_TENSOR_F16:
        reals_from_float16(out, tensor->data, tensor->count);
        return true;
    case GGUF_TENSOR_BF16:
        reals_from_bfloat16(out, tensor->data, tensor->count);
        return true;
    default:
        return false;
    }
}
