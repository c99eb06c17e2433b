/* Hugging Face directories of the architecture LlamaForCausalLM: reading. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_object.h"
#include "formats/llama_names.h"
#include "formats/model_file.h"
#include "formats/safetensors_shards.h"

/* ---- config.json ---- */

/* A key that is absent or null has its default, as in transformers. */
static bool given(const JsonObject *object, const char *key) {
    const cJSON *node = json_get(object->node, key);
    return node && !cJSON_IsNull(node);
}

static int64_t whole(JsonObject *object, const char *key, int64_t fallback, int64_t high) {
    return given(object, key) ? json_object_whole(object, key, fallback, 1, high) : fallback;
}

static double real_number(JsonObject *object, const char *key, double fallback,
                          const char *interval) {
    return given(object, key) ? json_object_real(object, key, fallback, interval) : fallback;
}

static bool flag(JsonObject *object, const char *key) {
    return given(object, key) && json_object_bool(object, key, false);
}

static double required_factor(JsonObject *scaling, const char *key) {
    if (!given(scaling, key)) {
        json_reader_error(scaling->reader, key, "%s.%s is missing; this kind of scaling needs it",
                          scaling->path, key);
        return 1;
    }
    return json_object_real(scaling, key, 1, "(0, 1e6]");
}

/* An attention factor of its own that differs from the usual one is not in our formula. */
static void check_yarn_extras(JsonObject *scaling, const RopeScaling *rope) {
    double usual = rope->factor > 1 ? 0.1 * log(rope->factor) + 1 : 1;
    double asked = real_number(scaling, "attention_factor", usual, "(0, 1e6]");
    if (fabs(asked - usual) > 1e-6 * usual)
        json_reader_error(scaling->reader, "attention_factor",
                          "%s.attention_factor is %g; only the usual value, %g here, is possible",
                          scaling->path, asked, usual);
    static const char *const unknown[] = {"mscale", "mscale_all_dim"};
    for (int i = 0; i < 2; i++)
        if (given(scaling, unknown[i]))
            json_reader_error(scaling->reader, unknown[i], "%s.%s is not supported", scaling->path,
                              unknown[i]);
    if (given(scaling, "truncate") && !flag(scaling, "truncate"))
        json_reader_error(scaling->reader, "truncate", "%s.truncate false is not supported",
                          scaling->path);
}

static void read_scaling_type(JsonObject *scaling, const char *type, ModelConfig *config) {
    RopeScaling *rope = &config->position.scaling;
    int64_t context = config->context_length;
    if (strcmp(type, "default") == 0) return;
    rope->original_context = context;
    if (strcmp(type, "linear") == 0) {
        rope->type = ROPE_SCALING_LINEAR;
        rope->factor = required_factor(scaling, "factor");
    } else if (strcmp(type, "dynamic") == 0) {
        rope->type = ROPE_SCALING_DYNAMIC_NTK;
        rope->factor = required_factor(scaling, "factor");
    } else if (strcmp(type, "yarn") == 0) {
        rope->type = ROPE_SCALING_YARN;
        rope->factor = required_factor(scaling, "factor");
        rope->original_context =
            whole(scaling, "original_max_position_embeddings", context, 1 << 30);
        rope->beta_fast = real_number(scaling, "beta_fast", 32, "(0, 1e6]");
        rope->beta_slow = real_number(scaling, "beta_slow", 1, "(0, 1e6]");
        check_yarn_extras(scaling, rope);
    } else if (strcmp(type, "llama3") == 0) {
        rope->type = ROPE_SCALING_LLAMA3;
        rope->factor = required_factor(scaling, "factor");
        rope->low_freq_factor = required_factor(scaling, "low_freq_factor");
        rope->high_freq_factor = required_factor(scaling, "high_freq_factor");
        rope->original_context =
            (int64_t)required_factor(scaling, "original_max_position_embeddings");
    } else {
        json_reader_error(
            scaling->reader, "rope_type",
            "%s: the rope type '%.60s' is not supported; default, linear, dynamic, yarn "
            "and llama3 are",
            scaling->path, type);
    }
}

/* rope_parameters (transformers 5) or rope_theta and rope_scaling; "rope_type" or, older, "type". */
static void read_rope(JsonObject *root, ModelConfig *config) {
    PositionConfig *position = &config->position;
    *position = (PositionConfig){.type = POSITION_ROPE, .layout = LAYOUT_HALF, .fraction = 1};
    position->base = real_number(root, "rope_theta", 10000, "(1, 1e12]");
    const char *key = given(root, "rope_parameters") ? "rope_parameters" : "rope_scaling";
    double fraction = real_number(root, "partial_rotary_factor", 1, "(0, 1]");
    if (given(root, key)) {
        JsonObject scaling = json_object_child(root, key);
        position->base = real_number(&scaling, "rope_theta", position->base, "(1, 1e12]");
        fraction = real_number(&scaling, "partial_rotary_factor", fraction, "(0, 1]");
        const cJSON *type = json_get(scaling.node, "rope_type");
        if (!type) type = json_get(scaling.node, "type");
        if (cJSON_IsString(type))
            read_scaling_type(&scaling, type->valuestring, config);
        else if (type || strcmp(key, "rope_scaling") == 0)
            json_reader_error(root->reader, key, "%s.rope_type must be the name of a rope type",
                              key);
    }
    if (fraction != 1)
        json_reader_error(root->reader, "partial_rotary_factor",
                          "partial_rotary_factor is %g; Llama models rotate whole heads (1)",
                          fraction);
}

static void refuse_flag(JsonObject *root, const char *key) {
    if (flag(root, key))
        json_reader_error(root->reader, key, "%s is true; models with biases are not supported",
                          key);
}

static void check_text(JsonObject *root, const char *key, const char *wanted) {
    if (!given(root, key)) return;
    char *text = json_object_string(root, key);
    if (text && strcmp(text, wanted) != 0)
        json_reader_error(root->reader, key, "%s is \"%.60s\"; only \"%s\" is supported", key, text,
                          wanted);
    free(text);
}

static void check_architecture(JsonObject *root) {
    const cJSON *list = json_get(root->node, "architectures"), *name;
    cJSON_ArrayForEach(name, list) {
        if (cJSON_IsString(name) && strcmp(name->valuestring, "LlamaForCausalLM") == 0) return;
    }
    if (cJSON_IsArray(list) && list->child)
        json_reader_error(root->reader, "architectures",
                          "architectures does not name LlamaForCausalLM, the only one supported");
}

static bool check_head(JsonObject *root, const ModelConfig *config) {
    int64_t d_head = config->d_model / config->num_heads;
    if (whole(root, "head_dim", d_head, 1 << 20) == d_head) return true;
    return json_reader_error(
        root->reader, "head_dim",
        "head_dim is not hidden_size / num_attention_heads (%lld); such models "
        "are not supported",
        (long long)d_head);
}

/* Defaults for absent keys are those of transformers' LlamaConfig. */
static bool read_config(const cJSON *json, const char *path, ModelConfig *config, Error *error) {
    JsonReader reader = {.file = path, .error = error};
    JsonObject root = json_object_root(&reader, json);
    *config = (ModelConfig){.norm = NORM_PRE, .ffn = FFN_SWIGLU};
    check_text(&root, "model_type", "llama");
    check_architecture(&root);
    check_text(&root, "hidden_act", "silu");
    refuse_flag(&root, "attention_bias");
    refuse_flag(&root, "mlp_bias");
    config->vocab_size = whole(&root, "vocab_size", 32000, 1 << 24);
    config->d_model = whole(&root, "hidden_size", 4096, 1 << 20);
    config->d_ff = whole(&root, "intermediate_size", 11008, 1 << 22);
    config->num_layers = whole(&root, "num_hidden_layers", 32, 10000);
    config->num_heads = whole(&root, "num_attention_heads", 32, 1 << 16);
    config->num_kv_heads = whole(&root, "num_key_value_heads", config->num_heads, 1 << 16);
    config->context_length = whole(&root, "max_position_embeddings", 2048, 1 << 20);
    config->norm_eps = real_number(&root, "rms_norm_eps", 1e-6, "[1e-30, 1]");
    config->tie_embeddings = flag(&root, "tie_word_embeddings");
    read_rope(&root, config);
    bool good =
        !reader.failed && llama_check_numbers(config, path, error) && check_head(&root, config);
    return good;
}

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

/* An id of config.json, the first one of a list, or -1. */
static int64_t read_id(const cJSON *config, const char *key) {
    const cJSON *item = json_get(config, key);
    if (cJSON_IsArray(item)) item = cJSON_GetArrayItem(item, 0);
    int64_t id;
    return json_whole(item, &id) ? id : -1;
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
    model_tokenizer_set_start(&file->tokenizer, read_id(config, "bos_token_id"));
    model_tokenizer_set_end(&file->tokenizer, read_id(config, "eos_token_id"));
}

bool huggingface_read(ModelFile *file, const char *path, Error *error) {
    ModelConfig config;
    char *directory = directory_exists(path) ? string_copy(path) : path_directory(path);
    char *config_path = path_join(directory, "config.json");
    cJSON *json = json_read(config_path, MODEL_CONFIG_LIMIT, error);
    bool read = json && read_config(json, config_path, &config, error) &&
                read_weights(file, path, &config, error);
    if (read) read_tokenizer(file, directory, json);
    cJSON_Delete(json);
    free(config_path);
    free(directory);
    return read;
}
