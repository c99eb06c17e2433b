/* Settings as a table: one row per key says its name, type, default, range and meaning, and where its
 * value lies in a struct. The table drives reading from JSON, writing back with every default spelled
 * out, freeing, and the list of keys in --help-config:
 *
 *     #define KEYS_OF ModelConfig                                // key_rows.h
 *     static const Key model_keys[] = {
 *         WHOLE("num_layers", num_layers, NULL, "[1, 10000]", "blocks"),
 *         REAL("norm_eps", norm_eps, "1e-5", "[1e-30, 1]", "added to the mean square"),
 *         END,
 *     };
 *
 * Rows are read and written in their order, so that a default can depend on the rows above it. A message
 * names file, key and value, and the --set that brought it:
 *
 *     configs/x.json: model.num_layers is 0; it must be a whole number from 1 to 10000
 *     configs/x.json: unknown key "model.num_layer"; did you mean "num_layers"?
 *     configs/x.json: unknown key "num_layers"; did you mean "model.num_layers"? */
#ifndef TINYLM_BASE_KEYS_H
#define TINYLM_BASE_KEYS_H

#include <stdio.h>

#include "base/json.h"

typedef enum KeyKind {
    KEY_WHOLE,         /* int64_t */
    KEY_REAL,          /* double */
    KEY_BOOL,          /* bool */
    KEY_CHOICE,        /* an enum: one of `choices`, as its number */
    KEY_TEXT,          /* char *, not empty; owned by the struct */
    KEY_TEXTS,         /* TextList: a list of texts that are not empty */
    KEY_PATHS,         /* TextList: a text, or a list of at least one */
    KEY_PATHS_OR_NULL, /* the same, with null in the list for no file: NULL */
    KEY_OBJECT,        /* the keys in `keys` */
} KeyKind;

typedef struct TextList {
    char **items;
    int64_t count;
} TextList;

typedef struct Key {
    const char *name; /* within its object; the last row of a table has none */
    KeyKind kind;
    size_t offset; /* of the value in the struct of the table */
    /* NULL: must be given. "(…)": may be left out, which is 0 or NULL, and is not written then. Else the
     * default as JSON (texts without quotes), or what `derive` computes, in words. An object of "{}" that
     * is left out has the defaults of its keys. */
    const char *fallback;
    const char *allowed; /* KEY_WHOLE and KEY_REAL: the interval, as in text.h */
    const char *meaning;
    const char *const *choices; /* KEY_CHOICE: names in the order of the enum, then NULL */
    const struct Key *const
        *variants;                /* KEY_CHOICE: further keys of the object by choice, or NULL */
    bool (*derive)(void *config); /* stores the default; false: there is none, it must be given */
    /* KEY_OBJECT. `offset` is that of the struct the keys belong to (0: the same struct); when the object
     * may be left out, that of a bool: whether it is there. Its keys then belong to the same struct. */
    const struct Key *keys;
} Key;

/* What the messages about one file need. */
typedef struct KeysReader {
    const char *file;
    Error *error;
    const char *const *overrides; /* `--set` texts that were applied */
    int override_count;
    const Key *all; /* the table of the whole file, to find the place of a misplaced key; or NULL */
    bool failed;    /* `error` has the first thing that was wrong; the rest was skipped */
} KeysReader;

/* Reads an object into a struct that is all zero: values, defaults, then complaints about unknown keys
 * (with the nearest one) and missing ones. `path` is that of the object, "" for the whole file. False
 * when the reader has failed, now or before; free with keys_free either way. */
bool keys_read(KeysReader *reader, const Key *keys, const char *path, const cJSON *object,
               void *config);

/* Reads a single value; `path` is that of the key, for messages. */
bool key_read(KeysReader *reader, const Key *key, const char *path, const cJSON *node,
              void *config);

/* The struct as an object. Read back it gives the same struct. */
cJSON *keys_write(const Key *keys, const void *config);

/* Frees the texts in the struct. */
void keys_free(const Key *keys, void *config);

/* Prints the table, a key a line: path, default, what is allowed, meaning. */
void keys_print(FILE *stream, const Key *keys, const char *path);

/* Fails with "file: …" or, when `path` ("model.d_model") was set on the command line, with the --set.
 * Returns false. */
bool keys_error(KeysReader *reader, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A condition between whole numbers: unless it holds, fails with "path is VALUE; it must RELATION (BOUND)",
 * as in "model.num_heads is 5; it must divide model.d_model (32)". False when the reader has failed. */
bool keys_require(KeysReader *reader, bool holds, const char *path, int64_t value,
                  const char *relation, int64_t bound);

/* Applies "a.b.c=value" to a tree before it is read: the value is JSON, or else a plain string, and
 * replaces what was there. Missing objects on the way are created. Setting a key named "type" first
 * removes its siblings, which belong to the old type. Errors: no '=', an empty key, a way through
 * something that is no object, text that is not UTF-8. `file` is the tree's name in messages. */
bool keys_override(cJSON *root, const char *text, const char *file, Error *error);

#endif
