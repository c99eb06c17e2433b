/* Hugging Face directories of the architecture LlamaForCausalLM: reading. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/huggingface_config.h"
#include "formats/llama_names.h"
#include "formats/model_file.h"
#include "formats/safetensors_shards.h"

/* ---- tensors ---- */

static bool is_number_type(SafetensorsType type) {
    return type == SAFETENSORS_F32 || type == SAFETENSORS_F16 || type == SAFETENSORS_BF16 ||
           type == SAFETENSORS_F64;
}

/* Every tensor of the model is there, in its shape. */
static bool check_tensors(const SafetensorsShards *shards, const Model *model, const char *path,
                          Error *error) {
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        char name[LLAMA_NAME_SIZE];
        llama_name(part->name, LLAMA_HUGGINGFACE, name);
        const SafetensorsTensor *tensor = safetensors_shards_find(shards, name);
        if (!tensor && strcmp(part->name, "lm_head.weight") == 0)
            return error_set(error,
                             "%s: the tensor '%s' is missing, and tie_word_embeddings is false "
                             "in config.json; one of the two is wrong",
                             path, name);
        if (!tensor) return error_set(error, "%s: the tensor '%s' is missing", path, name);
        if (!llama_same_shape(tensor->rank, tensor->shape, part))
            return llama_shape_error(path, name, tensor->rank, tensor->shape, part, error);
        if (!is_number_type(tensor->type))
            return error_set(error,
                             "%s: the tensor '%s' has type %s; F32, F16, BF16 and F64 are read",
                             path, name, safetensors_type_name(tensor->type));
    }
    return true;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* No tensor is there that the model has no place for, and none twice. */
static bool check_unknown(const SafetensorsShards *shards, const Model *model, const char *path,
                          Error *error) {
    int64_t count = model->parameters.part_count;
    char(*names)[LLAMA_NAME_SIZE] = allocate((size_t)count, sizeof *names);
    const char **sorted = allocate((size_t)count, sizeof *sorted);
    for (int64_t i = 0; i < count; i++) {
        llama_name(model->parameters.parts[i].name, LLAMA_HUGGINGFACE, names[i]);
        sorted[i] = names[i];
    }
    qsort(sorted, (size_t)count, sizeof *sorted, compare_names);
    bool good = true;
    for (int s = 0; s < shards->count && good; s++)
        for (int64_t i = 0; i < shards->files[s].count && good; i++) {
            const SafetensorsTensor *tensor = &shards->files[s].tensors[i];
            bool known =
                bsearch(&tensor->name, sorted, (size_t)count, sizeof *sorted, compare_names) ||
                strcmp(tensor->name, "lm_head.weight") == 0 || /* tied: compared later */
                strstr(tensor->name, "rotary_emb.inv_freq");   /* old files keep the frequencies */
            if (!known)
                good = error_set(error,
                                 "%s: the tensor '%s' has no place in a plain Llama model; it "
                                 "cannot be read",
                                 path, tensor->name);
            else if (safetensors_shards_find(shards, tensor->name) != tensor)
                good = error_set(error, "%s: the tensor '%s' is in two shards", path, tensor->name);
        }
    free(sorted);
    free(names);
    return good;
}

static void fill(const SafetensorsShards *shards, Model *model) {
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        char name[LLAMA_NAME_SIZE];
        llama_name(part->name, LLAMA_HUGGINGFACE, name);
        safetensors_to_real(safetensors_shards_find(shards, name),
                            model->parameters.values + part->offset);
    }
}

/* A tied model's file may hold the head as well: transformers then ignores it. */
static void check_tied_head(ModelFile *file, const SafetensorsShards *shards) {
    const SafetensorsTensor *head = safetensors_shards_find(shards, "lm_head.weight");
    if (!file->model->config.tie_embeddings || !head) return;
    const SafetensorsTensor *table = safetensors_shards_find(shards, "model.embed_tokens.weight");
    if (head->type != table->type || head->bytes != table->bytes ||
        memcmp(head->data, table->data, table->bytes) != 0)
        model_file_warn(file,
                        "%s: lm_head.weight differs from the embeddings, but "
                        "tie_word_embeddings is true: it is ignored, as transformers does",
                        file->path);
}

static bool read_weights(ModelFile *file, const char *path, const ModelConfig *config,
                         Error *error) {
    SafetensorsShards shards = {0};
    bool read = safetensors_shards_open(&shards, path, error) &&
                (file->model = model_create(config, true, error)) != NULL &&
                check_tensors(&shards, file->model, path, error) &&
                check_unknown(&shards, file->model, path, error) &&
                parameters_allocate(&file->model->parameters, error);
    if (read) {
        fill(&shards, file->model);
        check_tied_head(file, &shards);
    }
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
    Tokenizer *bpe = tokenizer_load(directory, &error);
    if (!bpe) {
        model_file_warn(file, "its tokenizer cannot be used, only ids can: %s", error.message);
        return;
    }
    model_tokenizer_take(&file->tokenizer, bpe, NULL);
    int64_t start;
    if (json_whole(json_get(config, "bos_token_id"), &start))
        model_tokenizer_set_start(&file->tokenizer, start);
}

bool huggingface_read(ModelFile *file, const char *path, Error *error) {
    ModelConfig config;
    char *directory = directory_exists(path) ? string_copy(path) : path_directory(path);
    char *config_path = path_join(directory, "config.json");
    cJSON *json = json_read(config_path, MODEL_CONFIG_LIMIT, error);
    bool read = json && huggingface_config_read(file, json, config_path, &config, error) &&
                read_weights(file, path, &config, error);
    if (read) {
        read_tokenizer(file, directory, json);
        read = read_ends(file, directory, json, error);
    }
    cJSON_Delete(json);
    free(config_path);
    free(directory);
    return read;
}
