#include "formats/huggingface/huggingface_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/keys.h"
#include "formats/llama.h"

/* ---- which keys there are ---- */

typedef enum KeyUse {
    HONOURED,
    MUST_BE, /* anything else would be another computation */
    IGNORED  /* does not change what the model computes */
} KeyUse;

/* What transformers 5 reads of a Llama model's config.json: LlamaConfig, PreTrainedConfig, its rope code,
 * and what its masks and caches look up; and what its files often carry besides. */
static const struct {
    const char *key;
    KeyUse use;
    const char *detail; /* MUST_BE: the value, as JSON; IGNORED: why */
} CONFIG_KEYS[] = {
    {"architectures", HONOURED, NULL},
    {"vocab_size", HONOURED, NULL},
    {"hidden_size", HONOURED, NULL},
    {"intermediate_size", HONOURED, NULL},
    {"num_hidden_layers", HONOURED, NULL},
    {"num_attention_heads", HONOURED, NULL},
    {"num_key_value_heads", HONOURED, NULL},
    {"head_dim", HONOURED, NULL},
    {"max_position_embeddings", HONOURED, NULL},
    {"rms_norm_eps", HONOURED, NULL},
    {"tie_word_embeddings", HONOURED, NULL},
    {"rope_theta", HONOURED, NULL},
    {"rope_scaling", HONOURED, NULL},
    {"rope_parameters", HONOURED, NULL},
    {"partial_rotary_factor", HONOURED, NULL},
    {"original_max_position_embeddings", HONOURED, NULL},
    {"bos_token_id", HONOURED, NULL},
    {"eos_token_id", HONOURED, NULL},

    {"model_type", MUST_BE, "\"llama\""},
    {"hidden_act", MUST_BE, "\"silu\""},
    {"attention_bias", MUST_BE, "false"},
    {"mlp_bias", MUST_BE, "false"},
    {"is_causal", MUST_BE, "true"},
    {"is_encoder_decoder", MUST_BE, "false"},
    {"sliding_window", MUST_BE, "null"},
    {"attention_chunk_size", MUST_BE, "null"},
    {"layer_types", MUST_BE, "null"},
    {"per_layer_config", MUST_BE, "null"},
    {"quantization_config", MUST_BE, "null"},

    {"attention_dropout", IGNORED, "training only"},
    {"initializer_range", IGNORED, "training only"},
    {"use_cache", IGNORED, "speed only"},
    {"pretraining_tp", IGNORED, "how the products were split; transformers 5 ignores it"},
    {"chunk_size_feed_forward", IGNORED, "memory only"},
    {"dtype", IGNORED, "the tensors name their types; we compute in float32"},
    {"torch_dtype", IGNORED, "the old name of dtype"},
    {"pad_token_id", IGNORED, "batches of texts of several lengths"},
    {"transformers_version", IGNORED, "who wrote the file"},
    {"_name_or_path", IGNORED, "where it came from"},
    {"name_or_path", IGNORED, "where it came from"},
    {"_attn_implementation_autoset", IGNORED, "which code computes attention"},
    {"attn_implementation", IGNORED, "which code computes attention"},
    {"auto_map", IGNORED, "code of its own, which transformers runs only when told to trust it"},
    {"transformers.js_config", IGNORED, "for a browser"},
    {"is_llama_config", IGNORED, "a mark of SmolLM's converter"},
    {"unsloth_version", IGNORED, "who wrote the file"},
    {"output_attentions", IGNORED, "what else is returned"},
    {"output_hidden_states", IGNORED, "what else is returned"},
    {"return_dict", IGNORED, "what else is returned"},
    {"tie_last_hidden_states", IGNORED, "what else is returned"},
    {"id2label", IGNORED, "classifiers only"},
    {"label2id", IGNORED, "classifiers only"},
    {"num_labels", IGNORED, "classifiers only"},
    {"problem_type", IGNORED, "classifiers only"},
};

/* The keys inside rope_scaling or rope_parameters, and the rope types that look at them. */
static const struct {
    const char *key, *types; /* NULL: all */
} ROPE_KEYS[] = {
    {"rope_type", NULL},
    {"type", NULL},
    {"rope_theta", NULL},
    {"partial_rotary_factor", NULL},
    {"factor", "linear dynamic yarn llama3"},
    {"original_max_position_embeddings", "yarn llama3"},
    {"attention_factor", "yarn"},
    {"beta_fast", "yarn"},
    {"beta_slow", "yarn"},
    {"mscale", "yarn"},
    {"mscale_all_dim", "yarn"},
    {"truncate", "yarn"},
    {"low_freq_factor", "llama3"},
    {"high_freq_factor", "llama3"},
    {"short_factor", "longrope"},
    {"long_factor", "longrope"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The file, or rope_scaling or rope_parameters in it. */
typedef struct Object {
    KeysReader *reader;
    const cJSON *node;
    const char *path;
} Object;

/* A key that is absent or null has its default, as in transformers. */
static bool given(const Object *object, const char *key) {
    const cJSON *node = json_get(object->node, key);
    return node && !cJSON_IsNull(node);
}

static void append(char **list, const char *object, const char *key) {
    char *longer = string_format("%s%s%s%s%.60s", *list ? *list : "", *list ? ", " : "", object,
                                 *object ? "." : "", key);
    free(*list);
    *list = longer;
}

static void check_value(Object *root, const char *key, const char *wanted) {
    cJSON *value = cJSON_Parse(wanted), *found = json_get(root->node, key);
    if (given(root, key) && !cJSON_Compare(found, value, true)) {
        char *text = cJSON_PrintUnformatted(found);
        keys_error(root->reader, key, "%s is %.60s; only %s is supported", key, text, wanted);
        cJSON_free(text);
    }
    cJSON_Delete(value);
}

/* Refuses what must have another value; keys that are in neither table are added to `ignored`. */
static void check_keys(Object *root, char **ignored) {
    const cJSON *item;
    cJSON_ArrayForEach(item, root->node) {
        size_t i = 0;
        while (i < COUNT(CONFIG_KEYS) && strcmp(CONFIG_KEYS[i].key, item->string) != 0) i++;
        if (i == COUNT(CONFIG_KEYS))
            append(ignored, "", item->string);
        else if (CONFIG_KEYS[i].use == MUST_BE)
            check_value(root, item->string, CONFIG_KEYS[i].detail);
    }
}

static void list_unused(const Object *rope, const char *type, char **ignored) {
    const cJSON *item;
    cJSON_ArrayForEach(item, rope->node) {
        size_t i = 0;
        while (i < COUNT(ROPE_KEYS) && strcmp(ROPE_KEYS[i].key, item->string) != 0) i++;
        if (i == COUNT(ROPE_KEYS) || (ROPE_KEYS[i].types && !strstr(ROPE_KEYS[i].types, type)))
            append(ignored, rope->path, item->string);
    }
}

/* ---- reading them ---- */

/* Leaves `value` alone when the key is absent or null. */
static void read_value(const Object *object, Key key, void *value) {
    if (!given(object, key.name)) return;
    char *path = string_format("%s%s%s", object->path, *object->path ? "." : "", key.name);
    key_read(object->reader, &key, path, json_get(object->node, key.name), value);
    free(path);
}

static int64_t whole(const Object *object, const char *key, int64_t fallback, int64_t high) {
    char interval[64];
    snprintf(interval, sizeof interval, "[1, %lld]", (long long)high);
    read_value(object, (Key){key, KEY_WHOLE, .allowed = interval}, &fallback);
    return fallback;
}

static double real_number(const Object *object, const char *key, double fallback,
                          const char *interval) {
    read_value(object, (Key){key, KEY_REAL, .allowed = interval}, &fallback);
    return fallback;
}

static bool flag(const Object *object, const char *key, bool fallback) {
    read_value(object, (Key){.name = key, .kind = KEY_BOOL}, &fallback);
    return fallback;
}

static double required_factor(Object *rope, const char *key) {
    if (!given(rope, key)) {
        keys_error(rope->reader, key, "%s.%s is missing; this kind of scaling needs it", rope->path,
                   key);
        return 1;
    }
    return real_number(rope, key, 1, "(0, 1e6]");
}

/* attention_factor, or what mscale and mscale_all_dim make of it; 0: the usual one. */
static double yarn_attention_factor(Object *rope, double factor) {
    double asked = real_number(rope, "attention_factor", 0, "(0, 1e6]");
    double mscale = real_number(rope, "mscale", 0, "[0, 1e6]");
    double all = real_number(rope, "mscale_all_dim", 0, "[0, 1e6]");
    if (asked > 0 || mscale == 0 || all == 0) return asked;
    double growth = factor > 1 ? 0.1 * log(factor) : 0;
    return (mscale * growth + 1) / (all * growth + 1);
}

static void read_rope_type(Object *root, Object *rope, const char *type, ModelConfig *config) {
    static const char length_key[] = "original_max_position_embeddings";
    RopeScaling *scaling = &config->position.scaling;
    int64_t context = config->context_length;
    if (strcmp(type, "default") == 0) return;
    if (strcmp(type, "linear") == 0) {
        scaling->type = ROPE_SCALING_LINEAR;
    } else if (strcmp(type, "dynamic") == 0) {
        scaling->type = ROPE_SCALING_DYNAMIC_NTK;
    } else if (strcmp(type, "yarn") == 0) {
        scaling->type = ROPE_SCALING_YARN;
    } else if (strcmp(type, "llama3") == 0) {
        scaling->type = ROPE_SCALING_LLAMA3;
    } else {
        keys_error(rope->reader, "rope_type",
                   "%s: the rope type '%.60s' is not supported; default, linear, dynamic, "
                   "yarn and llama3 are",
                   rope->path, type);
        return;
    }
    scaling->factor = required_factor(rope, "factor");
    scaling->original_context = context;
    if (scaling->type == ROPE_SCALING_YARN || scaling->type == ROPE_SCALING_LLAMA3)
        /* the one at the top level goes first */
        scaling->original_context = whole(given(root, length_key) ? root : rope, length_key,
                                          context, MODEL_MOST_ORIGINAL_CONTEXT);
    if (scaling->type == ROPE_SCALING_YARN) {
        scaling->beta_fast = real_number(rope, "beta_fast", 32, "(0, 1e6]");
        scaling->beta_slow = real_number(rope, "beta_slow", 1, "(0, 1e6]");
        scaling->attention_factor = yarn_attention_factor(rope, scaling->factor);
        if (!flag(rope, "truncate", true))
            keys_error(rope->reader, "truncate", "%s.truncate false is not supported", rope->path);
    } else if (scaling->type == ROPE_SCALING_LLAMA3) {
        scaling->low_freq_factor = required_factor(rope, "low_freq_factor");
        scaling->high_freq_factor = required_factor(rope, "high_freq_factor");
    }
}

/* Python's truth: null and {} are none. */
static bool is_filled(const Object *root, const char *key) {
    const cJSON *node = json_get(root->node, key);
    return given(root, key) && !(cJSON_IsObject(node) && !node->child);
}

/* rope_scaling counts when it is filled, else rope_parameters (transformers 5); in either "rope_type"
 * or, older, "type". rope_theta inside goes before the one at the top level. */
static void read_rope(ModelFile *file, Object *root, ModelConfig *config, char **ignored) {
    PositionConfig *position = &config->position;
    *position = (PositionConfig){.type = POSITION_ROPE, .layout = LAYOUT_HALF, .fraction = 1};
    position->base = real_number(root, "rope_theta", 10000, "(1, 1e12]");
    double fraction = real_number(root, "partial_rotary_factor", 1, "(0, 1]");
    bool old = is_filled(root, "rope_scaling");
    bool fresh = is_filled(root, "rope_parameters");
    if (old && fresh)
        model_file_warn(file,
                        "%s: has rope_scaling and rope_parameters; as in transformers, "
                        "rope_scaling counts and all of rope_parameters is ignored",
                        root->reader->file);
    if (old || fresh) {
        const char *key = old ? "rope_scaling" : "rope_parameters";
        Object rope = {root->reader, json_get(root->node, key), key};
        if (!cJSON_IsObject(rope.node))
            keys_error(root->reader, key, "%s must be an object: { \"key\": value, … }", key);
        position->base = real_number(&rope, "rope_theta", position->base, "(1, 1e12]");
        fraction = real_number(&rope, "partial_rotary_factor", fraction, "(0, 1]");
        const cJSON *type = json_get(rope.node, "rope_type");
        if (!type) type = json_get(rope.node, "type");
        if (type ? !cJSON_IsString(type) : old) {
            keys_error(root->reader, key, "%s.rope_type must be the name of a rope type", key);
        } else {
            const char *name = type ? type->valuestring : "default";
            read_rope_type(root, &rope, name, config);
            list_unused(&rope, name, ignored);
        }
    }
    if (fraction != 1)
        keys_error(root->reader, "partial_rotary_factor",
                   "partial_rotary_factor is %g; Llama models rotate whole heads (1)", fraction);
}

static void check_architecture(Object *root) {
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

static bool check_head(Object *root, const ModelConfig *config) {
    int64_t d_head = config->d_model / config->num_heads;
    if (whole(root, "head_dim", d_head, 1 << 20) == d_head) return true;
    return keys_error(root->reader, "head_dim",
                      "head_dim is not hidden_size / num_attention_heads (%lld); such models "
                      "are not supported",
                      (long long)d_head);
}

bool huggingface_config_read(ModelFile *file, const cJSON *json, const char *path,
                             ModelConfig *config, Error *error) {
    KeysReader reader = {.file = path, .error = error};
    Object root = {&reader, json, ""};
    char *ignored = NULL;
    if (!cJSON_IsObject(json))
        return keys_error(&reader, "", "the whole must be an object: { \"key\": value, … }");
    *config = (ModelConfig){.norm = NORM_PRE, .ffn = FFN_SWIGLU};
    check_architecture(&root);
    check_keys(&root, &ignored);
    config->vocab_size = whole(&root, "vocab_size", 32000, 1 << 24);
    config->d_model = whole(&root, "hidden_size", 4096, 1 << 20);
    config->d_ff = whole(&root, "intermediate_size", 11008, 1 << 22);
    config->num_layers = whole(&root, "num_hidden_layers", 32, 10000);
    config->num_heads = whole(&root, "num_attention_heads", 32, 1 << 16);
    config->num_kv_heads = whole(&root, "num_key_value_heads", config->num_heads, 1 << 16);
    config->context_length = whole(&root, "max_position_embeddings", 2048, 1 << 20);
    config->norm_eps = real_number(&root, "rms_norm_eps", 1e-6, "[1e-30, 1]");
    config->tie_embeddings = flag(&root, "tie_word_embeddings", false);
    read_rope(file, &root, config, &ignored);
    if (ignored)
        model_file_warn(file, "%s: ignored, as by transformers' Llama models: %s", path, ignored);
    free(ignored);
    return !reader.failed && llama_check_numbers(config, path, error) && check_head(&root, config);
}
