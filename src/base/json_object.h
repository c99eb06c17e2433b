/* Reading settings out of a JSON object, so that the code reads like the list of keys:
 *
 *     JsonReader reader = {.file = path, .error = error};
 *     JsonObject root = json_object_root(&reader, json);
 *     JsonObject model = json_object_child(&root, "model");
 *     config.num_layers = json_object_whole(&model, "num_layers", JSON_REQUIRED, 1, 1000);
 *     config.norm_eps = json_object_real(&model, "norm_eps", 1e-5, "[1e-30, 1]");
 *     json_object_end(&model);
 *     json_object_end(&root);
 *     if (reader.failed) …                     // error holds the first thing that was wrong
 *
 * Each call looks one key up, checks its type and range, and returns its value or the default. After
 * the first error the rest is skipped, so no call needs a check of its own. json_object_end complains
 * about keys that nobody asked for (with the nearest key that exists), and about required ones that
 * are missing. A message names file, key and value:
 *
 *     configs/x.json: model.num_layers is 0; it must be a whole number from 1 to 1000
 *     configs/x.json: unknown key "model.num_layer"; did you mean "num_layers"?
 *     configs/x.json: unknown key "num_layers"; did you mean "model.num_layers"?
 *
 * and says so when the value came from the command line (`--set key=value`). */
#ifndef TINYLM_BASE_JSON_OBJECT_H
#define TINYLM_BASE_JSON_OBJECT_H

#include "base/json.h"

enum { JSON_READER_PATHS = 4096, JSON_OBJECT_KEYS = 64, JSON_OBJECT_PATH = 96 };

/* What all objects of one file share. */
typedef struct JsonReader {
    const char *file;
    const char *const *overrides; /* `--set` texts that were applied; only for messages */
    int override_count;
    Error *error;
    bool failed;
    /* Paths of the keys asked for in all objects so far, each with its NUL, to find the place of a
     * key that stands in the wrong object. What does not fit is only not suggested. */
    char asked[JSON_READER_PATHS];
    size_t asked_length;
} JsonReader;

typedef struct JsonObject {
    JsonReader *reader;
    const cJSON *node; /* NULL when the object is absent: every key then has its default */
    char path[JSON_OBJECT_PATH];         /* "model.position", "" for the root */
    const char *known[JSON_OBJECT_KEYS]; /* the keys asked for so far */
    int known_count;
    const char *missing; /* first required key that is absent */
    const char *variant; /* when the keys depend on a type: which one it is, for the message */
} JsonObject;

#define JSON_REQUIRED INT64_MIN /* in place of a default */

/* The top of a file. An error when it is no object. */
JsonObject json_object_root(JsonReader *reader, const cJSON *node);
/* The object under a key; absent is fine (see has). */
JsonObject json_object_child(JsonObject *object, const char *key);
/* Whether a key is there. Does not make it known. */
bool json_object_has(const JsonObject *object, const char *key);

int64_t json_object_whole(JsonObject *object, const char *key, int64_t fallback, int64_t low,
                          int64_t high);
/* `interval` as in text.h: "[0, 1)". */
double json_object_real(JsonObject *object, const char *key, double fallback, const char *interval);
bool json_object_bool(JsonObject *object, const char *key, bool fallback);
/* One of `choices`, as its number. With JSON_REQUIRED an absent key is reported at once. */
int json_object_choice(JsonObject *object, const char *key, int64_t fallback,
                       const char *const *choices, int choice_count);
/* A string that is not empty, as a copy for the caller to free; NULL when absent. */
char *json_object_string(JsonObject *object, const char *key);
/* A list of strings that are not empty (or a single string, when `single` is set), as copies that
 * string_list_free frees. With `nulls`, null stands for no string and becomes NULL. Absent: NULL and
 * a count of 0. */
char **json_object_strings(JsonObject *object, const char *key, bool single, bool nulls,
                           int64_t *count);
void string_list_free(char **list, int64_t count);

/* A key that must be given, told before json_object_end: for conditions across keys. */
void json_object_require(JsonObject *object, const char *key);

/* Reports unknown and missing keys. */
void json_object_end(JsonObject *object);

/* Fails with "file: object.key …" (or with the --set that brought the value). `key` is the whole
 * path, "model.d_model". Returns false. */
bool json_reader_error(JsonReader *reader, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
