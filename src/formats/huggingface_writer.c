/* Hugging Face directories of the architecture LlamaForCausalLM: writing. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_writer.h"
#include "formats/directory_writer.h"
#include "formats/llama_names.h"
#include "formats/model_file.h"
#include "formats/safetensors.h"

/* transformers' "dynamic" takes the trained length from max_position_embeddings and goes beyond it by
 * itself, so that the length our model reaches has no place there. */
static int64_t max_positions(const ModelConfig *config) {
    const RopeScaling *scaling = &config->position.scaling;
    return scaling->type == ROPE_SCALING_DYNAMIC_NTK ? scaling->original_context
                                                     : config->context_length;
}

static void put_scaling(JsonWriter *writer, const RopeScaling *scaling) {
    static const char *const names[] = {[ROPE_SCALING_LINEAR] = "linear",
                                        [ROPE_SCALING_DYNAMIC_NTK] = "dynamic",
                                        [ROPE_SCALING_YARN] = "yarn",
                                        [ROPE_SCALING_LLAMA3] = "llama3"};
    json_key(writer, "rope_scaling");
    /* static NTK is a larger theta and nothing else */
    if (scaling->type == ROPE_SCALING_NONE || scaling->type == ROPE_SCALING_NTK) {
        json_put_null(writer);
        return;
    }
    json_begin_object(writer, JSON_ON_LINES);
    json_member_string(writer, "rope_type", names[scaling->type]);
    json_member_real(writer, "factor", scaling->factor);
    if (scaling->type == ROPE_SCALING_YARN || scaling->type == ROPE_SCALING_LLAMA3)
        json_member_whole(writer, "original_max_position_embeddings", scaling->original_context);
    if (scaling->type == ROPE_SCALING_YARN) {
        json_member_real(writer, "beta_fast", scaling->beta_fast);
        json_member_real(writer, "beta_slow", scaling->beta_slow);
        if (scaling->attention_factor > 0)
            json_member_real(writer, "attention_factor", scaling->attention_factor);
    }
    if (scaling->type == ROPE_SCALING_LLAMA3) {
        json_member_real(writer, "low_freq_factor", scaling->low_freq_factor);
        json_member_real(writer, "high_freq_factor", scaling->high_freq_factor);
    }
    json_end(writer);
}

static void put_id(JsonWriter *writer, int64_t id) {
    if (id >= 0)
        json_put_whole(writer, id);
    else
        json_put_null(writer);
}

static void put_special_ids(JsonWriter *writer, const ModelTokenizer *tokenizer) {
    json_key(writer, "bos_token_id");
    put_id(writer, model_tokenizer_start(tokenizer));
    json_key(writer, "eos_token_id");
    if (tokenizer->end_count < 2) {
        put_id(writer, model_tokenizer_end(tokenizer));
        return;
    }
    json_begin_array(writer, JSON_ON_ONE_LINE);
    for (int i = 0; i < tokenizer->end_count; i++) json_put_whole(writer, tokenizer->ends[i]);
    json_end(writer);
}

static char *config_text(const ModelFile *file, size_t *length) {
    const ModelConfig *config = &file->model->config;
    JsonWriter writer = {0};
    json_begin_object(&writer, JSON_ON_LINES);
    json_key(&writer, "architectures");
    json_begin_array(&writer, JSON_ON_ONE_LINE);
    json_put_string(&writer, "LlamaForCausalLM");
    json_end(&writer);
    json_member_string(&writer, "model_type", "llama");
    json_member_string(&writer, "torch_dtype", sizeof(real) == 8 ? "float64" : "float32");
    json_member_whole(&writer, "vocab_size", config->vocab_size);
    json_member_whole(&writer, "hidden_size", config->d_model);
    json_member_whole(&writer, "intermediate_size", config->d_ff);
    json_member_whole(&writer, "num_hidden_layers", config->num_layers);
    json_member_whole(&writer, "num_attention_heads", config->num_heads);
    json_member_whole(&writer, "num_key_value_heads", config->num_kv_heads);
    json_member_whole(&writer, "head_dim", config->d_model / config->num_heads);
    json_member_string(&writer, "hidden_act", "silu");
    json_member_whole(&writer, "max_position_embeddings", max_positions(config));
    json_member_real(&writer, "rms_norm_eps", config->norm_eps);
    json_member_bool(&writer, "tie_word_embeddings", config->tie_embeddings);
    json_member_bool(&writer, "attention_bias", false);
    json_member_bool(&writer, "mlp_bias", false);
    json_member_real(&writer, "rope_theta", llama_rope_base(config));
    put_scaling(&writer, &config->position.scaling);
    put_special_ids(&writer, &file->tokenizer);
    json_end(&writer);
    return json_writer_finish(&writer, length);
}

static char *generation_text(const ModelFile *file, size_t *length) {
    JsonWriter writer = {0};
    json_begin_object(&writer, JSON_ON_LINES);
    put_special_ids(&writer, &file->tokenizer);
    json_end(&writer);
    return json_writer_finish(&writer, length);
}

static void put_special_token(JsonWriter *writer, const char *key, const Tokenizer *bpe,
                              int64_t id) {
    size_t length;
    const uint8_t *bytes = id < 0 ? NULL : tokenizer_token(bpe, (uint32_t)id, &length);
    if (!bytes) return;
    json_key(writer, key);
    json_put_text(writer, (const char *)bytes, length);
}

static char *tokenizer_config_text(const ModelFile *file, size_t *length) {
    JsonWriter writer = {0};
    json_begin_object(&writer, JSON_ON_LINES);
    json_member_string(&writer, "tokenizer_class", "PreTrainedTokenizerFast");
    json_member_whole(&writer, "model_max_length", file->model->config.context_length);
    json_member_bool(&writer, "clean_up_tokenization_spaces", false);
    put_special_token(&writer, "bos_token", file->tokenizer.bpe, file->tokenizer.start);
    put_special_token(&writer, "eos_token", file->tokenizer.bpe,
                      model_tokenizer_end(&file->tokenizer));
    json_end(&writer);
    return json_writer_finish(&writer, length);
}

static bool write_weights(const Model *model, const char *directory, Error *error) {
    static const char *const metadata[1][2] = {{"format", "pt"}};
    const Parameters *parameters = &model->parameters;
    int64_t count = parameters->part_count;
    real *values = llama_values(model, LAYOUT_HALF);
    char(*names)[LLAMA_NAME_SIZE] = allocate((size_t)count, sizeof *names);
    SafetensorsItem *items = allocate((size_t)count, sizeof *items);
    for (int64_t i = 0; i < count; i++) {
        const Parameter *part = &parameters->parts[i];
        llama_name(part->name, LLAMA_HUGGINGFACE, names[i]);
        items[i] = (SafetensorsItem){names[i],
                                     SAFETENSORS_REAL,
                                     part->rank,
                                     {part->shape[0], part->shape[1]},
                                     values + part->offset};
    }
    char *path = path_join(directory, "model.safetensors");
    bool written = safetensors_write(path, items, count, metadata, 1, false, NULL, error);
    free(path);
    free(items);
    free(names);
    free(values);
    return written;
}

typedef char *TextMaker(const ModelFile *file, size_t *length);

static bool write_text(const ModelFile *file, const char *directory, const char *name,
                       TextMaker *maker, Error *error) {
    size_t length;
    char *text = maker(file, &length), *path = path_join(directory, name);
    bool written = file_write(path, text, length, error);
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
