#include "formats/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

/* ---- checksum ---- */

/* FNV-1a over 64-bit words of bytes that come in pieces of any size. */
typedef struct Checksum {
    uint64_t hash;
    uint8_t pending[8];
    size_t pending_count;
} Checksum;

#define CHECKSUM_START                                                                             \
    { .hash = UINT64_C(0xcbf29ce484222325) }

static uint64_t checksum_word(uint64_t hash, const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return (hash ^ word) * UINT64_C(0x100000001b3);
}

static void checksum_add(Checksum *sum, const void *data, size_t size) {
    const uint8_t *bytes = data;
    while (size > 0 && sum->pending_count > 0) {
        sum->pending[sum->pending_count++] = *bytes++;
        size--;
        if (sum->pending_count < 8) continue;
        sum->hash = checksum_word(sum->hash, sum->pending);
        sum->pending_count = 0;
    }
    uint64_t hash = sum->hash;
    for (; size >= 8; size -= 8, bytes += 8) hash = checksum_word(hash, bytes);
    sum->hash = hash;
    while (size-- > 0) sum->pending[sum->pending_count++] = *bytes++;
}

static void checksum_digits(Checksum *sum, char digits[17]) {
    static const uint8_t zeros[8];
    checksum_add(sum, zeros, (8 - sum->pending_count) % 8);
    snprintf(digits, 17, "%016llx", (unsigned long long)sum->hash);
}

/* How a file with a checksum begins, after the length: the digits are always at the same place. */
static const char CHECKSUM_PREFIX[] = "{\"__metadata__\":{\"checksum\":\"";
enum { CHECKSUM_AT = 8 + sizeof CHECKSUM_PREFIX - 1, CHECKSUM_DIGITS = 16 };
static const char NO_DIGITS[] = "0000000000000000";

bool safetensors_verify(const Safetensors *file, Error *error) {
    if (file->size < CHECKSUM_AT + CHECKSUM_DIGITS ||
        memcmp(file->data + 8, CHECKSUM_PREFIX, sizeof CHECKSUM_PREFIX - 1) != 0)
        return error_set(error,
                         "%s: has no checksum; it was not written by this program or is damaged",
                         file->path);
    Checksum sum = CHECKSUM_START;
    size_t after = CHECKSUM_AT + CHECKSUM_DIGITS;
    checksum_add(&sum, file->data, CHECKSUM_AT);
    checksum_add(&sum, NO_DIGITS, CHECKSUM_DIGITS);
    checksum_add(&sum, file->data + after, file->size - after);
    char digits[17];
    checksum_digits(&sum, digits);
    if (memcmp(file->data + CHECKSUM_AT, digits, CHECKSUM_DIGITS) != 0)
        return error_set(error, "%s: its checksum does not match its content; the file is damaged",
                         file->path);
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

static void put(FILE *stream, Checksum *sum, const void *data, size_t size) {
    if (size == 0) return;
    fwrite(data, 1, size, stream);
    if (sum) checksum_add(sum, data, size);
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
    char *header = make_header(order, count, metadata, metadata_count, checksum), digits[17];
    Checksum sum = CHECKSUM_START, *adding = checksum ? &sum : NULL;
    uint64_t length = strlen(header);
    put(writer.stream, adding, &length, sizeof length);
    put(writer.stream, adding, header, length);
    for (int64_t i = 0; i < count; i++) put(writer.stream, adding, order[i].data, order[i].bytes);
    free(order);
    free(header);
    if (!checksum) return file_writer_commit(&writer, keep_previous, error);
    checksum_digits(&sum, digits);
    if (fseek(writer.stream, CHECKSUM_AT, SEEK_SET) == 0) {
        fwrite(digits, 1, CHECKSUM_DIGITS, writer.stream);
        return file_writer_commit(&writer, keep_previous, error);
    }
    file_writer_abort(&writer);
    return error_set(error, "%s: cannot be written: no seeking there; nothing was changed", path);
}
