#include "formats/model_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

static const char *const FORMAT_NAMES[MODEL_FORMAT_COUNT] = {"tinylm", "hf", "gguf", "llama2c"};

const char *model_format_name(ModelFormat format) {
    return FORMAT_NAMES[format];
}

void model_file_warn(ModelFile *file, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    file->warnings =
        reallocate(file->warnings, (size_t)file->warning_count + 1, sizeof *file->warnings);
    file->warnings[file->warning_count++] = string_copy(text);
}

void model_file_free(ModelFile *file) {
    for (int i = 0; i < file->warning_count; i++) free(file->warnings[i]);
    free(file->warnings);
    free(file->path);
    model_free(file->model);
    model_tokenizer_free(&file->tokenizer);
    *file = (ModelFile){0};
}

/* ---- finding out the format ---- */

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* A config.json of ours has the object "model", one of Hugging Face names its "model_type". */
static bool config_format(const char *config_path, ModelFormat *format, Error *error) {
    cJSON *config = json_read(config_path, MODEL_CONFIG_LIMIT, error);
    if (!config) return false;
    bool ours = json_get(config, "model") != NULL;
    bool theirs = json_get(config, "model_type") || json_get(config, "architectures");
    cJSON_Delete(config);
    *format = ours ? MODEL_TINYLM : MODEL_HUGGINGFACE;
    if (!ours && !theirs)
        return error_set(error,
                         "%s: describes no model: it has neither \"model\" (tinylm) nor "
                         "\"model_type\" (Hugging Face)",
                         config_path);
    return true;
}

static bool detect_directory(const char *path, ModelFormat *format, Error *error) {
    char *config = path_join(path, "config.json");
    bool found = file_exists(config);
    if (!found)
        error_set(error, "%s: has no config.json; a model directory has one", path);
    else
        found = config_format(config, format, error);
    free(config);
    return found;
}

static bool detect(const char *path, ModelFormat *format, Error *error) {
    if (directory_exists(path)) return detect_directory(path, format, error);
    MappedFile file;
    if (!file_map(&file, path, error)) return false;
    bool is_gguf = file.size >= 4 && memcmp(file.data, "GGUF", 4) == 0;
    file_unmap(&file);
    if (is_gguf || ends_with(path, ".gguf")) {
        *format = MODEL_GGUF;
    } else if (ends_with(path, ".bin")) {
        *format = MODEL_LLAMA2C;
    } else if (ends_with(path, ".safetensors")) {
        char *directory = path_directory(path), *config = path_join(directory, "config.json");
        *format = MODEL_TINYLM;
        bool good = !file_exists(config) || config_format(config, format, error);
        free(config);
        free(directory);
        return good;
    } else {
        return error_set(error,
                         "%s: is no model that this program knows: a directory with "
                         "config.json, .safetensors, .gguf or .bin",
                         path);
    }
    return true;
}

/* ---- reading and writing ---- */

static bool read_format(ModelFile *file, const char *path, const char *tokenizer, Error *error) {
    switch (file->format) {
    case MODEL_TINYLM:
        return tinylm_read(file, path, error);
    case MODEL_GGUF:
        return gguf_model_read(file, path, error);
    case MODEL_LLAMA2C:
        return llama2c_read(file, path, tokenizer, error);
    default:
        return huggingface_read(file, path, error);
    }
}

/* Replaces the model's own tokenizer by the one asked for. The ids that a Hugging Face directory or a GGUF
 * file names as ends stay. */
static bool override_tokenizer(ModelFile *file, const char *path, Error *error) {
    Tokenizer *bpe = tokenizer_load(path, error);
    if (!bpe) return false;
    ModelTokenizer own = file->tokenizer;
    model_tokenizer_free(&file->tokenizer);
    model_tokenizer_take(&file->tokenizer, bpe, NULL);
    if (file->format != MODEL_TINYLM)
        model_tokenizer_set_ends(&file->tokenizer, own.ends, own.end_count);
    return true;
}

bool model_file_read(ModelFile *file, const char *path, const char *tokenizer, Error *error) {
    *file = (ModelFile){0};
    if (!detect(path, &file->format, error)) return false;
    file->path = string_copy(path);
    bool read =
        read_format(file, path, tokenizer, error) &&
        (!tokenizer || file->format == MODEL_LLAMA2C || override_tokenizer(file, tokenizer, error));
    int64_t size = model_tokenizer_size(&file->tokenizer);
    if (read && size > file->model->config.vocab_size)
        read = error_set(error,
                         "%s: its tokenizer has %lld tokens and the model only %lld rows; they "
                         "do not belong together",
                         path, (long long)size, (long long)file->model->config.vocab_size);
    if (!read) model_file_free(file);
    return read;
}

bool model_file_write(ModelFile *file, ModelFormat format, const char *path, bool half,
                      Error *error) {
    switch (format) {
    case MODEL_TINYLM:
        return tinylm_write(file, path, error);
    case MODEL_HUGGINGFACE:
        return huggingface_write(file, path, error);
    case MODEL_GGUF:
        return gguf_model_write(file, path, half, error);
    default:
        return llama2c_write(file, path, error);
    }
}
