#include "formats/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/half.h"

static const struct {
    const char *name;
    size_t size;
} TYPES[SAFETENSORS_TYPE_COUNT] = {
    [SAFETENSORS_F64] = {"F64", 8},   [SAFETENSORS_I64] = {"I64", 8},
    [SAFETENSORS_U64] = {"U64", 8},   [SAFETENSORS_F32] = {"F32", 4},
    [SAFETENSORS_I32] = {"I32", 4},   [SAFETENSORS_U32] = {"U32", 4},
    [SAFETENSORS_F16] = {"F16", 2},   [SAFETENSORS_BF16] = {"BF16", 2},
    [SAFETENSORS_I16] = {"I16", 2},   [SAFETENSORS_U16] = {"U16", 2},
    [SAFETENSORS_I8] = {"I8", 1},     [SAFETENSORS_U8] = {"U8", 1},
    [SAFETENSORS_BOOL] = {"BOOL", 1},
};

const char *safetensors_type_name(SafetensorsType type) {
    return TYPES[type].name;
}
size_t safetensors_type_size(SafetensorsType type) {
    return TYPES[type].size;
}

/* ---- reading ---- */

/* The reference implementation's limit; a model of 10,000 tensors has a header of about 1 MB. */
#define HEADER_LIMIT 100000000

static bool natural_number(const cJSON *node, int64_t *value) {
    return json_whole(node, value) && *value >= 0;
}

/* The member `key` of an entry; NULL, with an error, when it is not there. */
static const cJSON *entry_member(const cJSON *entry, const char *key, const char *path,
                                 Error *error) {
    const cJSON *member = json_get(entry, key);
    if (!member)
        error_set(error, "%s: tensor '%s' has no \"%s\"; the file is damaged", path, entry->string,
                  key);
    return member;
}

/* One entry of the header. `size` is the number of data bytes in the file. */
static bool parse_tensor(SafetensorsTensor *tensor, const cJSON *entry, const uint8_t *data,
                         size_t size, const char *path, Error *error) {
    *tensor = (SafetensorsTensor){.name = entry->string, .count = 1};
    if (!cJSON_IsObject(entry))
        return error_set(error,
                         "%s: the entry of tensor '%s' is not an object; the file is damaged", path,
                         tensor->name);
    const cJSON *type = entry_member(entry, "dtype", path, error);
    const cJSON *shape = type ? entry_member(entry, "shape", path, error) : NULL;
    const cJSON *offsets = shape ? entry_member(entry, "data_offsets", path, error) : NULL;
    if (!offsets) return false;

    int known = 0;
    if (!cJSON_IsString(type))
        return error_set(error, "%s: the dtype of tensor '%s' is not a string", path, tensor->name);
    while (known < SAFETENSORS_TYPE_COUNT && strcmp(TYPES[known].name, type->valuestring) != 0)
        known++;
    if (known == SAFETENSORS_TYPE_COUNT)
        return error_set(error, "%s: tensor '%s' has type '%s', which this program cannot read",
                         path, tensor->name, type->valuestring);
    tensor->type = (SafetensorsType)known;

    if (!cJSON_IsArray(shape))
        return error_set(error, "%s: the shape of tensor '%s' is not a list", path, tensor->name);
    const cJSON *dimension;
    cJSON_ArrayForEach(dimension, shape) {
        int64_t length;
        if (tensor->rank == SAFETENSORS_MAX_RANK)
            return error_set(error, "%s: tensor '%s' has more than %d dimensions", path,
                             tensor->name, SAFETENSORS_MAX_RANK);
        if (!natural_number(dimension, &length) ||
            __builtin_mul_overflow(tensor->count, length, &tensor->count))
            return error_set(error, "%s: tensor '%s' has an impossible shape; the file is damaged",
                             path, tensor->name);
        tensor->shape[tensor->rank++] = length;
    }

    int64_t begin, end, bytes;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !natural_number(offsets->child, &begin) || !natural_number(offsets->child->next, &end) ||
        begin > end || (uint64_t)end > size)
        return error_set(error,
                         "%s: the data_offsets of tensor '%s' do not lie within the %zu bytes of "
                         "data; the file is cut short or damaged",
                         path, tensor->name, size);
    if (__builtin_mul_overflow(tensor->count, (int64_t)TYPES[known].size, &bytes) ||
        bytes != end - begin)
        return error_set(error,
                         "%s: tensor '%s' has %lld numbers of type %s but %lld bytes; the file is "
                         "damaged",
                         path, tensor->name, (long long)tensor->count, TYPES[known].name,
                         (long long)(end - begin));
    tensor->data = data + begin;
    tensor->bytes = (size_t)bytes;
    return true;
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(SafetensorsTensor *const *)a)->name, (*(SafetensorsTensor *const *)b)->name);
}

static int compare_places(const void *a, const void *b) {
    const SafetensorsTensor *x = *(SafetensorsTensor *const *)a;
    const SafetensorsTensor *y = *(SafetensorsTensor *const *)b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; /* empty ones before what starts there */
}

/* The data must be the tensors one after the other, without holes, to the end of the file: what
 * lies hidden between tensors, or in two of them at once, is how a file deceives its reader. */
static bool check_layout(const Safetensors *file, const uint8_t *data, size_t size, Error *error) {
    qsort(file->sorted, (size_t)file->count, sizeof *file->sorted, compare_places);
    size_t at = 0;
    for (int64_t i = 0; i < file->count; i++) {
        const SafetensorsTensor *tensor = file->sorted[i];
        size_t begin = (size_t)(tensor->data - data);
        if (begin != at)
            return error_set(error, "%s: the data of tensor '%s' %s; the file is damaged",
                             file->path, tensor->name,
                             begin < at ? "overlaps another tensor's" : "leaves a hole before it");
        at += tensor->bytes;
    }
    if (at != size)
        return error_set(error, "%s: has %zu bytes after its last tensor; the file is damaged",
                         file->path, size - at);
    return true;
}

static bool check_metadata(const cJSON *metadata, const char *path, Error *error) {
    if (!cJSON_IsObject(metadata))
        return error_set(error, "%s: %s is not an object; the file is damaged", path,
                         SAFETENSORS_METADATA);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, metadata) if (!cJSON_IsString(entry)) return error_set(
        error, "%s: the metadata '%s' is not a string; the file is damaged", path, entry->string);
    return true;
}

/* Fills tensors and sorted from the parsed header. */
static bool parse_entries(Safetensors *file, const uint8_t *data, size_t size, Error *error) {
    const cJSON *entry;
    int64_t entries = cJSON_GetArraySize(file->header);
    file->tensors = allocate((size_t)entries, sizeof *file->tensors);
    cJSON_ArrayForEach(entry, (cJSON *)file->header) {
        if (strcmp(entry->string, SAFETENSORS_METADATA) == 0) {
            if (!check_metadata(entry, file->path, error)) return false;
        } else if (!parse_tensor(&file->tensors[file->count++], entry, data, size, file->path,
                                 error)) {
            return false;
        }
    }
    file->sorted = allocate((size_t)file->count, sizeof *file->sorted);
    for (int64_t i = 0; i < file->count; i++) file->sorted[i] = &file->tensors[i];
    if (!check_layout(file, data, size, error)) return false;
    qsort(file->sorted, (size_t)file->count, sizeof *file->sorted, compare_names);
    return true;
}

bool safetensors_parse(Safetensors *file, const void *data, size_t size, const char *name,
                       Error *error) {
    *file = (Safetensors){0};
    uint64_t length;
    if (size < sizeof length)
        return error_set(error, "%s: is too short for a safetensors file; copy or write it again",
                         name);
    memcpy(&length, data, sizeof length);
    if (length > size - sizeof length || length > HEADER_LIMIT)
        return error_set(error,
                         "%s: is not a safetensors file, or cut short: its header would have %llu "
                         "bytes, the file has %zu",
                         name, (unsigned long long)length, size);
    const char *text = (const char *)data + sizeof length;
    /* json_parse would pass over a byte order mark, which the format does not allow */
    if (length == 0 || *text != '{')
        return error_set(error, "%s: its header is no JSON object; this is no safetensors file",
                         name);
    file->header = json_parse(text, length, name, error);
    if (!file->header) return false;
    file->path = string_copy(name);
    const uint8_t *first = (const uint8_t *)text + length;
    if (parse_entries(file, first, size - sizeof length - length, error)) {
        file->data = data;
        file->size = size;
        return true;
    }
    safetensors_close(file);
    return false;
}

bool safetensors_open(Safetensors *file, const char *path, Error *error) {
    MappedFile map;
    if (!file_map(&map, path, error)) return false;
    if (!safetensors_parse(file, map.data, map.size, path, error)) {
        file_unmap(&map);
        return false;
    }
    file->map = map;
    return true;
}

void safetensors_close(Safetensors *file) {
    if (file->map.data) file_unmap(&file->map);
    cJSON_Delete(file->header);
    free(file->tensors);
    free(file->sorted);
    free(file->path);
    *file = (Safetensors){0};
}

const SafetensorsTensor *safetensors_find(const Safetensors *file, const char *name) {
    SafetensorsTensor wanted = {.name = name}, *key = &wanted;
    SafetensorsTensor **found =
        bsearch(&key, file->sorted, (size_t)file->count, sizeof *file->sorted, compare_names);
    return found ? *found : NULL;
}

const char *safetensors_metadata(const Safetensors *file, const char *key) {
    const cJSON *metadata = json_get(file->header, SAFETENSORS_METADATA);
    return cJSON_GetStringValue(json_get(metadata, key));
}

bool safetensors_to_real(const SafetensorsTensor *tensor, real *out) {
    switch (tensor->type) {
    case SAFETENSORS_F64:
        reals_from_float64(out, tensor->data, tensor->count);
        return true;
    case SAFETENSORS_F32:
        reals_from_float32(out, tensor->data, tensor->count);
        return true;
    case SAFETENSORS_F16:
        reals_from_float16(out, tensor->data, tensor->count);
        return true;
    case SAFETENSORS_BF16:
        reals_from_bfloat16(out, tensor->data, tensor->count);
        return true;
    default:
        return false;
    }
}
