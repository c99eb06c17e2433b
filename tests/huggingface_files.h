/* Shared by the tests of Hugging Face directories: a small one, and changes of its JSON files. */
#ifndef TINYLM_TESTS_HUGGINGFACE_FILES_H
#define TINYLM_TESTS_HUGGINGFACE_FILES_H

#include "model_files.h"

static int directories;

/* A fresh Hugging Face directory of a small model. */
static inline const char *fresh_directory(const ModelConfig *config) {
    char name[32];
    snprintf(name, sizeof name, "model%d-hf", directories++);
    const char *path = scratch_path(name);
    ModelFile file = small_file(config, false);
    write_model(&file, MODEL_HUGGINGFACE, path);
    model_file_free(&file);
    return path;
}

/* Sets a key of a JSON file to a value, or takes it out (NULL). */
static inline void edit_file(const char *directory, const char *name, const char *key,
                             const char *json) {
    char *path = path_join(directory, name);
    cJSON *config = read_json(path);
    cJSON_DeleteItemFromObjectCaseSensitive(config, key);
    if (json) cJSON_AddItemToObject(config, key, cJSON_Parse(json));
    char *text = cJSON_Print(config);
    write_bytes(path, text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(config);
    free(path);
}

static inline void edit_config(const char *directory, const char *key, const char *json) {
    edit_file(directory, "config.json", key, json);
}

static inline bool warned(const ModelFile *file, const char *part) {
    for (int i = 0; i < file->warning_count; i++)
        if (strstr(file->warnings[i], part)) return true;
    return false;
}

#endif
