#include "formats/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* The reference implementation's limit; a model of 10,000 tensors has a header of about 1 MB. */
#define HEADER_LIMIT 100000000

static bool natural_number(const cJSON *node, int64_t *value) {
    return json_whole(node, value) && *value >= 0;
}

static bool parse_shape(StoredTensor *tensor, const cJSON *shape, const char *path, Error *error) {
    const cJSON *length;
    if (!cJSON_IsArray(shape))
        return error_set(error, "%s: the shape of tensor '%s' is not a list", path, tensor->name);
    if (cJSON_GetArraySize(shape) > STORED_MAX_RANK)
        return error_set(error, "%s: tensor '%s' has more than %d dimensions", path, tensor->name,
                         STORED_MAX_RANK);
    bool possible = true;
    cJSON_ArrayForEach(length, shape) possible =
        natural_number(length, &tensor->shape[tensor->rank++]) && possible;
    return (possible && stored_tensor_measure(tensor)) ||
           error_set(error, "%s: tensor '%s' has an impossible shape; the file is damaged", path,
                     tensor->name);
}

/* One entry of the header. `size` is the number of data bytes in the file. */
static bool parse_tensor(StoredTensor *tensor, const cJSON *entry, const uint8_t *data, size_t size,
                         const char *path, Error *error) {
    *tensor = (StoredTensor){.name = entry->string};
    if (!cJSON_IsObject(entry))
        return error_set(error,
                         "%s: the entry of tensor '%s' is not an object; the file is damaged", path,
                         tensor->name);
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    for (int i = 0; i < 3; i++)
        if (!json_get(entry, keys[i]))
            return error_set(error, "%s: tensor '%s' has no \"%s\"; the file is damaged", path,
                             tensor->name, keys[i]);
    const cJSON *type = json_get(entry, "dtype"), *offsets = json_get(entry, "data_offsets");
    if (!cJSON_IsString(type))
        return error_set(error, "%s: the dtype of tensor '%s' is not a string", path, tensor->name);
    tensor->type = number_type_find(type->valuestring);
    if (tensor->type == NUMBER_TYPE_COUNT)
        return error_set(error, "%s: tensor '%s' has type '%s', which this program cannot read",
                         path, tensor->name, type->valuestring);
    if (!parse_shape(tensor, json_get(entry, "shape"), path, error)) return false;

    int64_t begin, end;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !natural_number(offsets->child, &begin) || !natural_number(offsets->child->next, &end) ||
        begin > end || (uint64_t)end > size)
        return error_set(error,
                         "%s: the data_offsets of tensor '%s' do not lie within the %zu bytes of "
                         "data; the file is cut short or damaged",
                         path, tensor->name, size);
    if (tensor->bytes != (size_t)(end - begin))
        return error_set(error,
                         "%s: tensor '%s' has %lld numbers of type %s but %lld bytes; the file is "
                         "damaged",
                         path, tensor->name, (long long)tensor->count, type->valuestring,
                         (long long)(end - begin));
    tensor->data = data + begin;
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

static bool parse_entries(Safetensors *file, const uint8_t *data, size_t size, Error *error) {
    const cJSON *entry;
    StoredTensors *tensors = &file->tensors;
    tensors->items =
        allocate((unsigned long long)cJSON_GetArraySize(file->header), sizeof *tensors->items);
    cJSON_ArrayForEach(entry, (cJSON *)file->header) {
        if (strcmp(entry->string, SAFETENSORS_METADATA) == 0) {
            if (!check_metadata(entry, file->path, error)) return false;
        } else if (!parse_tensor(&tensors->items[tensors->count++], entry, data, size, file->path,
                                 error)) {
            return false;
        }
    }
    if (!stored_tensors_check(tensors, data, size, true, file->path, error)) return false;
    stored_tensors_sort(tensors); /* no name twice: json_parse refuses that */
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
    stored_tensors_free(&file->tensors, false);
    free(file->path);
    *file = (Safetensors){0};
}

const char *safetensors_metadata(const Safetensors *file, const char *key) {
    const cJSON *metadata = json_get(file->header, SAFETENSORS_METADATA);
    return cJSON_GetStringValue(json_get(metadata, key));
}
