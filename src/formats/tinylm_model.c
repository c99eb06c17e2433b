/* Run directories: our own format. */
#include "formats/model_format.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/model_weights.h"
#include "formats/safetensors.h"

/* The object "model" of a resolved config.json. */
static bool read_config(const cJSON *json, const char *path, ModelConfig *config, Error *error) {
    KeysReader reader = {.file = path, .error = error};
    *config = (ModelConfig){0};
    bool good = keys_read(&reader, model_keys, "model", json_get(json, "model"), config) &&
                model_config_check(config, &reader);
    if (good && config->vocab_size == 0)
        return error_set(error, "%s: model.vocab_size is missing; this is no run's own config",
                         path);
    return good;
}

/* Refuses a tokenizer that is not the one the run was trained with: its checkpoint remembers that
 * one's fingerprint. A run without a readable checkpoint is believed. */
static bool check_tokenizer(const ModelFile *file, const char *directory, const char *tokenizer,
                            Error *error) {
    char *path = path_join(directory, "checkpoint.safetensors");
    Safetensors checkpoint;
    Error ignored;
    bool same = true;
    if (file_exists(path) && safetensors_open(&checkpoint, path, &ignored)) {
        const char *text = safetensors_metadata(&checkpoint, "tokenizer");
        same = !text || strtoull(text, NULL, 16) == tokenizer_fingerprint(file->tokenizer.bpe);
        safetensors_close(&checkpoint);
    }
    free(path);
    return same ||
           error_set(error,
                     "%s: is not the tokenizer that this run was trained with; put the right "
                     "one back",
                     tokenizer);
}

/* The special token that separated the documents in training, the first one of the config; NULL in a
 * folder that was converted from elsewhere. */
static const char *separator_of(const cJSON *config) {
    const cJSON *specials = json_get(json_get(config, "tokenizer"), "special_tokens");
    return cJSON_GetStringValue(cJSON_GetArrayItem(specials, 0));
}

/* The tokenizer of a run directory, when it has one. */
static bool read_tokenizer(ModelFile *file, const char *directory, const cJSON *config,
                           Error *error) {
    char *bpe = path_join(directory, "tokenizer"), *pieces = path_join(directory, "tokenizer.bin");
    bool good = true;
    if (directory_exists(bpe)) {
        good = model_file_load_tokenizer(file, bpe, separator_of(config), error) &&
               check_tokenizer(file, directory, bpe, error);
    } else if (file_exists(pieces)) {
        file->tokenizer.pieces =
            llama2c_tokenizer_read(pieces, file->model->config.vocab_size, error);
        good = file->tokenizer.pieces != NULL;
    }
    free(bpe);
    free(pieces);
    return good;
}

static bool read_from(ModelFile *file, const char *directory, const char *weights,
                      const char *tokenizer, Error *error) {
    ModelConfig config;
    char *config_path = path_join(directory, "config.json");
    cJSON *json = json_read(config_path, MODEL_CONFIG_LIMIT, error);
    bool good = json && read_config(json, config_path, &config, error) &&
                (file->model = model_create(&config, true, error)) != NULL &&
                model_weights_load(file->model, weights, error) &&
                (tokenizer ? model_file_load_tokenizer(file, tokenizer, NULL, error)
                           : read_tokenizer(file, directory, json, error));
    cJSON_Delete(json);
    free(config_path);
    return good;
}

static bool has_config(const char *directory) {
    char *config = path_join(directory, "config.json");
    bool found = file_exists(config);
    free(config);
    return found;
}

/* The folder that holds config.json: the file's own, or for checkpoints/… the one above. */
static char *find_run(const char *weights, Error *error) {
    char *directory = path_directory(weights), *parent = path_join(directory, "..");
    char *run = has_config(directory) ? directory : has_config(parent) ? parent : NULL;
    if (!run)
        error_set(error,
                  "%s: has no config.json beside it or one folder up, which would describe the "
                  "model",
                  weights);
    if (run != directory) free(directory);
    if (run != parent) free(parent);
    return run;
}

static bool read_model(ModelFile *file, const char *path, const char *tokenizer, Error *error) {
    bool is_directory = directory_exists(path);
    char *directory = is_directory ? string_copy(path) : find_run(path, error);
    char *weights = is_directory ? path_join(path, "model.safetensors") : string_copy(path);
    bool good = directory && read_from(file, directory, weights, tokenizer, error);
    free(weights);
    free(directory);
    return good;
}

/* ---- writing ---- */

/* Which tokens begin and end a text is not written: reading finds <|endoftext|>, or the first one. */
static void check_ends(ModelFile *file) {
    if (!file->tokenizer.bpe) return;
    ModelTokenizer again;
    model_tokenizer_take(&again, file->tokenizer.bpe, NULL);
    if (again.start != file->tokenizer.start || again.end_count != file->tokenizer.end_count ||
        again.ends[0] != file->tokenizer.ends[0])
        model_file_warn(file,
                        "its texts begin and end with other tokens than <|endoftext|> or the first "
                        "special one; this is lost");
}

static bool write_model(ModelFile *file, const char *directory, bool half, Error *error) {
    (void)half;
    check_ends(file);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddItemToObject(root, "model", keys_write(model_keys, &file->model->config));
    char *text = json_finish(root, 3);
    char *config = path_join(directory, "config.json");
    char *weights = path_join(directory, "model.safetensors");
    char *bpe = path_join(directory, "tokenizer"), *pieces = path_join(directory, "tokenizer.bin");
    const ModelTokenizer *tokenizer = &file->tokenizer;
    bool written =
        file_write(config, text, strlen(text), error) &&
        model_weights_save(file->model, weights, error) &&
        (!tokenizer->bpe || tokenizer_save(tokenizer->bpe, bpe, error)) &&
        (!tokenizer->pieces || llama2c_tokenizer_write(tokenizer->pieces, pieces, error));
    free(pieces);
    free(bpe);
    free(weights);
    free(config);
    free(text);
    return written;
}

/* A config.json of ours has the object "model". */
static bool detect(const ModelClues *clues) {
    if (clues->config) return json_get(clues->config, "model") != NULL;
    return path_ends_with(clues->path, ".safetensors");
}

const ModelFormat tinylm_format = {.name = "tinylm",
                                   .is_directory = true,
                                   .detect = detect,
                                   .read = read_model,
                                   .write = write_model};
