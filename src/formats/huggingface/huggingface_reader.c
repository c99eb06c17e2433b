/* Hugging Face directories of the architecture LlamaForCausalLM: reading. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/huggingface/huggingface_config.h"
#include "formats/llama.h"
#include "formats/model_file.h"
#include "formats/huggingface/safetensors_shards.h"

/* ---- tensors ---- */

/* The tensors of all shards by their names in a LlamaForCausalLM that was saved as it is. */
typedef struct NamedTensor {
    char *name;
    const SafetensorsTensor *tensor;
    bool used;
} NamedTensor;

typedef struct TensorList {
    NamedTensor *items; /* sorted by name */
    int64_t count;
    bool base; /* saved without the head's part: names lack "model." */
} TensorList;

static int compare_names(const void *a, const void *b) {
    return strcmp(((const NamedTensor *)a)->name, ((const NamedTensor *)b)->name);
}

static NamedTensor *find(const TensorList *list, const char *name) {
    NamedTensor wanted = {.name = (char *)(uintptr_t)name};
    return bsearch(&wanted, list->items, (size_t)list->count, sizeof wanted, compare_names);
}

/* torch.compile puts "_orig_mod." before the names inside what it has compiled. */
static void drop_compiled(char *name) {
    static const char mark[] = "_orig_mod.";
    for (char *at; (at = strstr(name, mark)) != NULL;)
        memmove(at, at + strlen(mark), strlen(at + strlen(mark)) + 1);
}

static bool list_tensors(TensorList *list, const SafetensorsShards *shards, const char *path,
                         Error *error) {
    *list = (TensorList){0};
    for (int s = 0; s < shards->count; s++) list->count += shards->files[s].count;
    NamedTensor *item = list->items = allocate_zeroed((size_t)list->count + 1, sizeof *item);
    for (int s = 0; s < shards->count; s++)
        for (int64_t i = 0; i < shards->files[s].count; i++, item++) {
            item->tensor = &shards->files[s].tensors[i];
            item->name = string_copy(item->tensor->name);
            drop_compiled(item->name);
            list->base = list->base || strcmp(item->name, "embed_tokens.weight") == 0;
        }
    for (int64_t i = 0; list->base && i < list->count; i++) {
        char *own = list->items[i].name;
        if (strcmp(own, "lm_head.weight") == 0) continue;
        list->items[i].name = string_format("model.%s", own);
        free(own);
    }
    qsort(list->items, (size_t)list->count, sizeof *list->items, compare_names);
    for (int64_t i = 1; i < list->count; i++)
        if (compare_names(&list->items[i - 1], &list->items[i]) == 0)
            return error_set(error, "%s: the tensor '%s' is there twice (in two shards?)", path,
                             list->items[i].name);
    return true;
}

static void free_list(TensorList *list) {
    for (int64_t i = 0; i < list->count; i++) free(list->items[i].name);
    free(list->items);
}

static bool is_number_type(SafetensorsType type) {
    return type == SAFETENSORS_F32 || type == SAFETENSORS_F16 || type == SAFETENSORS_BF16 ||
           type == SAFETENSORS_F64;
}

static bool missing(const TensorList *list, const char *name, const char *path, Error *error) {
    if (strcmp(name, "lm_head.weight") != 0)
        return error_set(error, "%s: the tensor '%s' is missing", path, name);
    if (list->base)
        return error_set(error,
                         "%s: is a base model (LlamaModel) without the tensor '%s', and "
                         "tie_word_embeddings is false in config.json: it has no head, so it "
                         "predicts no tokens",
                         path, name);
    return error_set(error,
                     "%s: the tensor '%s' is missing, and tie_word_embeddings is false in "
                     "config.json; one of the two is wrong",
                     path, name);
}

/* Every tensor of the model is there, in its shape. */
static bool check_tensors(const TensorList *list, const Model *model, const char *path,
                          Error *error) {
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        char name[LLAMA_NAME_SIZE];
        llama_name(part->name, LLAMA_HUGGINGFACE, name);
        NamedTensor *item = find(list, name);
        if (!item) return missing(list, name, path, error);
        const SafetensorsTensor *tensor = item->tensor;
        item->used = true;
        if (!llama_same_shape(tensor->rank, tensor->shape, part))
            return llama_shape_error(path, name, tensor->rank, tensor->shape, part, error);
        if (!is_number_type(tensor->type))
            return error_set(error,
                             "%s: the tensor '%s' has type %s; F32, F16, BF16 and F64 are read",
                             path, name, safetensors_type_name(tensor->type));
    }
    return true;
}

/* No tensor is there that the model has no place for. */
static bool check_unknown(const TensorList *list, const char *path, Error *error) {
    for (int64_t i = 0; i < list->count; i++) {
        const char *name = list->items[i].name;
        if (!list->items[i].used && strcmp(name, "lm_head.weight") != 0 && /* tied: see below */
            !strstr(name, "rotary_emb.inv_freq")) /* old files keep the frequencies */
            return error_set(error,
                             "%s: the tensor '%s' has no place in a plain Llama model; it cannot "
                             "be read",
                             path, list->items[i].tensor->name);
    }
    return true;
}

static void fill(const TensorList *list, Model *model) {
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        char name[LLAMA_NAME_SIZE];
        llama_name(part->name, LLAMA_HUGGINGFACE, name);
        safetensors_to_real(find(list, name)->tensor, model->parameters.values + part->offset);
    }
}

/* A tied model's file may hold the head as well: transformers then ignores it. */
static void check_tied_head(ModelFile *file, const TensorList *list) {
    const NamedTensor *second = find(list, "lm_head.weight");
    if (!file->model->config.tie_embeddings || !second) return;
    const SafetensorsTensor *head = second->tensor;
    const SafetensorsTensor *table = find(list, "model.embed_tokens.weight")->tensor;
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
    TensorList list = {0};
    bool read = safetensors_shards_open(&shards, path, error) &&
                list_tensors(&list, &shards, path, error) &&
                (file->model = model_create(config, true, error)) != NULL &&
                check_tensors(&list, file->model, path, error) &&
                check_unknown(&list, path, error) &&
                parameters_allocate(&file->model->parameters, error);
    if (read) {
        fill(&list, file->model);
        check_tied_head(file, &list);
    }
    free_list(&list);
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
