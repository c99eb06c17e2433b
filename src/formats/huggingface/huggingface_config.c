#include "formats/huggingface/huggingface_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/llama/llama.h"
#include "formats/llama/llama_keys.h"

/* What transformers 5 reads of a Llama model's config.json besides llama_keys: LlamaConfig,
 * PreTrainedConfig, its rope code, and what its masks and caches look up; and what its files often
 * carry besides. */
static const LlamaRule CONFIG_RULES[] = {
    {"\"llama\"", "model_type"},
    {"\"silu\"", "hidden_act"},
    {"true", "is_causal"},
    {"false", "attention_bias mlp_bias is_encoder_decoder"},
    {"null",
     "sliding_window attention_chunk_size layer_types per_layer_config quantization_config"},
    /* read below, or with the tokenizer */
    {NULL, "architectures head_dim rope_scaling rope_parameters partial_rotary_factor "
           "original_max_position_embeddings bos_token_id eos_token_id"},
    /* training, speed, memory; what else is returned; batches of texts of several lengths */
    {NULL, "attention_dropout initializer_range use_cache pretraining_tp chunk_size_feed_forward "
           "attn_implementation _attn_implementation_autoset output_attentions "
           "output_hidden_states return_dict tie_last_hidden_states pad_token_id"},
    /* types of numbers: the tensors name theirs, and we compute in float32 */
    {NULL, "dtype torch_dtype"},
    /* classifiers; where the file came from, and code that transformers runs only when told to */
    {NULL, "id2label label2id num_labels problem_type transformers_version unsloth_version "
           "_name_or_path name_or_path is_llama_config transformers.js_config auto_map"},
    {NULL, NULL},
};

/* The keys inside rope_scaling or rope_parameters; the first two rules only for yarn. */
static const LlamaRule ROPE_RULES[] = {
    {"true", "truncate"},
    {NULL, "mscale mscale_all_dim"},
    {NULL, "rope_type type rope_theta partial_rotary_factor"},
    {NULL, NULL},
};
enum { YARN_RULES = 2 };

const char *const huggingface_rope_types[] = {
    [ROPE_SCALING_NONE] = "default",        [ROPE_SCALING_LINEAR] = "linear",
    [ROPE_SCALING_DYNAMIC_NTK] = "dynamic", [ROPE_SCALING_YARN] = "yarn",
    [ROPE_SCALING_LLAMA3] = "llama3",
};

static double read_real(const LlamaObject *object, const char *key, const char *allowed,
                        double fallback) {
    llama_read(object, (Key){key, KEY_REAL, .allowed = allowed}, &fallback);
    return fallback;
}

/* What mscale and mscale_all_dim make of yarn's factor on cosine and sine; 0: the usual one. */
static double yarn_attention_factor(const LlamaObject *rope, double factor) {
    double mscale = read_real(rope, "mscale", "[0, 1e6]", 0);
    double all = read_real(rope, "mscale_all_dim", "[0, 1e6]", 0);
    if (mscale == 0 || all == 0) return 0;
    double growth = factor > 1 ? 0.1 * log(factor) : 0;
    return (mscale * growth + 1) / (all * growth + 1);
}

static void read_scaling(const LlamaObject *root, const LlamaObject *rope, const char *name,
                         ModelConfig *config, char **ignored) {
    static const char length_key[] = "original_max_position_embeddings";
    RopeScaling *scaling = &config->position.scaling;
    int type = ROPE_SCALING_LLAMA3;
    while (type >= 0 &&
           (!huggingface_rope_types[type] || strcmp(huggingface_rope_types[type], name) != 0))
        type--;
    if (type < 0) {
        keys_error(rope->reader, "rope_type",
                   "%s: the rope type '%.60s' is not supported; default, linear, dynamic, "
                   "yarn and llama3 are",
                   rope->path, name);
        return;
    }
    bool yarn = type == ROPE_SCALING_YARN;
    llama_check_keys(rope, LLAMA_SCALING(type), yarn ? ROPE_RULES : ROPE_RULES + YARN_RULES,
                     ignored);
    if (type == ROPE_SCALING_NONE) return;
    *scaling =
        (RopeScaling){.type = (RopeScalingType)type, .original_context = config->context_length};
    llama_read_keys(rope, LLAMA_SCALING(type), config);
    if (yarn || type == ROPE_SCALING_LLAMA3) /* the one at the top level goes first */
        llama_read(root, (Key){length_key, KEY_WHOLE, .allowed = "[1, 1073741824]"},
                   &scaling->original_context);
    if (yarn && scaling->attention_factor == 0)
        scaling->attention_factor = yarn_attention_factor(rope, scaling->factor);
}

/* Python's truth: null and {} are none. */
static bool is_filled(const LlamaObject *root, const char *key) {
    const cJSON *node = json_get(root->node, key);
    return llama_given(root, key) && !(cJSON_IsObject(node) && !node->child);
}

/* rope_scaling counts when it is filled, else rope_parameters (transformers 5); in either "rope_type"
 * or, older, "type". rope_theta inside goes before the one at the top level. */
static void read_rope(ModelFile *file, const LlamaObject *root, ModelConfig *config,
                      char **ignored) {
    double fraction = read_real(root, "partial_rotary_factor", "(0, 1]", 1);
    bool old = is_filled(root, "rope_scaling");
    bool fresh = is_filled(root, "rope_parameters");
    if (old && fresh)
        model_file_warn(file,
                        "%s: has rope_scaling and rope_parameters; as in transformers, "
                        "rope_scaling counts and all of rope_parameters is ignored",
                        root->reader->file);
    if (old || fresh) {
        const char *key = old ? "rope_scaling" : "rope_parameters";
        LlamaObject rope = {root->reader, LLAMA_HUGGINGFACE, json_get(root->node, key), key};
        if (!cJSON_IsObject(rope.node))
            keys_error(root->reader, key, "%s must be an object: { \"key\": value, … }", key);
        PositionConfig *position = &config->position;
        position->base = read_real(&rope, "rope_theta", "(1, 1e12]", position->base);
        fraction = read_real(&rope, "partial_rotary_factor", "(0, 1]", fraction);
        const cJSON *type = json_get(rope.node, "rope_type");
        if (!type) type = json_get(rope.node, "type");
        if (type ? !cJSON_IsString(type) : old)
            keys_error(root->reader, key, "%s.rope_type must be the name of a rope type", key);
        else
            read_scaling(root, &rope, type ? type->valuestring : "default", config, ignored);
    }
    if (fraction != 1)
        keys_error(root->reader, "partial_rotary_factor",
                   "partial_rotary_factor is %g; Llama models rotate whole heads (1)", fraction);
}

static void check_architecture(const LlamaObject *root) {
    const cJSON *list = json_get(root->node, "architectures"), *name;
    cJSON_ArrayForEach(name, list) {
        if (cJSON_IsString(name) && (strcmp(name->valuestring, "LlamaForCausalLM") == 0 ||
                                     strcmp(name->valuestring, "LlamaModel") == 0))
            return;
    }
    if (cJSON_IsArray(list) && list->child)
        keys_error(root->reader, "architectures",
                   "architectures does not name LlamaForCausalLM, the only one supported");
}

bool huggingface_config_read(ModelFile *file, cJSON *json, const char *path, ModelConfig *config,
                             Error *error) {
    KeysReader reader = {.file = path, .error = error};
    LlamaObject root = {&reader, LLAMA_HUGGINGFACE, json, ""};
    char *ignored = NULL;
    if (!cJSON_IsObject(json))
        return keys_error(&reader, "", "the whole must be an object: { \"key\": value, … }");
    *config = llama_empty_config(LAYOUT_HALF);
    check_architecture(&root);
    llama_check_keys(&root, LLAMA_EVERY, CONFIG_RULES, &ignored);
    llama_read_keys(&root, LLAMA_EVERY, config);
    read_rope(file, &root, config, &ignored);
    if (ignored)
        model_file_warn(file, "%s: ignored, as by transformers' Llama models: %s", path, ignored);
    free(ignored);
    return model_config_check(config, &reader) && llama_check_head(&root, "head_dim", config);
}
