#include "base/keys.h"

#include <inttypes.h>
#include <stdarg.h>
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

bool keys_error(KeysReader *reader, const char *path, const char *format, ...) {
    if (reader->failed) return false;
    reader->failed = true;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (int i = reader->override_count - 1; i >= 0; i--)
        if (override_touches(reader->overrides[i], path))
            return error_set(reader->error, "%s with --set %.300s: %s", reader->file,
                             reader->overrides[i], text);
    return error_set(reader->error, "%s: %s", reader->file, text);
}

/* "object.key", to be freed. */
static char *join(const char *path, const char *name) {
    return string_format("%s%s%s", path, *path ? "." : "", name);
}

/* "path is VALUE; it must be …", the value cut short, but never inside a character. */
static bool value_error(KeysReader *reader, const char *path, const cJSON *node,
                        const char *allowed) {
    enum { LONGEST = 100 };
    char *value = json_to_text(node, 0);
    size_t end = strlen(value);
    bool cut = end > LONGEST;
    if (cut) end = LONGEST;
    while (cut && end > 0 && ((unsigned char)value[end] & 0xC0) == 0x80) end--;
    value[end] = '\0';
    keys_error(reader, path, "%s is %s%s; it must be %s", path, value, cut ? "…" : "", allowed);
    free(value);
    return false;
}

/* `"a", "b" or "c"`, to be freed. */
static char *quote_names(const char *const *names, int count, const char *last_separator) {
    char *list = string_copy("");
    for (int i = 0; i < count; i++) {
        const char *separator = i == 0 ? "" : i == count - 1 ? last_separator : ", ";
        char *longer = string_format("%s%s\"%s\"", list, separator, names[i]);
        free(list);
        list = longer;
    }
    return list;
}

/* ---- single values ---- */

static int choice_count(const Key *key) {
    int count = 0;
    while (key->choices[count]) count++;
    return count;
}

static int find_choice(const Key *key, const char *name) {
    int i = choice_count(key) - 1;
    while (i >= 0 && strcmp(name, key->choices[i]) != 0) i--;
    return i;
}

/* What a value may be, in words, to be freed. */
static char *allowed_text(const Key *key) {
    double low, high;
    switch (key->kind) {
    case KEY_WHOLE:
        sscanf(key->allowed, "[%lf, %lf]", &low, &high);
        return string_format("a whole number from %.0f to %.0f", low, high);
    case KEY_REAL:
        return string_format("a number in %s", key->allowed);
    case KEY_BOOL:
        return string_copy("true or false");
    case KEY_CHOICE:
        return quote_names(key->choices, choice_count(key), " or ");
    case KEY_TEXT:
        return string_copy("text in double quotes, not empty");
    case KEY_TEXTS:
        return string_copy("a list of texts in double quotes, none of them empty");
    case KEY_PATHS:
        return string_copy("text in double quotes, or a list of such texts, not empty");
    case KEY_PATHS_OR_NULL:
        return string_copy("text in double quotes, or a list of such texts and null, not empty");
    default:
        return string_copy("an object: { \"key\": value, … }");
    }
}

static bool is_text(const cJSON *node) {
    return cJSON_IsString(node) && *node->valuestring;
}

static bool read_texts(const Key *key, const cJSON *node, TextList *list) {
    if (key->kind != KEY_TEXTS && is_text(node)) {
        list->items = allocate(1, sizeof *list->items);
        list->items[list->count++] = string_copy(node->valuestring);
        return true;
    }
    if (!cJSON_IsArray(node) || (key->kind != KEY_TEXTS && !node->child)) return false;
    list->items = allocate((unsigned long long)cJSON_GetArraySize(node), sizeof *list->items);
    for (const cJSON *item = node->child; item; item = item->next) {
        bool null = cJSON_IsNull(item) && key->kind == KEY_PATHS_OR_NULL;
        if (!null && !is_text(item)) return false;
        list->items[list->count++] = null ? NULL : string_copy(item->valuestring);
    }
    return true;
}

/* Stores a value; false when it is of another type or out of range. */
static bool store(const Key *key, const cJSON *node, void *at) {
    int64_t whole;
    switch (key->kind) {
    case KEY_WHOLE:
        if (!json_whole(node, &whole) || !interval_contains(key->allowed, (double)whole))
            return false;
        *(int64_t *)at = whole;
        return true;
    case KEY_REAL:
        if (!cJSON_IsNumber(node) || !interval_contains(key->allowed, node->valuedouble))
            return false;
        *(double *)at = node->valuedouble;
        return true;
    case KEY_BOOL:
        *(bool *)at = cJSON_IsTrue(node);
        return cJSON_IsBool(node);
    case KEY_CHOICE:
        if (!cJSON_IsString(node) || find_choice(key, node->valuestring) < 0) return false;
        *(int *)at = find_choice(key, node->valuestring);
        return true;
    case KEY_TEXT:
        if (is_text(node)) *(char **)at = string_copy(node->valuestring);
        return is_text(node);
    default:
        return read_texts(key, node, at);
    }
}

bool key_read(KeysReader *reader, const Key *key, const char *path, const cJSON *node,
              void *config) {
    if (reader->failed) return false;
    if (store(key, node, (char *)config + key->offset)) return true;
    const char *nearest = NULL;
    if (key->kind == KEY_CHOICE && cJSON_IsString(node))
        nearest = nearest_name(node->valuestring, key->choices, choice_count(key));
    char *allowed = allowed_text(key);
    char *remedy = nearest ? string_format("%s; did you mean \"%s\"?", allowed, nearest)
                           : string_copy(allowed);
    value_error(reader, path, node, remedy);
    free(allowed);
    free(remedy);
    return false;
}

static bool may_be_absent(const Key *key) {
    return key->fallback && *key->fallback == '(';
}

/* Stores the default; false when there is none. Texts are NULL already. */
static bool store_default(const Key *key, void *config) {
    void *at = (char *)config + key->offset;
    if (key->derive) return key->derive(config);
    if (!key->fallback || may_be_absent(key)) return key->fallback != NULL;
    if (key->kind == KEY_WHOLE) *(int64_t *)at = (int64_t)strtod(key->fallback, NULL);
    if (key->kind == KEY_REAL) *(double *)at = strtod(key->fallback, NULL);
    if (key->kind == KEY_BOOL) *(bool *)at = strcmp(key->fallback, "true") == 0;
    if (key->kind == KEY_CHOICE) *(int *)at = find_choice(key, key->fallback);
    return true;
}

/* ---- objects ---- */

/* The struct that the keys of an object belong to. */
static void *part_of(const Key *object, const void *config) {
    return (char *)(uintptr_t)config + (may_be_absent(object) ? 0 : object->offset);
}

static bool is_absent(const Key *object, const void *config) {
    return may_be_absent(object) && !*(const bool *)((const char *)config + object->offset);
}

/* The key on whose value further keys of the table depend, or NULL. */
static const Key *find_selector(const Key *keys) {
    for (const Key *key = keys; key->name; key++)
        if (key->variants) return key;
    return NULL;
}

static int chosen(const Key *selector, const void *config) {
    return *(const int *)((const char *)config + selector->offset);
}

static const Key no_keys[] = {{.name = NULL}};

/* The further keys of a table that the struct's choice brings with it. */
static const Key *variant_keys(const Key *keys, const void *config) {
    const Key *selector = find_selector(keys);
    const Key *more = selector ? selector->variants[chosen(selector, config)] : NULL;
    return more ? more : no_keys;
}

static const Key *read_child(KeysReader *reader, const Key *key, const char *path,
                             const cJSON *node, void *config) {
    if (may_be_absent(key)) *(bool *)((char *)config + key->offset) = node != NULL;
    if (node && !cJSON_IsObject(node)) {
        char *allowed = allowed_text(key);
        value_error(reader, path, node, allowed);
        free(allowed);
    } else if (node || !may_be_absent(key)) {
        keys_read(reader, key->keys, path, node, part_of(key, config));
    }
    return node || key->fallback ? NULL : key;
}

static bool missing_error(KeysReader *reader, const char *path, const Key *key) {
    char *full = join(path, key->name);
    keys_error(reader, full, "%s is missing; it has no default", full);
    free(full);
    return false;
}

/* Returns the first key of the table that is missing, or `missing` when that is one. */
static const Key *read_rows(KeysReader *reader, const Key *keys, const char *path,
                            const cJSON *object, void *config, const Key *missing) {
    for (const Key *key = keys; key->name && !reader->failed; key++) {
        const cJSON *node = json_get(object, key->name);
        const Key *absent = NULL;
        char *full = join(path, key->name);
        if (key->kind == KEY_OBJECT)
            absent = read_child(reader, key, full, node, config);
        else if (node)
            key_read(reader, key, full, node, config);
        else if (!store_default(key, config) && object)
            absent = key;
        free(full);
        if (absent && key->variants)
            missing_error(reader, path, key); /* what is known depends on it */
        if (!missing) missing = absent;
    }
    return missing;
}

enum { MOST_NAMES = 256 };
typedef struct Names {
    const char *names[MOST_NAMES];
    char *paths[MOST_NAMES];
    int count;
} Names;

/* All keys of a table, those inside objects and of all variants included. */
static void collect(Names *names, const Key *keys, const char *path, bool inside) {
    for (const Key *key = keys; key->name && names->count < MOST_NAMES; key++) {
        names->names[names->count] = key->name;
        names->paths[names->count] = join(path, key->name);
        char *full = names->paths[names->count++];
        if (inside && key->kind == KEY_OBJECT) collect(names, key->keys, full, true);
        for (int i = 0; inside && key->variants && key->choices[i]; i++)
            if (key->variants[i]) collect(names, key->variants[i], path, true);
    }
}

static void unknown_error(KeysReader *reader, const Key *keys, const char *path, const char *name,
                          const void *config) {
    Names here = {.count = 0}, all = {.count = 0};
    collect(&here, keys, path, false);
    collect(&here, variant_keys(keys, config), path, false);
    collect(&all, reader->all ? reader->all : no_keys, "", true);
    char *full = join(path, name), *known = quote_names(here.names, here.count, ", ");
    const char *nearest = nearest_name(name, here.names, here.count);
    const char *other = nearest ? NULL : nearest_name(name, all.names, all.count);
    for (int i = 0; other && !nearest && i < all.count; i++) /* not the key of another variant */
        if (all.names[i] == other && strcmp(all.paths[i], full) != 0) nearest = all.paths[i];
    char *remedy = nearest ? string_format("did you mean \"%s\"?", nearest)
                           : string_format("known here: %s", known);
    const Key *selector = find_selector(keys);
    int choice = selector ? chosen(selector, config) : 0;
    bool named = selector && !(may_be_absent(selector) && choice == 0);
    keys_error(reader, full, "unknown key \"%.200s\"%s%s%s; %s", full, named ? " for \"" : "",
               named ? selector->choices[choice] : "", named ? "\"" : "", remedy);
    free(full);
    free(known);
    free(remedy);
    for (int i = 0; i < here.count; i++) free(here.paths[i]);
    for (int i = 0; i < all.count; i++) free(all.paths[i]);
}

static bool has_name(const Key *keys, const char *name) {
    while (keys->name && strcmp(keys->name, name) != 0) keys++;
    return keys->name != NULL;
}

bool keys_read(KeysReader *reader, const Key *keys, const char *path, const cJSON *object,
               void *config) {
    if (!*path && !cJSON_IsObject(object))
        return keys_error(reader, "", "the whole must be an object: { \"key\": value, … }");
    const Key *missing = read_rows(reader, keys, path, object, config, NULL);
    const Key *more = variant_keys(keys, config);
    missing = read_rows(reader, more, path, object, config, missing);
    for (const cJSON *item = object ? object->child : NULL; item && !reader->failed;
         item = item->next)
        if (!has_name(keys, item->string) && !has_name(more, item->string))
            unknown_error(reader, keys, path, item->string, config);
    if (missing && !reader->failed) missing_error(reader, path, missing);
    return !reader->failed;
}

/* ---- writing, freeing, printing ---- */

static cJSON *texts_to_json(const Key *key, const TextList *list) {
    if (key->kind != KEY_TEXTS && list->count == 1 && list->items[0])
        return cJSON_CreateString(list->items[0]);
    cJSON *array = cJSON_CreateArray();
    for (int64_t i = 0; i < list->count; i++)
        cJSON_AddItemToArray(array, list->items[i] ? cJSON_CreateString(list->items[i])
                                                   : cJSON_CreateNull());
    return array;
}

/* NULL when the value is left out. */
static cJSON *value_to_json(const Key *key, const void *config) {
    const void *at = (const char *)config + key->offset;
    bool zero = may_be_absent(key);
    switch (key->kind) {
    case KEY_WHOLE:
        return zero && *(const int64_t *)at == 0 ? NULL
                                                 : cJSON_CreateNumber((double)*(const int64_t *)at);
    case KEY_REAL:
        return zero && *(const double *)at == 0 ? NULL : cJSON_CreateNumber(*(const double *)at);
    case KEY_BOOL:
        return cJSON_CreateBool(*(const bool *)at);
    case KEY_CHOICE:
        return zero && *(const int *)at == 0 ? NULL
                                             : cJSON_CreateString(key->choices[*(const int *)at]);
    case KEY_TEXT:
        return *(char *const *)at ? cJSON_CreateString(*(char *const *)at) : NULL;
    case KEY_OBJECT:
        return is_absent(key, config) ? NULL : keys_write(key->keys, part_of(key, config));
    default:
        return zero && ((const TextList *)at)->count == 0 ? NULL : texts_to_json(key, at);
    }
}

cJSON *keys_write(const Key *keys, const void *config) {
    cJSON *object = cJSON_CreateObject();
    const Key *parts[] = {keys, variant_keys(keys, config)};
    for (int i = 0; i < 2; i++)
        for (const Key *key = parts[i]; key->name; key++) {
            cJSON *value = value_to_json(key, config);
            if (value) cJSON_AddItemToObject(object, key->name, value);
        }
    return object;
}

void keys_free(const Key *keys, void *config) {
    const Key *parts[] = {keys, variant_keys(keys, config)};
    for (int i = 0; i < 2; i++)
        for (const Key *key = parts[i]; key->name; key++) {
            void *at = (char *)config + key->offset;
            if (key->kind == KEY_OBJECT) {
                keys_free(key->keys, part_of(key, config));
            } else if (key->kind == KEY_TEXT) {
                free(*(char **)at);
            } else if (key->kind >= KEY_TEXTS) {
                TextList *list = at;
                for (int64_t k = 0; k < list->count; k++) free(list->items[k]);
                free(list->items);
            }
        }
}

void keys_print(FILE *stream, const Key *keys, const char *path) {
    for (const Key *key = keys; key->name; key++) {
        char *full = join(path, key->name), *allowed = allowed_text(key);
        const char *fallback = key->fallback ? key->fallback : "required";
        if (key->kind == KEY_OBJECT)
            keys_print(stream, key->keys, full);
        else
            fprintf(stream, "%-39s  %-12s  %s; %s\n", full, fallback, key->meaning, allowed);
        for (int i = 0, next; key->variants && key->choices[i]; i = next) {
            for (next = i + 1; key->choices[next]; next++) /* choices with the same keys */
                if (key->variants[next] != key->variants[i]) break;
            if (!key->variants[i]) continue;
            char *names = quote_names(key->choices + i, next - i, " or ");
            fprintf(stream, "when %s is %s:\n", full, names);
            keys_print(stream, key->variants[i], path);
            free(names);
        }
        free(full);
        free(allowed);
    }
}
