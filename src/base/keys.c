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

bool keys_require(KeysReader *reader, bool holds, const char *path, int64_t value,
                  const char *relation, int64_t bound) {
    if (!holds)
        keys_error(reader, path, "%s is %" PRId64 "; it must %s (%" PRId64 ")", path, value,
                   relation, bound);
    return !reader->failed;
}

/* "object.key", to be freed. */
static char *join(const char *path, const char *name) {
    return string_format("%s%s%s", path, *path ? "." : "", name);
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

/* The index of a name; -1: not there. */
static int find_name(const char *name, const char *const *names, int count) {
    int i = count - 1;
    while (i >= 0 && strcmp(name, names[i]) != 0) i--;
    return i;
}

static int find_choice(const Key *key, const char *name) {
    return find_name(name, key->choices, choice_count(key));
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

/* "path is VALUE; it must be …", the value cut short, but never inside a character, and the nearest choice. */
static void value_error(KeysReader *reader, const Key *key, const char *path, const cJSON *node) {
    enum { LONGEST = 100 };
    char *value = json_to_text(node, 0), *allowed = allowed_text(key);
    size_t end = strlen(value);
    bool cut = end > LONGEST;
    if (cut) end = LONGEST;
    while (cut && end > 0 && ((unsigned char)value[end] & 0xC0) == 0x80) end--;
    value[end] = '\0';
    const char *nearest = NULL;
    if (key->kind == KEY_CHOICE && cJSON_IsString(node))
        nearest = nearest_name(node->valuestring, key->choices, choice_count(key));
    keys_error(reader, path, "%s is %s%s; it must be %s%s%s%s", path, value, cut ? "…" : "",
               allowed, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
               nearest ? "\"?" : "");
    free(value);
    free(allowed);
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
    if (!reader->failed && !store(key, node, (char *)config + key->offset))
        value_error(reader, key, path, node);
    return !reader->failed;
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

static int chosen(const Key *selector, const void *config) {
    return *(const int *)((const char *)config + selector->offset);
}

/* Walks over a table and then over the further keys that the struct's choice brings with it. */
typedef struct KeyWalk {
    const Key *next;
    const Key *selector; /* the key on whose value further keys depend, or NULL */
    bool in_variant;
} KeyWalk;

static const Key *next_key(KeyWalk *walk, const void *config) {
    if (!walk->next->name && walk->selector && !walk->in_variant) {
        const Key *variant = walk->selector->variants[chosen(walk->selector, config)];
        if (variant) walk->next = variant;
        walk->in_variant = true;
    }
    if (walk->next->variants) walk->selector = walk->next;
    return walk->next->name ? walk->next++ : NULL;
}

static void read_child(KeysReader *reader, const Key *key, const char *path, const cJSON *node,
                       void *config) {
    if (may_be_absent(key)) *(bool *)((char *)config + key->offset) = node != NULL;
    if (node && !cJSON_IsObject(node))
        value_error(reader, key, path, node);
    else if (node || !may_be_absent(key))
        keys_read(reader, key->keys, path, node, part_of(key, config));
}

/* Reads a key or stores its default; false when it is missing. */
static bool read_row(KeysReader *reader, const Key *key, const char *path, const cJSON *object,
                     void *config) {
    const cJSON *node = json_get(object, key->name);
    char *full = join(path, key->name);
    bool present = node || key->fallback;
    if (key->kind == KEY_OBJECT)
        read_child(reader, key, full, node, config);
    else if (node)
        key_read(reader, key, full, node, config);
    else
        present = store_default(key, config) || !object; /* then the object is what is missing */
    free(full);
    return present;
}

static void missing_error(KeysReader *reader, const char *path, const Key *key) {
    char *full = join(path, key->name);
    keys_error(reader, full, "%s is missing; it has no default", full);
    free(full);
}

enum { MOST_NAMES = 256 };
typedef struct Places {
    const char *names[MOST_NAMES];
    char *paths[MOST_NAMES];
    int count;
} Places;

/* All keys of a table, those inside objects and of all variants included. */
static void collect(Places *all, const Key *keys, const char *path) {
    for (const Key *key = keys; key && key->name && all->count < MOST_NAMES; key++) {
        char *full = join(path, key->name);
        all->names[all->count] = key->name;
        all->paths[all->count++] = full;
        if (key->kind == KEY_OBJECT) collect(all, key->keys, full);
        for (int i = 0; key->variants && key->choices[i]; i++) collect(all, key->variants[i], path);
    }
}

/* `known`: the `count` keys of this object. */
static void unknown_error(KeysReader *reader, const Key *selector, const char *path,
                          const char *name, const char *const *known, int count,
                          const void *config) {
    Places all = {.count = 0};
    collect(&all, reader->all, "");
    char *full = join(path, name), *list = quote_names(known, count, ", ");
    const char *nearest = nearest_name(name, known, count);
    const char *other = nearest ? NULL : nearest_name(name, all.names, all.count);
    for (int i = 0; other && !nearest && i < all.count; i++) /* not the key of another variant */
        if (all.names[i] == other && strcmp(all.paths[i], full) != 0) nearest = all.paths[i];
    char *remedy = nearest ? string_format("did you mean \"%s\"?", nearest)
                           : string_format("known here: %s", list);
    int choice = selector ? chosen(selector, config) : 0;
    bool named = selector && !(may_be_absent(selector) && choice == 0);
    keys_error(reader, full, "unknown key \"%.200s\"%s%s%s; %s", full, named ? " for \"" : "",
               named ? selector->choices[choice] : "", named ? "\"" : "", remedy);
    free(full);
    free(list);
    free(remedy);
    for (int i = 0; i < all.count; i++) free(all.paths[i]);
}

bool keys_read(KeysReader *reader, const Key *keys, const char *path, const cJSON *object,
               void *config) {
    if (!*path && !cJSON_IsObject(object))
        return keys_error(reader, "", "the whole must be an object: { \"key\": value, … }");
    const char *known[MOST_NAMES];
    int count = 0;
    const Key *missing = NULL, *key;
    KeyWalk walk = {.next = keys};
    while (!reader->failed && (key = next_key(&walk, config))) {
        known[count++] = key->name;
        if (read_row(reader, key, path, object, config)) continue;
        if (key->variants) missing_error(reader, path, key); /* what is known depends on it */
        if (!missing) missing = key;
    }
    for (const cJSON *item = object ? object->child : NULL; item && !reader->failed;
         item = item->next)
        if (find_name(item->string, known, count) < 0)
            unknown_error(reader, walk.selector, path, item->string, known, count, config);
    if (missing) missing_error(reader, path, missing);
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
        return zero && !*(const bool *)at ? NULL : keys_write(key->keys, part_of(key, config));
    default:
        return zero && ((const TextList *)at)->count == 0 ? NULL : texts_to_json(key, at);
    }
}

cJSON *keys_write(const Key *keys, const void *config) {
    cJSON *object = cJSON_CreateObject(), *value;
    const Key *key;
    for (KeyWalk walk = {.next = keys}; (key = next_key(&walk, config));)
        if ((value = value_to_json(key, config))) cJSON_AddItemToObject(object, key->name, value);
    return object;
}

void keys_free(const Key *keys, void *config) {
    const Key *key;
    for (KeyWalk walk = {.next = keys}; (key = next_key(&walk, config));) {
        void *at = (char *)config + key->offset;
        if (key->kind == KEY_OBJECT) {
            keys_free(key->keys, part_of(key, config));
        } else if (key->kind == KEY_TEXT) {
            free(*(char **)at);
        } else if (key->kind >= KEY_TEXTS) {
            TextList *list = at;
            for (int64_t i = 0; i < list->count; i++) free(list->items[i]);
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
