/* A model in any of the formats this program reads and writes, and its tokenizer.
 *
 *   tinylm       a run directory: config.json, model.safetensors, tokenizer/ (or tokenizer.bin)
 *   huggingface  a directory with config.json (LlamaForCausalLM), model.safetensors or its shards,
 *                tokenizer.json
 *   gguf         one file, architecture "llama", tokenizer inside
 *   llama2c      a legacy .bin of llama2.c, its tokenizer.bin beside it
 *
 * In memory all are a Model with our names and the RoPE layout its config names; Hugging Face's is
 * "half", the other three are "interleaved" or, tinylm, either. */
#ifndef TINYLM_FORMATS_MODEL_FILE_H
#define TINYLM_FORMATS_MODEL_FILE_H

#include "base/error.h"
#include "formats/model_tokenizer.h"
#include "model/transformer.h"

enum { MODEL_CONFIG_LIMIT = 1 << 24 }; /* bytes of a config.json */

typedef enum ModelFormat {
    MODEL_TINYLM,
    MODEL_HUGGINGFACE,
    MODEL_GGUF,
    MODEL_LLAMA2C,
    MODEL_FORMAT_COUNT
} ModelFormat;

typedef struct ModelFile {
    ModelFormat format;
    char *path; /* what was read: the directory or the file */
    Model *model;
    ModelTokenizer tokenizer;
    char **warnings; /* one line each, for the command to print */
    int warning_count;
} ModelFile;

/* The names for `--to`: "tinylm", "hf", "gguf", "llama2c". */
const char *model_format_name(ModelFormat format);

/* Reads a model of any format, found out from the path and the file's first bytes: a directory, a
 * .safetensors file (config.json beside it or one folder up), a .gguf or a .bin file. `tokenizer`
 * (or NULL) is a path to use in place of the model's own: a tokenizer directory or tokenizer.json,
 * for .bin models a tokenizer.bin. Errors name the file and what is wrong; free with model_file_free
 * after success only. */
bool model_file_read(ModelFile *file, const char *path, const char *tokenizer, Error *error);
void model_file_free(ModelFile *file);

/* Writes the model in another format: a new directory (its name must be free, or an empty
 * directory), or a file that is replaced. Complete or not at all. `half` stores GGUF matrices as
 * F16. Adds to file->warnings what is lost on the way. Errors: what the format cannot hold. */
bool model_file_write(ModelFile *file, ModelFormat format, const char *path, bool half,
                      Error *error);

/* Adds a warning, printf style. */
void model_file_warn(ModelFile *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- one pair of functions per format, called by the above ---- */

bool tinylm_read(ModelFile *file, const char *path, Error *error);
bool tinylm_write(ModelFile *file, const char *path, Error *error);
bool huggingface_read(ModelFile *file, const char *path, Error *error); /* or one of its files */
bool huggingface_write(ModelFile *file, const char *directory, Error *error);
bool gguf_model_read(ModelFile *file, const char *path, Error *error);
bool gguf_model_write(ModelFile *file, const char *path, bool half, Error *error);
bool llama2c_read(ModelFile *file, const char *path, const char *tokenizer, Error *error);
/* The files' contents from memory; `name` stands for the file in messages. On error the caller frees
 * what `file` has got so far with model_file_free. */
bool gguf_model_parse(ModelFile *file, const void *data, size_t size, const char *name,
                      Error *error);
bool llama2c_parse(ModelFile *file, const void *data, size_t size, const char *name, Error *error);
bool llama2c_write(ModelFile *file, const char *path, Error *error);

#endif
