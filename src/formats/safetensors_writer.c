#include "formats/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

/* ---- checksum ---- */

/* How a file with a checksum begins, after the length: the digits are always at the same place. */
static const char CHECKSUM_PREFIX[] = "{\"__metadata__\":{\"checksum\":\"";
enum { CHECKSUM_AT = 8 + sizeof CHECKSUM_PREFIX - 1, CHECKSUM_DIGITS = 16 };
static const char NO_DIGITS[] = "0000000000000000";

/* The digits of a whole file, see safetensors_write. With `forget` data is a map whose pages stop counting
 * as memory once they are read. */
static void checksum_digits(const uint8_t *data, size_t size, bool forget,
                            char digits[CHECKSUM_DIGITS + 1]) {
    enum { PART = 1 << 22, START = (CHECKSUM_AT + CHECKSUM_DIGITS + 7) / 8 * 8 };
    uint64_t hash = UINT64_C(0xcbf29ce484222325), word;
    uint8_t start[START] = {0};
    memcpy(start, data, size < START ? size : START);
    memcpy(start + CHECKSUM_AT, NO_DIGITS, CHECKSUM_DIGITS);
    for (size_t at = 0; at < size; at += sizeof word) {
        word = 0;
        memcpy(&word, at < START ? start + at : data + at, size - at < 8 ? size - at : 8);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        if (forget && (at + sizeof word) % PART == 0)
            file_forget(data + at + sizeof word - PART, PART);
    }
    snprintf(digits, CHECKSUM_DIGITS + 1, "%016llx", (unsigned long long)hash);
}

bool safetensors_verify(const Safetensors *file, Error *error) {
    char digits[CHECKSUM_DIGITS + 1];
    if (file->size < CHECKSUM_AT + CHECKSUM_DIGITS ||
        memcmp(file->data + 8, CHECKSUM_PREFIX, sizeof CHECKSUM_PREFIX - 1) != 0)
        return error_set(error,
                         "%s: has no checksum; it was not written by this program or is damaged",
                         file->path);
    checksum_digits(file->data, file->size, false, digits);
    if (memcmp(file->data + CHECKSUM_AT, digits, CHECKSUM_DIGITS) != 0)
        return error_set(error, "%s: its checksum does not match its content; the file is damaged",
                         file->path);
    return true;
}

/* Puts the checksum of what was written so far into its place. A failed write is left for commit to report. */
static bool add_checksum(FileWriter *writer, Error *error) {
    MappedFile map;
    char digits[CHECKSUM_DIGITS + 1];
    if (fflush(writer->stream) != 0) return true;
    if (!file_map(&map, writer->temporary_path, error)) return false;
    checksum_digits(map.data, map.size, true, digits);
    file_unmap(&map);
    /* a failed seek leaves the zeros, which must not pass for success */
    if (fseek(writer->stream, CHECKSUM_AT, SEEK_SET) != 0)
        return error_set(error, "%s: cannot be written: no seeking there; nothing was changed",
                         writer->path);
    fwrite(digits, 1, CHECKSUM_DIGITS, writer->stream);
    return true;
}

/* ---- writing ---- */

/* A measured copy of the items in the order of the file, or NULL. */
static StoredTensor *order_items(const StoredTensor *items, int64_t count, const char *path,
                                 Error *error) {
    StoredTensor *order = allocate((size_t)count, sizeof *order);
    int64_t placed = 0;
    for (size_t size = 8; size > 0; size /= 2)
        for (int64_t i = 0; i < count; i++)
            if (number_type_size(items[i].type) == size) order[placed++] = items[i];
    for (int64_t i = 0; i < count; i++)
        if (strcmp(order[i].name, SAFETENSORS_METADATA) == 0 || !stored_tensor_measure(&order[i])) {
            error_set(error, "%s: cannot hold the tensor '%s'", path, order[i].name);
            free(order);
            return NULL;
        }
    return order;
}

static cJSON *numbers_to_json(const int64_t *numbers, int count) {
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)numbers[i]));
    return list;
}

/* The header's JSON, padded with spaces so that the data starts at a multiple of 8 bytes. */
static char *make_header(const StoredTensor *order, int64_t count, const char *const (*metadata)[2],
                         int metadata_count, bool checksum) {
    cJSON *header = cJSON_CreateObject();
    if (checksum || metadata_count > 0) {
        cJSON *object = cJSON_AddObjectToObject(header, SAFETENSORS_METADATA);
        if (checksum) cJSON_AddStringToObject(object, "checksum", NO_DIGITS);
        for (int i = 0; i < metadata_count; i++)
            cJSON_AddStringToObject(object, metadata[i][0], metadata[i][1]);
    }
    int64_t offsets[2] = {0, 0};
    for (int64_t i = 0; i < count; i++) {
        offsets[1] = offsets[0] + (int64_t)order[i].bytes;
        cJSON *entry = cJSON_AddObjectToObject(header, order[i].name);
        cJSON_AddStringToObject(entry, "dtype", number_type_name(order[i].type));
        cJSON_AddItemToObject(entry, "shape", numbers_to_json(order[i].shape, order[i].rank));
        cJSON_AddItemToObject(entry, "data_offsets", numbers_to_json(offsets, 2));
        offsets[0] = offsets[1];
    }
    char *text = cJSON_PrintUnformatted(header);
    cJSON_Delete(header);
    char *padded = string_format("%s%*s", text, (int)(-strlen(text) & 7), "");
    free(text);
    return padded;
}

bool safetensors_write(const char *path, const StoredTensor *items, int64_t count,
                       const char *const (*metadata)[2], int metadata_count, bool checksum,
                       const char *keep_previous, Error *error) {
    FileWriter writer;
    StoredTensor *order = order_items(items, count, path, error);
    if (!order || !file_writer_open(&writer, path, error)) {
        free(order);
        return false;
    }
    char *header = make_header(order, count, metadata, metadata_count, checksum);
    uint64_t length = strlen(header);
    fwrite(&length, sizeof length, 1, writer.stream);
    fwrite(header, 1, length, writer.stream);
    for (int64_t i = 0; i < count; i++)
        if (order[i].bytes > 0) fwrite(order[i].data, 1, order[i].bytes, writer.stream);
    free(order);
    free(header);
    if (!checksum || add_checksum(&writer, error))
        return file_writer_commit(&writer, keep_previous, error);
    file_writer_abort(&writer);
    return false;
}
