/* Shared by the tests of file formats: a scratch folder, and files to read. */
#ifndef TINYLM_TESTS_FORMATS_HELPERS_H
#define TINYLM_TESTS_FORMATS_HELPERS_H

#include "cases.h"

#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/error.h"
#include "base/file.h"

/* A new folder for the files of one test program; removed with remove_scratch. */
static char scratch[64];

static inline int make_scratch(void **state) {
    (void)state;
    strcpy(scratch, "/tmp/tinylm_formats_XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static inline int remove_scratch(void **state) {
    (void)state;
    char *command = string_format("rm -rf '%s'", scratch);
    int status = system(command);
    free(command);
    return status;
}

/* Path of a file in the scratch folder. The result lives until the 8th next call. */
static inline const char *scratch_path(const char *name) {
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

/* Without the flush to disk of file_write, since tests write thousands of small files. */
static inline void write_bytes(const char *path, const void *data, size_t size) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
}

static inline char *read_bytes(const char *path, size_t *size) {
    Error error;
    char *data = file_read(path, (size_t)1 << 30, size, &error);
    if (!data) fail_msg("%s", error.message);
    return data;
}

static inline cJSON *read_json(const char *path) {
    size_t size;
    char *text = read_bytes(path, &size);
    cJSON *json = cJSON_ParseWithLength(text, size);
    free(text);
    assert_non_null(json);
    return json;
}

#endif
