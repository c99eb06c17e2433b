#include <stdlib.h>
#include <string.h>

#include "base/keys.h"
#include "base/text.h"

/* Whether the text begins with "a.b.c=": names that are not empty, at most JSON_DEPTH_LIMIT of them. */
static bool has_key(const char *text) {
    for (int depth = 1; depth <= JSON_DEPTH_LIMIT; depth++) {
        size_t length = strcspn(text, ".=");
        if (length == 0 || text[length] == '\0') return false;
        if (text[length] == '=') return true;
        text += length + 1;
    }
    return false;
}

static cJSON *parse_value(const char *text) {
    cJSON *value = json_parse(text, strlen(text), "", NULL);
    return value ? value : cJSON_CreateString(text);
}

bool keys_override(cJSON *root, const char *text, const char *file, Error *error) {
    if (!has_key(text))
        return error_set(error,
                         "--set %.200s: must be KEY=VALUE, with dots between the parts of the key, "
                         "as in training.max_steps=50",
                         text);
    if (utf8_valid_length(text, strlen(text)) < strlen(text))
        return error_set(error, "--set %.200s: is not valid UTF-8", text);
    char *copy = string_copy(text), *key = copy, *value = strchr(copy, '='), *dot;
    *value++ = '\0';
    cJSON *object = root;
    for (; cJSON_IsObject(object) && (dot = strchr(key, '.')); key = dot + 1) {
        *dot = '\0';
        cJSON *inner = json_get(object, key);
        object = inner ? inner : cJSON_AddObjectToObject(object, key);
    }
    bool done = cJSON_IsObject(object);
    if (done) {
        while (strcmp(key, "type") == 0 && object->child)
            cJSON_Delete(cJSON_DetachItemViaPointer(object, object->child));
        cJSON_DeleteItemFromObjectCaseSensitive(object, key);
        cJSON_AddItemToObject(object, key, parse_value(value));
    } else {
        error_set(error, "%s: --set %.200s: what stands before \"%.*s\" is not an object", file,
                  text, (int)strcspn(key, "."), key);
    }
    free(copy);
    return done;
}
