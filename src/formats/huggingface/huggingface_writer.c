/* Hugging Face directories of the architecture LlamaForCausalLM: writing. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/huggingface/huggingface_config.h"
#include "formats/llama/llama.h"
#include "formats/llama/llama_keys.h"

/* transformers' "dynamic" takes the trained length from max_position_embeddings and goes beyond it by
 * itself, so that the length our model reaches has no place there. */
static ModelConfig stored_config(const ModelConfig *model) {
    ModelConfig config = llama_stored_config(model);
    const RopeScaling *scaling = &config.position.scaling;
    if (scaling->type == ROPE_SCALING_DYNAMIC_NTK)
        config.context_length = scaling->original_context;
    return config;
}

/* The rows of llama_keys for these models as an object. */
static cJSON *keys_object(unsigned models, const ModelConfig *config) {
    Key keys[32] = {{.name = NULL}};
    int count = 0;
    for (const LlamaKey *row = llama_keys; row->allowed; row++)
        if (row->models & models)
            keys[count++] = (Key){.name = row->names[LLAMA_HUGGINGFACE],
                                  .kind = row->kind,
                                  .offset = row->offset,
                                  .fallback = row->fallbacks[LLAMA_HUGGINGFACE]};
    return keys_write(keys, config);
}

static cJSON *id_json(int64_t id) {
    return id >= 0 ? cJSON_CreateNumber((double)id) : cJSON_CreateNull();
}

static void add_special_ids(cJSON *root, const ModelTokenizer *tokenizer) {
    cJSON_AddItemToObject(root, "bos_token_id", id_json(model_tokenizer_start(tokenizer)));
    if (tokenizer->end_count < 2) {
        cJSON_AddItemToObject(root, "eos_token_id", id_json(model_tokenizer_end(tokenizer)));
        return;
    }
    cJSON *list = cJSON_AddArrayToObject(root, "eos_token_id");
    for (int i = 0; i < tokenizer->end_count; i++)
        cJSON_AddItemToArray(list, id_json(tokenizer->ends[i]));
}

static cJSON *config_json(const ModelFile *file) {
    ModelConfig config = stored_config(&file->model->config);
    RopeScalingType scaling = config.position.scaling.type;
    const char *architecture = "LlamaForCausalLM";
    cJSON *root = keys_object(LLAMA_EVERY, &config), *rope = NULL;
    cJSON_AddItemToObject(root, "architectures", cJSON_CreateStringArray(&architecture, 1));
    cJSON_AddStringToObject(root, "model_type", "llama");
    cJSON_AddStringToObject(root, "torch_dtype", sizeof(real) == 8 ? "float64" : "float32");
    cJSON_AddNumberToObject(root, "head_dim", (double)(config.d_model / config.num_heads));
    cJSON_AddStringToObject(root, "hidden_act", "silu");
    cJSON_AddFalseToObject(root, "attention_bias");
    cJSON_AddFalseToObject(root, "mlp_bias");
    if (scaling != ROPE_SCALING_NONE) {
        rope = keys_object(LLAMA_SCALING(scaling), &config);
        cJSON_AddStringToObject(rope, "rope_type", huggingface_rope_types[scaling]);
    }
    cJSON_AddItemToObject(root, "rope_scaling", rope ? rope : cJSON_CreateNull());
    add_special_ids(root, &file->tokenizer);
    return root;
}

static cJSON *generation_json(const ModelFile *file) {
    cJSON *root = cJSON_CreateObject();
    add_special_ids(root, &file->tokenizer);
    return root;
}

static void add_special_token(cJSON *root, const char *key, const Tokenizer *bpe, int64_t id) {
    size_t length;
    const uint8_t *bytes = id < 0 ? NULL : tokenizer_token(bpe, (uint32_t)id, &length);
    if (!bytes) return;
    char *text = string_format("%.*s", (int)length, (const char *)bytes);
    cJSON_AddStringToObject(root, key, text);
    free(text);
}

static cJSON *tokenizer_json(const ModelFile *file) {
    const Tokenizer *bpe = file->tokenizer.bpe;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "tokenizer_class", "PreTrainedTokenizerFast");
    cJSON_AddNumberToObject(root, "model_max_length", (double)file->model->config.context_length);
    cJSON_AddFalseToObject(root, "clean_up_tokenization_spaces");
    add_special_token(root, "bos_token", bpe, file->tokenizer.start);
    add_special_token(root, "eos_token", bpe, model_tokenizer_end(&file->tokenizer));
    return root;
}

static bool write_weights(const Model *model, const char *directory, Error *error) {
    real *values = llama_values(model, LAYOUT_HALF);
    char *path = path_join(directory, "model.safetensors");
    bool written = model_weights_write(model, values, llama_huggingface_name, path, error);
    free(path);
    free(values);
    return written;
}

static bool write_json(const char *directory, const char *name, cJSON *json, Error *error) {
    char *text = json_finish(json, 2), *path = path_join(directory, name);
    bool written = file_write(path, text, strlen(text), error);
    free(path);
    free(text);
    return written;
}

bool huggingface_write(ModelFile *file, const char *directory, bool half, Error *error) {
    (void)half;
    const ModelConfig *config = &file->model->config;
    int64_t max_positions = stored_config(config).context_length;
    if (max_positions != config->context_length)
        model_file_warn(file,
                        "transformers' dynamic scaling starts from the trained length, so "
                        "max_position_embeddings is %lld and the context length %lld is lost",
                        (long long)max_positions, (long long)config->context_length);
    if (file->tokenizer.pieces)
        model_file_warn(file, "the llama2.c tokenizer is not written: only byte-level BPE is "
                              "converted to Hugging Face's format");
    return write_json(directory, "config.json", config_json(file), error) &&
           write_json(directory, "generation_config.json", generation_json(file), error) &&
           (!file->tokenizer.bpe ||
            (write_json(directory, "tokenizer_config.json", tokenizer_json(file), error) &&
             tokenizer_save(file->tokenizer.bpe, directory, error))) &&
           write_weights(file->model, directory, error);
}
