#include <stdlib.h>
#include <string.h>

#include "base/keys.h"
#include "base/text.h"

/* The object that holds the last key of `path` ("a.b.c"; the text is cut into its keys). Creates
 * what is missing. NULL on error. */
static cJSON *find_parent(cJSON *root, char *path, char **last, const char *text, const char *file,
                          Error *error) {
    cJSON *object = root;
    char *key = path;
    for (int depth = 1;; depth++) {
        char *dot = strchr(key, '.');
        if (dot) *dot = '\0';
        if (!*key || depth > JSON_DEPTH_LIMIT) {
            error_set(
                error,
                "--set %.200s: must be KEY=VALUE, with dots between the parts of the key, as in training.max_steps=50",
                text);
            return NULL;
        }
        if (!cJSON_IsObject(object)) {
            error_set(error, "%s: --set %.200s: what stands before \"%s\" is not an object", file,
                      text, key);
            return NULL;
        }
        if (!dot) {
            *last = key;
            return object;
        }
        cJSON *next = json_get(object, key);
        object = next ? next : cJSON_AddObjectToObject(object, key);
        key = dot + 1;
    }
}

static cJSON *parse_value(const char *text) {
    cJSON *value = json_parse(text, strlen(text), "", NULL);
    return value ? value : cJSON_CreateString(text);
}

bool keys_override(cJSON *root, const char *text, const char *file, Error *error) {
    const char *equals = strchr(text, '=');
    if (!equals)
        return error_set(error, "--set %.200s: must be KEY=VALUE, as in training.max_steps=50",
                         text);
    if (utf8_valid_length(text, strlen(text)) < strlen(text))
        return error_set(error, "--set %.200s: is not valid UTF-8", text);
    char *path = string_copy(text), *key;
    path[equals - text] = '\0';
    cJSON *parent = find_parent(root, path, &key, text, file, error);
    if (parent) {
        bool is_type = strcmp(key, "type") == 0;
        while (is_type && parent->child)
            cJSON_Delete(cJSON_DetachItemViaPointer(parent, parent->child));
        cJSON_DeleteItemFromObjectCaseSensitive(parent, key);
        cJSON_AddItemToObject(parent, key, parse_value(equals + 1));
    }
    free(path);
    return parent != NULL;
}
