#include "formats/model_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/directory_writer.h"

/* In the order in which they are asked whether a path is theirs. */
const ModelFormat *const model_formats[] = {&tinylm_format, &huggingface_format, &gguf_format,
                                            &llama2c_format, NULL};

const ModelFormat *model_format_find(const char *name) {
    const ModelFormat *const *format = model_formats;
    while (*format && strcmp((*format)->name, name) != 0) format++;
    return *format;
}

void model_file_free(ModelFile *file) {
    for (int i = 0; i < file->warning_count; i++) free(file->warnings[i]);
    free(file->warnings);
    free(file->path);
    model_free(file->model);
    model_tokenizer_free(&file->tokenizer);
    *file = (ModelFile){0};
}

/* ---- reading ---- */

static const ModelFormat *recognize(const ModelClues *clues, Error *error) {
    for (const ModelFormat *const *format = model_formats; *format; format++)
        if ((*format)->detect(clues)) return *format;
    error_set(error,
              clues->config ? "%s: its config.json has neither \"model\" (tinylm) nor "
                              "\"model_type\" (Hugging Face), so it describes no model"
                            : "%s: is not a recognized model format: a directory with "
                              "config.json, .safetensors, .gguf or .bin",
              clues->path);
    return NULL;
}

static const ModelFormat *detect(const char *path, Error *error) {
    bool is_directory = directory_exists(path), good = true;
    MappedFile map = {NULL, 0};
    if (!is_directory && !file_map(&map, path, error)) return NULL;
    char *directory = is_directory ? string_copy(path) : path_directory(path);
    char *config_path = path_join(directory, "config.json");
    cJSON *config = NULL;
    if (is_directory || path_ends_with(path, ".safetensors")) {
        if (file_exists(config_path)) {
            config = json_read(config_path, MODEL_CONFIG_LIMIT, error);
            good = config != NULL;
        } else if (is_directory) {
            good = error_set(error, "%s: has no config.json; a model directory has one", path);
        }
    }
    ModelClues clues = {path, map.data, map.size, config};
    const ModelFormat *format = good ? recognize(&clues, error) : NULL;
    cJSON_Delete(config);
    free(config_path);
    free(directory);
    if (!is_directory) file_unmap(&map);
    return format;
}

static bool read_model(ModelFile *file, const char *path, const char *tokenizer, Error *error) {
    MappedFile map;
    if (file->format->read) return file->format->read(file, path, tokenizer, error);
    if (!file_map(&map, path, error)) return false;
    bool read = file->format->parse(file, map.data, map.size, path, tokenizer, error);
    file_unmap(&map);
    return read;
}

bool model_file_read(ModelFile *file, const char *path, const char *tokenizer, Error *error) {
    *file = (ModelFile){.format = detect(path, error)};
    if (!file->format) return false;
    file->path = string_copy(path);
    bool read = read_model(file, path, tokenizer, error);
    int64_t size = model_tokenizer_size(&file->tokenizer);
    if (read && size > file->model->config.vocab_size)
        read = error_set(error,
                         "%s: its tokenizer has %lld tokens, but the model only %lld rows; they "
                         "belong to different models",
                         path, (long long)size, (long long)file->model->config.vocab_size);
    if (!read) model_file_free(file);
    return read;
}

/* ---- writing ---- */

bool model_file_write(ModelFile *file, const ModelFormat *format, const char *path, bool half,
                      Error *error) {
    DirectoryWriter writer;
    if (format->check && !format->check(file, path, half, error)) return false;
    if (!format->is_directory) return format->write(file, path, half, error);
    if (!directory_writer_open(&writer, path, error)) return false;
    if (format->write(file, writer.temporary_path, half, error))
        return directory_writer_commit(&writer, error);
    directory_writer_abort(&writer);
    return false;
}
