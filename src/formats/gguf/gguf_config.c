/* The hyperparameters of a GGUF file of architecture "llama". */
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/gguf_model.h"
#include "formats/llama/llama.h"
#include "formats/llama/llama_keys.h"
#include "model/position_tables.h"

#define SCALING_TYPE   "rope.scaling.type"
#define SCALING_FACTOR "rope.scaling.factor"
/* On cosine and sine, times what the scaling has already (yarn's usual factor). */
#define ATTENTION_FACTOR "rope.scaling.attn_factor"
/* Our parameters of llama3 scaling; llama.cpp reads the tensor rope_freqs.weight. */
#define LLAMA3_PREFIX "tinylm.rope.llama3"

/* What llama.cpp knows of an architecture and the gguf package writes, besides llama_keys. */
static const LlamaRule RULES[] = {
    {"1", "attention.causal rope.scaling.yarn_ext_factor rope.scaling.yarn_attn_factor"},
    {"0", "attention.scale attention.sliding_window attention.clamp_kqv attention.max_alibi_bias "
          "attention.relative_buckets_count attention.temperature_length "
          "attention.temperature_scale attention.shared_kv_layers attn_logit_softcapping "
          "final_logit_softcapping use_parallel_residual expert_count expert_used_count "
          "nextn_predict_layers n_deepstack_layers swiglu_clamp_exp swiglu_clamp_shexp "
          "rope.dimension_sections rope.scaling.yarn_log_multiplier"},
    {"0 or 1", "attention.output_scale logit_scale embedding_scale residual_scale "
               "rope.scaling.alpha"},
    /* read below */
    {NULL, "attention.key_length attention.value_length rope.dimension_count rope.scale_linear "
           "rope.scaling.type rope.scaling.attn_factor"},
    /* of another kind of norm, for embeddings of texts, how it was made */
    {NULL, "attention.layer_norm_epsilon pooling_type rope.scaling.finetuned tensor_data_layout"},
    {NULL, NULL},
};

/* ---- the keys as an object ---- */

/* The decimal that was meant by a float32: 1e-5 and not 9.99999975e-6. */
static double tidy(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.7g", value);
    double short_value = strtod(text, NULL);
    return (float)short_value == (float)value ? short_value : value;
}

/* A flag is 0 or 1; an array, which no key here can be, is an empty one. */
static cJSON *value_to_json(const GgufValue *value) {
    GgufString string;
    double number;
    bool flag;
    if (value->type == GGUF_ARRAY) return cJSON_CreateArray();
    if (gguf_boolean(value, &flag)) return cJSON_CreateNumber(flag);
    if (gguf_number(value, 0, &number))
        return cJSON_CreateNumber(value->type == GGUF_FLOAT32 ? tidy(number) : number);
    if (!gguf_string(value, &string)) return cJSON_CreateNull();
    char *text =
        string_format("%.*s", (int)(string.length < 1000 ? string.length : 1000), string.text);
    cJSON *node = cJSON_CreateString(text);
    free(text);
    return node;
}

/* The values whose keys begin with "PREFIX.", under the rest of the key; the caller deletes the
 * node. */
static LlamaObject make_object(KeysReader *reader, const Gguf *gguf, const char *prefix) {
    cJSON *object = cJSON_CreateObject();
    size_t skip = strlen(prefix) + 1;
    for (int64_t i = 0; i < gguf->value_count; i++) {
        GgufString key = gguf->values[i].key;
        if (key.length <= skip || key.length > 1000 || memcmp(key.text, prefix, skip - 1) != 0 ||
            key.text[skip - 1] != '.')
            continue;
        char *name = string_format("%.*s", (int)(key.length - skip), key.text + skip);
        cJSON_AddItemToObject(object, name, value_to_json(&gguf->values[i]));
        free(name);
    }
    return (LlamaObject){reader, LLAMA_GGUF, object, prefix};
}

/* ---- reading ---- */

static double read_factor(const LlamaObject *keys, const char *name) {
    double factor = 1;
    llama_read(keys, (Key){name, KEY_REAL, .allowed = "(0, 1e6]"}, &factor);
    return factor;
}

static void read_llama3(KeysReader *reader, const Gguf *gguf, ModelConfig *config) {
    LlamaObject ours = make_object(reader, gguf, LLAMA3_PREFIX);
    if (!llama_given(&ours, "factor"))
        keys_error(reader, "",
                   "scales its frequencies by the tensor rope_freqs.weight, which is not "
                   "supported");
    config->position.scaling.type = ROPE_SCALING_LLAMA3;
    llama_read_keys(&ours, LLAMA_SCALING(ROPE_SCALING_LLAMA3), config);
    cJSON_Delete(ours.node);
}

/* As llama.cpp: a factor without a type means linear. */
static bool read_scaling(const LlamaObject *keys, ModelConfig *config) {
    RopeScaling *scaling = &config->position.scaling;
    const char *type = cJSON_GetStringValue(json_get(keys->node, SCALING_TYPE));
    if (!type) type = llama_given(keys, SCALING_TYPE) ? "?" : "linear";
    bool yarn = strcmp(type, "yarn") == 0;
    double factor =
        read_factor(keys, llama_given(keys, SCALING_FACTOR) ? SCALING_FACTOR : "rope.scale_linear");
    double attention = read_factor(keys, ATTENTION_FACTOR);
    if (strcmp(type, "none") == 0) return true;
    if (!yarn && strcmp(type, "linear") != 0)
        return keys_error(keys->reader, "",
                          "llama." SCALING_TYPE " is '%.60s'; none, linear and yarn are supported",
                          type);
    if (!yarn && attention != 1)
        return keys_error(keys->reader, "",
                          "llama." ATTENTION_FACTOR " is %g; only yarn can have another than 1",
                          attention);
    if (!yarn && factor == 1) return true;
    *scaling = (RopeScaling){.type = yarn ? ROPE_SCALING_YARN : ROPE_SCALING_LINEAR,
                             .factor = factor,
                             .original_context = config->context_length};
    llama_read_keys(keys, LLAMA_SCALING(scaling->type), config);
    /* here it multiplies the usual factor instead of replacing it */
    if (attention != 1) scaling->attention_factor = attention * position_yarn_magnitude(factor);
    return true;
}

static bool read_keys(ModelFile *file, const LlamaObject *keys, const Gguf *gguf,
                      ModelConfig *config) {
    char *unknown = NULL;
    llama_check_keys(keys, ~0U, RULES, &unknown);
    if (unknown)
        model_file_warn(file, "%s: unknown keys are ignored: %s", keys->reader->file, unknown);
    free(unknown);
    llama_read_keys(keys, LLAMA_EVERY, config);
    if (stored_tensors_find(&gguf->tensors, "rope_freqs.weight"))
        read_llama3(keys->reader, gguf, config);
    else
        read_scaling(keys, config);
    if (config->num_layers > gguf->tensors.count)
        keys_error(keys->reader, "", "llama.block_count is larger than the number of tensors");
    return model_config_check(config, keys->reader) &&
           llama_check_head(keys, "rope.dimension_count", config) &&
           llama_check_head(keys, "attention.key_length", config) &&
           llama_check_head(keys, "attention.value_length", config);
}

bool gguf_config_read(ModelFile *file, const Gguf *gguf, ModelConfig *config, const char *path,
                      Error *error) {
    if (!gguf_is(gguf, "general.architecture", "llama"))
        return error_set(
            error, "%s: its general.architecture is not \"llama\", the only one supported", path);
    const StoredTensor *table = stored_tensors_find(&gguf->tensors, "token_embd.weight");
    if (!table || table->rank != 2 || table->shape[0] < 1 || table->shape[0] > 1 << 24)
        return error_set(error, "%s: has no usable tensor 'token_embd.weight'", path);
    KeysReader reader = {.file = path, .error = error};
    LlamaObject keys = make_object(&reader, gguf, "llama");
    *config = llama_empty_config(LAYOUT_INTERLEAVED);
    config->tie_embeddings = !stored_tensors_find(&gguf->tensors, "output.weight");
    bool read = read_keys(file, &keys, gguf, config);
    config->vocab_size = table->shape[0];
    cJSON_Delete(keys.node);
    return read;
}

/* ---- writing ---- */

static void add_keys(GgufWriter *writer, const char *prefix, unsigned models,
                     const ModelConfig *config) {
    for (const LlamaKey *key = llama_keys; key->allowed; key++) {
        if (!key->names[LLAMA_GGUF] || !(key->models & models)) continue;
        char *name = string_format("%s.%s", prefix, key->names[LLAMA_GGUF]);
        const void *value = (const char *)config + key->offset;
        if (key->kind == KEY_WHOLE)
            gguf_add_uint32(writer, name, (uint32_t)(*(const int64_t *)value));
        else
            gguf_add_float32(writer, name, (float)(*(const double *)value));
        free(name);
    }
}

void gguf_config_write(GgufWriter *writer, const ModelConfig *model) {
    ModelConfig config = llama_stored_config(model);
    const RopeScaling *scaling = &config.position.scaling;
    bool yarn = scaling->type == ROPE_SCALING_YARN;
    gguf_add_string(writer, "general.architecture", "llama");
    gguf_add_string(writer, "general.name", "tinylm");
    add_keys(writer, "llama", LLAMA_EVERY, &config);
    gguf_add_uint32(writer, "llama.rope.dimension_count",
                    (uint32_t)(config.d_model / config.num_heads));
    add_keys(writer, scaling->type == ROPE_SCALING_LLAMA3 ? LLAMA3_PREFIX : "llama",
             LLAMA_SCALING(scaling->type), &config);
    if (yarn || scaling->type == ROPE_SCALING_LINEAR)
        gguf_add_string(writer, "llama." SCALING_TYPE, yarn ? "yarn" : "linear");
    if (yarn && scaling->attention_factor > 0)
        gguf_add_float32(
            writer, "llama." ATTENTION_FACTOR,
            (float)(scaling->attention_factor / position_yarn_magnitude(scaling->factor)));
}
