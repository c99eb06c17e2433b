/* The interface of a model format: one ModelFormat value, listed in the table of model_file.c. A new
 * format is one file with such a value, and its name in that table. */
#ifndef TINYLM_FORMATS_MODEL_FORMAT_H
#define TINYLM_FORMATS_MODEL_FORMAT_H

#include <cjson/cJSON.h>

#include "base/error.h"
#include "tokenizer/model_tokenizer.h"
#include "model/transformer.h"

enum { MODEL_CONFIG_LIMIT = 1 << 24 }; /* bytes of a config.json */

typedef struct ModelFile {
    const struct ModelFormat *format;
    char *path; /* what was read: the directory or the file */
    Model *model;
    ModelTokenizer tokenizer;
    char **warnings; /* one line each, for the command to print */
    int warning_count;
} ModelFile;

/* What a format is recognized by. */
typedef struct ModelClues {
    const char *path;
    const uint8_t *start; /* of a file; NULL for a directory */
    size_t size;
    const cJSON *config; /* config.json in the directory or beside a .safetensors file, or NULL */
} ModelClues;

typedef struct ModelFormat {
    const char *name;   /* for `--to` */
    const char *ending; /* of a path to write that asks for this format; or NULL */
    bool is_directory;  /* `write` fills one that exists already, under a temporary name */
    bool has_f16;       /* `write` heeds `half` */
    bool (*detect)(const ModelClues *clues);
    /* Fills file->model and file->tokenizer. `tokenizer` (or NULL) is a path to use in place of the model's
     * own. On error the caller frees what `file` has got so far. Formats of one file have `parse`, which
     * gets its bytes (`path` stands for it in messages; file->path is NULL when there is no file); the
     * others have `read`. */
    bool (*read)(ModelFile *file, const char *path, const char *tokenizer, Error *error);
    bool (*parse)(ModelFile *file, const void *data, size_t size, const char *path,
                  const char *tokenizer, Error *error);
    /* Whether the format can hold the model; NULL: always. */
    bool (*check)(const ModelFile *file, const char *path, bool half, Error *error);
    bool (*write)(ModelFile *file, const char *path, bool half, Error *error);
} ModelFormat;

extern const ModelFormat tinylm_format, huggingface_format, gguf_format, llama2c_format;

/* Adds a warning, printf style. */
void model_file_warn(ModelFile *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Loads a BPE tokenizer that begins and ends texts with `separator` (see model_tokenizer_take). */
bool model_file_load_tokenizer(ModelFile *file, const char *path, const char *separator,
                               Error *error);

/* Whether a path ends so. */
bool path_ends_with(const char *path, const char *ending);

#endif
