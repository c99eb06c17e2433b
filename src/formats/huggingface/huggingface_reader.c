/* Hugging Face directories of the architecture LlamaForCausalLM: reading. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/huggingface/huggingface_config.h"
#include "formats/llama/llama.h"
#include "formats/huggingface/safetensors_shards.h"

/* ---- tensors ---- */

/* torch.compile puts "_orig_mod." before the names inside what it has compiled. */
static void drop_compiled(char *name) {
    static const char mark[] = "_orig_mod.";
    for (char *at; (at = strstr(name, mark)) != NULL;)
        memmove(at, at + strlen(mark), strlen(at + strlen(mark)) + 1);
}

/* The tensors of all shards by their names in a LlamaForCausalLM that was saved as it is. `base`:
 * it was saved without the head's part, so that names lack "model.". */
static bool list_tensors(StoredTensors *list, bool *base, const SafetensorsShards *shards,
                         const char *path, Error *error) {
    *base = false;
    for (int s = 0; s < shards->count; s++)
        for (int64_t i = 0; i < shards->files[s].tensors.count; i++) {
            const StoredTensor *tensor = &shards->files[s].tensors.items[i];
            stored_tensors_add(list, tensor->name, *tensor);
            char *name = list->items[list->count - 1].name;
            drop_compiled(name);
            *base = *base || strcmp(name, "embed_tokens.weight") == 0;
        }
    for (int64_t i = 0; *base && i < list->count; i++) {
        char *own = list->items[i].name;
        if (strcmp(own, "lm_head.weight") == 0) continue;
        list->items[i].name = string_format("model.%s", own);
        free(own);
    }
    const StoredTensor *twice = stored_tensors_sort(list);
    return !twice ||
           error_set(error, "%s: the tensor '%s' occurs twice (in two shards?)", path, twice->name);
}

static bool check_head(const StoredTensors *list, bool base, bool tied, const char *path,
                       Error *error) {
    if (tied || stored_tensors_find(list, "lm_head.weight")) return true;
    if (base)
        return error_set(error,
                         "%s: is a base model (LlamaModel) without the tensor 'lm_head.weight', "
                         "and tie_word_embeddings is false in config.json: without a head it "
                         "cannot predict tokens",
                         path);
    return error_set(error,
                     "%s: the tensor 'lm_head.weight' is missing, and tie_word_embeddings is "
                     "false in config.json; one of the two is wrong",
                     path);
}

/* A tied model's file may hold the head as well: transformers then ignores it. */
static void compare_tied_head(ModelFile *file, const StoredTensors *list) {
    const StoredTensor *head = stored_tensors_find(list, "lm_head.weight");
    const StoredTensor *table = stored_tensors_find(list, "model.embed_tokens.weight");
    if (!file->model->config.tie_embeddings || !head) return;
    if (head->type != table->type || head->bytes != table->bytes ||
        memcmp(head->data, table->data, table->bytes) != 0)
        model_file_warn(file,
                        "%s: lm_head.weight differs from the embeddings, but "
                        "tie_word_embeddings is true: it is ignored, as transformers does",
                        file->path);
}

static bool read_weights(ModelFile *file, const char *path, const ModelConfig *config,
                         Error *error) {
    /* a tied head, and the frequencies that old files keep */
    static const char *const others[] = {"lm_head.weight", "rotary_emb.inv_freq", NULL};
    SafetensorsShards shards = {0};
    StoredTensors list = {0};
    bool base, read = safetensors_shards_open(&shards, path, error) &&
                      list_tensors(&list, &base, &shards, path, error) &&
                      (file->model = model_create(config, true, error)) != NULL;
    WeightSource source = {&list, path, llama_huggingface_name, others, false};
    read = read && check_head(&list, base, config->tie_embeddings, path, error) &&
           model_weights_take(file->model, &source, error);
    if (read) compare_tied_head(file, &list);
    stored_tensors_free(&list, true);
    safetensors_shards_close(&shards);
    return read;
}

/* The ids under a key, which may be a single one or a list; returns how many. */
static int read_ids(const cJSON *config, const char *key, int64_t rows,
                    int64_t ids[MODEL_MOST_ENDS]) {
    const cJSON *item = json_get(config, key);
    int listed = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 1, count = 0;
    for (int i = 0; i < listed && count < MODEL_MOST_ENDS; i++) {
        const cJSON *id = cJSON_IsArray(item) ? cJSON_GetArrayItem(item, i) : item;
        if (json_whole(id, &ids[count]) && ids[count] < rows) count++;
    }
    return count;
}

/* The ids at which transformers ends a text: those of generation_config.json, where it names some,
 * else those of config.json. */
static bool read_ends(ModelFile *file, const char *directory, const cJSON *config, Error *error) {
    int64_t ids[MODEL_MOST_ENDS], rows = file->model->config.vocab_size;
    char *path = path_join(directory, "generation_config.json");
    cJSON *generation = file_exists(path) ? json_read(path, MODEL_CONFIG_LIMIT, error) : NULL;
    bool good = generation || !file_exists(path);
    int count = read_ids(generation, "eos_token_id", rows, ids);
    if (count == 0) count = read_ids(config, "eos_token_id", rows, ids);
    model_tokenizer_set_ends(&file->tokenizer, ids, count);
    cJSON_Delete(generation);
    free(path);
    return good;
}

/* A tokenizer of another kind than ours leaves the model usable with ids. */
static void read_tokenizer(ModelFile *file, const char *directory, const cJSON *config) {
    Error error = {""};
    if (!model_file_load_tokenizer(file, directory, NULL, &error))
        model_file_warn(file, "its tokenizer cannot be used, only token ids: %s", error.message);
    int64_t start;
    if (json_whole(json_get(config, "bos_token_id"), &start))
        model_tokenizer_set_start(&file->tokenizer, start);
}

static bool read_model(ModelFile *file, const char *path, const char *tokenizer, Error *error) {
    ModelConfig config;
    char *directory = directory_exists(path) ? string_copy(path) : path_directory(path);
    char *config_path = path_join(directory, "config.json");
    cJSON *json = json_read(config_path, MODEL_CONFIG_LIMIT, error);
    bool good = json && huggingface_config_read(file, json, config_path, &config, error) &&
                read_weights(file, path, &config, error) &&
                (!tokenizer || model_file_load_tokenizer(file, tokenizer, NULL, error));
    if (good && !tokenizer) read_tokenizer(file, directory, json);
    good = good && read_ends(file, directory, json, error);
    cJSON_Delete(json);
    free(config_path);
    free(directory);
    return good;
}

/* ---- the format ---- */

static bool detect(const ModelClues *clues) {
    return json_get(clues->config, "model_type") || json_get(clues->config, "architectures");
}

const ModelFormat huggingface_format = {.name = "hf",
                                        .ending = "-hf",
                                        .is_directory = true,
                                        .detect = detect,
                                        .read = read_model,
                                        .check = llama_check,
                                        .write = huggingface_write};
