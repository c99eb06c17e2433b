#include "formats/stored_tensor.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/half.h"

static const struct {
    const char *name;
    int elements, bytes; /* of a block */
} TYPES[NUMBER_TYPE_COUNT] = {
    [NUMBER_F32] = {"F32", 1, 4},   [NUMBER_F16] = {"F16", 1, 2}, [NUMBER_BF16] = {"BF16", 1, 2},
    [NUMBER_F64] = {"F64", 1, 8},   [NUMBER_I8] = {"I8", 1, 1},   [NUMBER_U8] = {"U8", 1, 1},
    [NUMBER_I16] = {"I16", 1, 2},   [NUMBER_U16] = {"U16", 1, 2}, [NUMBER_I32] = {"I32", 1, 4},
    [NUMBER_U32] = {"U32", 1, 4},   [NUMBER_I64] = {"I64", 1, 8}, [NUMBER_U64] = {"U64", 1, 8},
    [NUMBER_BOOL] = {"BOOL", 1, 1}, [2] = {"Q4_0", 32, 18},       [3] = {"Q4_1", 32, 20},
    [6] = {"Q5_0", 32, 22},         [7] = {"Q5_1", 32, 24},       [8] = {"Q8_0", 32, 34},
    [9] = {"Q8_1", 32, 36},         [10] = {"Q2_K", 256, 84},     [11] = {"Q3_K", 256, 110},
    [12] = {"Q4_K", 256, 144},      [13] = {"Q5_K", 256, 176},    [14] = {"Q6_K", 256, 210},
    [15] = {"Q8_K", 256, 292},
};

const char *number_type_name(NumberType type) {
    return TYPES[type].name;
}

size_t number_type_size(NumberType type) {
    return (size_t)TYPES[type].bytes;
}

NumberType number_type_find(const char *name) {
    int type = 0;
    while (type < NUMBER_TYPE_COUNT &&
           (TYPES[type].elements != 1 || strcmp(TYPES[type].name, name) != 0))
        type++;
    return (NumberType)type;
}

/* ---- one tensor ---- */

bool stored_tensor_measure(StoredTensor *tensor) {
    int64_t elements = TYPES[tensor->type].elements, bytes;
    int64_t row = tensor->rank > 0 ? tensor->shape[tensor->rank - 1] : 1;
    tensor->count = 1;
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] < 0 ||
            __builtin_mul_overflow(tensor->count, tensor->shape[i], &tensor->count))
            return false;
    if (row % elements != 0 ||
        __builtin_mul_overflow(tensor->count / elements, TYPES[tensor->type].bytes, &bytes))
        return false;
    tensor->bytes = (size_t)bytes;
    return true;
}

bool stored_tensor_is_real(const StoredTensor *tensor) {
    return tensor->type == NUMBER_F64 || tensor->type == NUMBER_F32 || tensor->type == NUMBER_F16 ||
           tensor->type == NUMBER_BF16;
}

static real number_to_real(NumberType type, const uint8_t *at) {
    double wide;
    float number;
    uint16_t half;
    switch (type) {
    case NUMBER_F64:
        memcpy(&wide, at, sizeof wide);
        return (real)wide;
    case NUMBER_F32:
        memcpy(&number, at, sizeof number);
        return number;
    default:
        memcpy(&half, at, sizeof half);
        return type == NUMBER_F16 ? half_to_float(half) : bfloat16_to_float(half);
    }
}

bool stored_tensor_to_real(const StoredTensor *tensor, real *out) {
    if (!stored_tensor_is_real(tensor)) return false;
    const uint8_t *at = tensor->data;
    if (tensor->type == NUMBER_REAL && tensor->count > 0) {
        memcpy(out, at, (size_t)tensor->count * sizeof *out);
        return true;
    }
    size_t size = number_type_size(tensor->type);
    for (int64_t i = 0; i < tensor->count; i++, at += size)
        out[i] = number_to_real(tensor->type, at);
    return true;
}

void write_reals(FILE *stream, NumberType type, const real *values, int64_t count) {
    enum { PART = 4096 }; /* stays in cache */
    float floats[PART];
    uint16_t halves[PART];
    for (int64_t start = 0; start < count; start += PART) {
        size_t part = count - start < PART ? (size_t)(count - start) : PART;
        for (size_t i = 0; i < part; i++) {
            floats[i] = (float)values[start + (int64_t)i];
            halves[i] = type == NUMBER_F16 ? half_from_float(floats[i]) : 0;
        }
        fwrite(type == NUMBER_F16 ? (void *)halves : floats, number_type_size(type), part, stream);
    }
}

char *shape_text(int rank, const int64_t *shape) {
    char *text = string_copy(rank ? "" : "a single number");
    for (int i = 0; i < rank; i++) {
        char *longer = string_format("%s%s%lld", text, i ? " x " : "", (long long)shape[i]);
        free(text);
        text = longer;
    }
    return text;
}

/* ---- lists ---- */

void stored_tensors_add(StoredTensors *list, const char *name, StoredTensor tensor) {
    array_reserve(list->items, list->count, list->capacity, 1);
    tensor.name = string_copy(name);
    list->items[list->count++] = tensor;
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(StoredTensor *const *)a)->name, (*(StoredTensor *const *)b)->name);
}

static int compare_places(const void *a, const void *b) {
    const StoredTensor *x = *(StoredTensor *const *)a, *y = *(StoredTensor *const *)b;
    if (x->data != y->data) return (const uint8_t *)x->data < (const uint8_t *)y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* empty ones before what starts there */
}

static void sort_by(StoredTensors *list, int (*compare)(const void *, const void *)) {
    if (!list->sorted) list->sorted = allocate((size_t)list->count, sizeof *list->sorted);
    for (int64_t i = 0; i < list->count; i++) list->sorted[i] = &list->items[i];
    qsort(list->sorted, (size_t)list->count, sizeof *list->sorted, compare);
}

const StoredTensor *stored_tensors_sort(StoredTensors *list) {
    sort_by(list, compare_names);
    for (int64_t i = 1; i < list->count; i++)
        if (compare_names(&list->sorted[i - 1], &list->sorted[i]) == 0) return list->sorted[i];
    return NULL;
}

bool stored_tensors_check(StoredTensors *list, const uint8_t *start, size_t size, bool packed,
                          const char *path, Error *error) {
    const uint8_t *end = start;
    sort_by(list, compare_places);
    for (int64_t i = 0; i < list->count; i++) {
        const StoredTensor *tensor = list->sorted[i];
        const uint8_t *begin = tensor->data;
        if (begin < end || (packed && begin > end))
            return error_set(error, "%s: the data of tensor '%.200s' %s; the file is damaged", path,
                             tensor->name,
                             begin < end ? "overlaps another tensor's" : "leaves a hole before it");
        end = begin + tensor->bytes;
    }
    if (packed && end != start + size)
        return error_set(error, "%s: has %zu bytes after its last tensor; the file is damaged",
                         path, (size_t)(start + size - end));
    return true;
}

const StoredTensor *stored_tensors_find(const StoredTensors *list, const char *name) {
    StoredTensor wanted = {.name = (char *)(uintptr_t)name}, *key = &wanted;
    StoredTensor **found =
        bsearch(&key, list->sorted, (size_t)list->count, sizeof *list->sorted, compare_names);
    return found ? *found : NULL;
}

void stored_tensors_free(StoredTensors *list, bool own_names) {
    for (int64_t i = 0; own_names && i < list->count; i++) free(list->items[i].name);
    free(list->items);
    free(list->sorted);
    *list = (StoredTensors){0};
}
