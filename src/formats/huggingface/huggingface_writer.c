/* Hugging Face directories of the architecture LlamaForCausalLM: writing. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/directory_writer.h"
#include "formats/llama.h"
#include "formats/model_file.h"

/* transformers' "dynamic" takes the trained length from max_position_embeddings and goes beyond it by
 * itself, so that the length our model reaches has no place there. */
static int64_t max_positions(const ModelConfig *config) {
    const RopeScaling *scaling = &config->position.scaling;
    return scaling->type == ROPE_SCALING_DYNAMIC_NTK ? scaling->original_context
                                                     : config->context_length;
}

static void add_scaling(cJSON *root, const RopeScaling *scaling) {
    static const char *const names[] = {[ROPE_SCALING_LINEAR] = "linear",
                                        [ROPE_SCALING_DYNAMIC_NTK] = "dynamic",
                                        [ROPE_SCALING_YARN] = "yarn",
                                        [ROPE_SCALING_LLAMA3] = "llama3"};
    /* static NTK is a larger theta and nothing else */
    if (scaling->type == ROPE_SCALING_NONE || scaling->type == ROPE_SCALING_NTK) {
        cJSON_AddNullToObject(root, "rope_scaling");
        return;
    }
    bool yarn = scaling->type == ROPE_SCALING_YARN, llama3 = scaling->type == ROPE_SCALING_LLAMA3;
    cJSON *object = cJSON_AddObjectToObject(root, "rope_scaling");
    cJSON_AddStringToObject(object, "rope_type", names[scaling->type]);
    cJSON_AddNumberToObject(object, "factor", scaling->factor);
    if (yarn || llama3)
        cJSON_AddNumberToObject(object, "original_max_position_embeddings",
                                (double)scaling->original_context);
    if (yarn) {
        cJSON_AddNumberToObject(object, "beta_fast", scaling->beta_fast);
        cJSON_AddNumberToObject(object, "beta_slow", scaling->beta_slow);
        if (scaling->attention_factor > 0)
            cJSON_AddNumberToObject(object, "attention_factor", scaling->attention_factor);
    } else if (llama3) {
        cJSON_AddNumberToObject(object, "low_freq_factor", scaling->low_freq_factor);
        cJSON_AddNumberToObject(object, "high_freq_factor", scaling->high_freq_factor);
    }
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

static char *config_text(const ModelFile *file) {
    const ModelConfig *config = &file->model->config;
    const char *architecture = "LlamaForCausalLM";
    const struct {
        const char *key;
        int64_t value;
    } sizes[] = {{"vocab_size", config->vocab_size},
                 {"hidden_size", config->d_model},
                 {"intermediate_size", config->d_ff},
                 {"num_hidden_layers", config->num_layers},
                 {"num_attention_heads", config->num_heads},
                 {"num_key_value_heads", config->num_kv_heads},
                 {"head_dim", config->d_model / config->num_heads},
                 {"max_position_embeddings", max_positions(config)}};
    cJSON *root = cJSON_CreateObject();
    cJSON_AddItemToObject(root, "architectures", cJSON_CreateStringArray(&architecture, 1));
    cJSON_AddStringToObject(root, "model_type", "llama");
    cJSON_AddStringToObject(root, "torch_dtype", sizeof(real) == 8 ? "float64" : "float32");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        cJSON_AddNumberToObject(root, sizes[i].key, (double)sizes[i].value);
    cJSON_AddStringToObject(root, "hidden_act", "silu");
    cJSON_AddNumberToObject(root, "rms_norm_eps", config->norm_eps);
    cJSON_AddBoolToObject(root, "tie_word_embeddings", config->tie_embeddings);
    cJSON_AddFalseToObject(root, "attention_bias");
    cJSON_AddFalseToObject(root, "mlp_bias");
    cJSON_AddNumberToObject(root, "rope_theta", llama_rope_base(config));
    add_scaling(root, &config->position.scaling);
    add_special_ids(root, &file->tokenizer);
    return json_finish(root, 2);
}

static char *generation_text(const ModelFile *file) {
    cJSON *root = cJSON_CreateObject();
    add_special_ids(root, &file->tokenizer);
    return json_finish(root, 1);
}

static void add_special_token(cJSON *root, const char *key, const Tokenizer *bpe, int64_t id) {
    size_t length;
    const uint8_t *bytes = id < 0 ? NULL : tokenizer_token(bpe, (uint32_t)id, &length);
    if (!bytes) return;
    char *text = string_format("%.*s", (int)length, (const char *)bytes);
    cJSON_AddStringToObject(root, key, text);
    free(text);
}

static char *tokenizer_config_text(const ModelFile *file) {
    const Tokenizer *bpe = file->tokenizer.bpe;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "tokenizer_class", "PreTrainedTokenizerFast");
    cJSON_AddNumberToObject(root, "model_max_length", (double)file->model->config.context_length);
    cJSON_AddFalseToObject(root, "clean_up_tokenization_spaces");
    add_special_token(root, "bos_token", bpe, file->tokenizer.start);
    add_special_token(root, "eos_token", bpe, model_tokenizer_end(&file->tokenizer));
    return json_finish(root, 1);
}

static bool write_weights(const Model *model, const char *directory, Error *error) {
    real *values = llama_values(model, LAYOUT_HALF);
    char *path = path_join(directory, "model.safetensors");
    bool written = model_weights_write(model, values, llama_huggingface_name, path, error);
    free(path);
    free(values);
    return written;
}

static bool write_text(const ModelFile *file, const char *directory, const char *name,
                       char *(*make)(const ModelFile *), Error *error) {
    char *text = make(file), *path = path_join(directory, name);
    bool written = file_write(path, text, strlen(text), error);
    free(path);
    free(text);
    return written;
}

static bool write_files(const ModelFile *file, const char *directory, Error *error) {
    return write_text(file, directory, "config.json", config_text, error) &&
           write_text(file, directory, "generation_config.json", generation_text, error) &&
           (!file->tokenizer.bpe ||
            (write_text(file, directory, "tokenizer_config.json", tokenizer_config_text, error) &&
             tokenizer_save(file->tokenizer.bpe, directory, error))) &&
           write_weights(file->model, directory, error);
}

bool huggingface_write(ModelFile *file, const char *directory, Error *error) {
    const ModelConfig *config = &file->model->config;
    DirectoryWriter writer;
    if (!llama_check(config, directory, error)) return false;
    if (!directory_writer_open(&writer, directory, error)) return false;
    if (max_positions(config) != config->context_length)
        model_file_warn(file,
                        "transformers' dynamic scaling starts from the trained length, so "
                        "max_position_embeddings is %lld and the context length %lld is lost",
                        (long long)max_positions(config), (long long)config->context_length);
    if (file->tokenizer.pieces)
        model_file_warn(file, "the llama2.c tokenizer is not written: only byte-level BPE is "
                              "converted to Hugging Face's format");
    if (write_files(file, writer.temporary_path, error))
        return directory_writer_commit(&writer, error);
    directory_writer_abort(&writer);
    return false;
}
