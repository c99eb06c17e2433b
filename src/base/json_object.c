#include "base/json_object.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- messages ---- */

/* Whether `override` ("a.b=value") set the key `path`, something inside it, or something around it. */
static bool override_touches(const char *override, const char *path) {
    size_t set = strcspn(override, "="), asked = strlen(path);
    size_t common = set < asked ? set : asked;
    if (memcmp(override, path, common) != 0) return false;
    return set == asked || (set < asked ? path[set] == '.' : override[asked] == '.');
}

bool json_reader_error(JsonReader *reader, const char *key, const char *format, ...) {
    if (reader->failed) return false;
    reader->failed = true;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (int i = reader->override_count - 1; i >= 0; i--)
        if (override_touches(reader->overrides[i], key))
            return error_set(reader->error, "%s with --set %.300s: %s", reader->file,
                             reader->overrides[i], text);
    return error_set(reader->error, "%s: %s", reader->file, text);
}

/* "object.key", to be freed. */
static char *key_path(const JsonObject *object, const char *key) {
    return string_format("%s%s%s", object->path, *object->path ? "." : "", key);
}

/* A value as it may stand in a message: JSON, cut short, never inside a character; to be freed. */
static char *value_text(const cJSON *node) {
    enum { LONGEST = 100 };
    if (cJSON_IsNumber(node)) { /* cJSON rounds to 15 digits, which hides why 2^53 is refused */
        char *digits = allocate(32, 1);
        real_to_text(node->valuedouble, digits);
        return digits;
    }
    char *text = cJSON_PrintUnformatted(node);
    char *copy = string_copy(text ? text : "?");
    cJSON_free(text);
    if (strlen(copy) <= LONGEST) return copy;
    size_t end = LONGEST;
    while (end > 0 && ((unsigned char)copy[end] & 0xC0) == 0x80) end--;
    copy[end] = '\0';
    char *cut = string_format("%s…", copy);
    free(copy);
    return cut;
}

/* "model.d_model is "64"; it must be …" */
static void value_error(JsonObject *object, const char *key, const cJSON *node,
                        const char *allowed) {
    char *path = key_path(object, key), *value = value_text(node);
    json_reader_error(object->reader, path, "%s is %s; it must be %s", path, value, allowed);
    free(path);
    free(value);
}

static void missing_error(JsonObject *object, const char *key) {
    char *path = key_path(object, key);
    json_reader_error(object->reader, path, "%s is missing; it has no default", path);
    free(path);
}

/* ---- objects ---- */

JsonObject json_object_root(JsonReader *reader, const cJSON *node) {
    JsonObject root = {.reader = reader, .node = node};
    if (!cJSON_IsObject(node)) {
        json_reader_error(reader, "", "the whole must be an object: { \"key\": value, … }");
        root.node = NULL;
    }
    return root;
}

static void remember_path(JsonObject *object, const char *key) {
    JsonReader *reader = object->reader;
    char *path = key_path(object, key);
    size_t size = strlen(path) + 1;
    if (size <= sizeof reader->asked - reader->asked_length) {
        memcpy(reader->asked + reader->asked_length, path, size);
        reader->asked_length += size;
    }
    free(path);
}

/* Looks a key up and makes it known. NULL when it is absent, or when an error was found before, so
 * that the caller returns its default. */
static const cJSON *find(JsonObject *object, const char *key) {
    assert(object->known_count < JSON_OBJECT_KEYS);
    object->known[object->known_count++] = key;
    remember_path(object, key);
    return object->reader->failed ? NULL : json_get(object->node, key);
}

JsonObject json_object_child(JsonObject *object, const char *key) {
    JsonObject child = {.reader = object->reader, .node = find(object, key)};
    char *path = key_path(object, key);
    assert(strlen(path) < sizeof child.path);
    strcpy(child.path, path);
    free(path);
    if (child.node && !cJSON_IsObject(child.node)) {
        value_error(object, key, child.node, "an object: { \"key\": value, … }");
        child.node = NULL;
    }
    return child;
}

bool json_object_has(const JsonObject *object, const char *key) {
    return json_get(object->node, key) != NULL;
}

void json_object_require(JsonObject *object, const char *key) {
    if (!json_object_has(object, key) && !object->missing) object->missing = key;
}

int64_t json_object_whole(JsonObject *object, const char *key, int64_t fallback, int64_t low,
                          int64_t high) {
    const cJSON *node = find(object, key);
    if (fallback == JSON_REQUIRED) {
        json_object_require(object, key);
        fallback = low;
    }
    if (!node) return fallback;
    int64_t value;
    if (json_whole(node, &value) && value >= low && value <= high) return value;
    char *allowed = string_format("a whole number from %" PRId64 " to %" PRId64, low, high);
    value_error(object, key, node, allowed);
    free(allowed);
    return fallback;
}

double json_object_real(JsonObject *object, const char *key, double fallback,
                        const char *interval) {
    const cJSON *node = find(object, key);
    if (!node) return fallback;
    if (cJSON_IsNumber(node) && interval_contains(interval, node->valuedouble))
        return node->valuedouble;
    char *allowed = string_format("a number in %s", interval);
    value_error(object, key, node, allowed);
    free(allowed);
    return fallback;
}

bool json_object_bool(JsonObject *object, const char *key, bool fallback) {
    const cJSON *node = find(object, key);
    if (!node) return fallback;
    if (!cJSON_IsBool(node)) value_error(object, key, node, "true or false");
    return cJSON_IsTrue(node);
}

/* `"a", "b" or "c"`, to be freed. */
static char *list_names(const char *const *names, int count, const char *last_separator) {
    char *list = string_copy("");
    for (int i = 0; i < count; i++) {
        const char *separator = i == 0 ? "" : i == count - 1 ? last_separator : ", ";
        char *longer = string_format("%s%s\"%s\"", list, separator, names[i]);
        free(list);
        list = longer;
    }
    return list;
}

int json_object_choice(JsonObject *object, const char *key, int64_t fallback,
                       const char *const *choices, int choice_count) {
    const cJSON *node = find(object, key);
    if (fallback == JSON_REQUIRED) {
        if (!node) missing_error(object, key); /* at once: which other keys are known hangs on it */
        fallback = 0;
    }
    if (!node) return (int)fallback;
    for (int i = 0; i < choice_count && cJSON_IsString(node); i++)
        if (strcmp(node->valuestring, choices[i]) == 0) return i;
    char *list = list_names(choices, choice_count, " or ");
    const char *nearest =
        cJSON_IsString(node) ? nearest_name(node->valuestring, choices, choice_count) : NULL;
    char *allowed =
        nearest ? string_format("%s; did you mean \"%s\"?", list, nearest) : string_copy(list);
    value_error(object, key, node, allowed);
    free(allowed);
    free(list);
    return (int)fallback;
}

char *json_object_string(JsonObject *object, const char *key) {
    const cJSON *node = find(object, key);
    if (!node) return NULL;
    if (cJSON_IsString(node) && *node->valuestring) return string_copy(node->valuestring);
    value_error(object, key, node, "text in double quotes, not empty");
    return NULL;
}

char **json_object_strings(JsonObject *object, const char *key, bool single, bool nulls,
                           int64_t *count) {
    *count = 0;
    const cJSON *node = find(object, key);
    if (!node) return NULL;
    const char *allowed = nulls
                              ? "text in double quotes, or a list of such texts and null, not empty"
                          : single ? "text in double quotes, or a list of such texts, not empty"
                                   : "a list of texts in double quotes, none of them empty";
    bool one = single && cJSON_IsString(node);
    if ((!one && !cJSON_IsArray(node)) || (single && !one && !node->child)) {
        value_error(object, key, node, allowed);
        return NULL;
    }
    char **list =
        allocate_zeroed(one ? 1 : (unsigned long long)cJSON_GetArraySize(node), sizeof *list);
    for (const cJSON *item = one ? node : node->child; item; item = one ? NULL : item->next) {
        if (cJSON_IsString(item) && *item->valuestring) {
            list[(*count)++] = string_copy(item->valuestring);
        } else if (nulls && !one && cJSON_IsNull(item)) {
            list[(*count)++] = NULL;
        } else {
            value_error(object, key, node, allowed);
            break;
        }
    }
    return list;
}

void string_list_free(char **list, int64_t count) {
    for (int64_t i = 0; i < count; i++) free(list[i]);
    free(list);
}

static bool is_known(const JsonObject *object, const char *key) {
    for (int i = 0; i < object->known_count; i++)
        if (strcmp(object->known[i], key) == 0) return true;
    return false;
}

/* The path in another object whose last part is nearest to `key`; NULL when none is near. */
static const char *nearest_elsewhere(const JsonReader *reader, const char *key) {
    enum { MOST = 256 };
    const char *paths[MOST], *names[MOST] = {NULL};
    int count = 0;
    for (size_t at = 0; at < reader->asked_length && count < MOST; count++) {
        paths[count] = reader->asked + at;
        const char *dot = strrchr(paths[count], '.');
        names[count] = dot ? dot + 1 : paths[count];
        at += strlen(paths[count]) + 1;
    }
    const char *nearest = nearest_name(key, names, count);
    for (int i = 0; i < count; i++)
        if (names[i] == nearest) return paths[i];
    return NULL;
}

static void unknown_key_error(JsonObject *object, const char *key) {
    char *path = key_path(object, key);
    char *known = list_names(object->known, object->known_count, ", ");
    const char *nearest = nearest_name(key, object->known, object->known_count);
    if (!nearest) nearest = nearest_elsewhere(object->reader, key);
    char *remedy = nearest ? string_format("did you mean \"%s\"?", nearest)
                           : string_format("known here: %s", known);
    const char *variant = object->variant;
    json_reader_error(object->reader, path, "unknown key \"%.200s\"%s%s%s; %s", path,
                      variant ? " for \"" : "", variant ? variant : "", variant ? "\"" : "",
                      remedy);
    free(path);
    free(known);
    free(remedy);
}

void json_object_end(JsonObject *object) {
    if (object->reader->failed) return;
    const cJSON *first = object->node ? object->node->child : NULL;
    for (const cJSON *child = first; child; child = child->next) {
        if (is_known(object, child->string)) continue;
        unknown_key_error(object, child->string);
        return;
    }
    if (object->missing) missing_error(object, object->missing);
}
