/* The hyperparameters of a GGUF file of architecture "llama". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/gguf_model.h"
#include "formats/llama.h"
#include "model/position_tables.h"

/* Looks keys up; after the first error everything else is skipped. */
typedef struct KeyReader {
    const Gguf *gguf;
    const char *path;
    Error *error;
    bool failed;
} KeyReader;

static void key_error(KeyReader *reader, const char *key, const char *what) {
    if (!reader->failed) error_set(reader->error, "%s: the key '%s' %s", reader->path, key, what);
    reader->failed = true;
}

/* A whole number from 1 to `high`; `fallback` when absent, 0 meaning that it must be there. */
static int64_t key_whole(KeyReader *reader, const char *key, int64_t fallback, int64_t high) {
    const GgufValue *value = gguf_value(reader->gguf, key);
    int64_t number;
    if (!value) {
        if (fallback == 0) key_error(reader, key, "is missing");
        return fallback;
    }
    if (value->type == GGUF_ARRAY || !gguf_integer(value, 0, &number) || number < 1 ||
        number > high) {
        key_error(reader, key, "is no whole number in a possible range");
        return 1;
    }
    return number;
}

static double key_real(KeyReader *reader, const char *key, double fallback) {
    const GgufValue *value = gguf_value(reader->gguf, key);
    double number;
    if (!value) {
        if (fallback == 0) key_error(reader, key, "is missing");
        return fallback;
    }
    if (value->type == GGUF_ARRAY || !gguf_number(value, 0, &number) || !(number > 0) ||
        !isfinite(number)) {
        key_error(reader, key, "is no positive number");
        return 1;
    }
    return number;
}

static bool key_is(const Gguf *gguf, const char *key, const char *text) {
    const GgufValue *value = gguf_value(gguf, key);
    GgufString string;
    return value && gguf_string(value, &string) && gguf_string_equal(string, text);
}

/* The float32 next to the decimal that was meant: 1e-5 and not 9.99999975e-6. */
static double tidy(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.7g", value);
    double short_value = strtod(text, NULL);
    return (float)short_value == (float)value ? short_value : value;
}

/* ---- which keys there are ---- */

/* What llama.cpp knows of an architecture and the gguf package writes. A key with limits changes the
 * computation unless it has one of two values (a flag: 0 or 1); a note says why a key is ignored. */
typedef struct LlamaKey {
    const char *key; /* behind "llama." */
    const char *note;
    bool limited;
    double values[2];
} LlamaKey;

static const LlamaKey LLAMA_KEYS[] = {
    {.key = "context_length"},
    {.key = "embedding_length"},
    {.key = "block_count"},
    {.key = "feed_forward_length"},
    {.key = "attention.head_count"},
    {.key = "attention.head_count_kv"},
    {.key = "attention.key_length"},
    {.key = "attention.value_length"},
    {.key = "attention.layer_norm_rms_epsilon"},
    {.key = "rope.dimension_count"},
    {.key = "rope.freq_base"},
    {.key = "rope.scale_linear"},
    {.key = "rope.scaling.type"},
    {.key = "rope.scaling.factor"},
    {.key = "rope.scaling.attn_factor"},
    {.key = "rope.scaling.original_context_length"},
    {.key = "rope.scaling.yarn_beta_fast"},
    {.key = "rope.scaling.yarn_beta_slow"},

    {.key = "attention.causal", .limited = true, .values = {1, 1}},
    {.key = "attention.scale", .limited = true, .values = {0, 0}}, /* 0: 1/sqrt(head size) */
    {.key = "attention.output_scale", .limited = true, .values = {0, 1}},
    {.key = "attention.sliding_window", .limited = true, .values = {0, 0}},
    {.key = "attention.clamp_kqv", .limited = true, .values = {0, 0}},
    {.key = "attention.max_alibi_bias", .limited = true, .values = {0, 0}},
    {.key = "attention.relative_buckets_count", .limited = true, .values = {0, 0}},
    {.key = "attention.temperature_length", .limited = true, .values = {0, 0}},
    {.key = "attention.temperature_scale", .limited = true, .values = {0, 0}},
    {.key = "attention.shared_kv_layers", .limited = true, .values = {0, 0}},
    {.key = "attn_logit_softcapping", .limited = true, .values = {0, 0}},
    {.key = "final_logit_softcapping", .limited = true, .values = {0, 0}},
    {.key = "logit_scale", .limited = true, .values = {0, 1}},
    {.key = "embedding_scale", .limited = true, .values = {0, 1}},
    {.key = "residual_scale", .limited = true, .values = {0, 1}},
    {.key = "use_parallel_residual", .limited = true, .values = {0, 0}},
    {.key = "expert_count", .limited = true, .values = {0, 0}},
    {.key = "expert_used_count", .limited = true, .values = {0, 0}},
    {.key = "nextn_predict_layers", .limited = true, .values = {0, 0}},
    {.key = "n_deepstack_layers", .limited = true, .values = {0, 0}},
    {.key = "swiglu_clamp_exp", .limited = true, .values = {0, 0}},
    {.key = "swiglu_clamp_shexp", .limited = true, .values = {0, 0}},
    {.key = "rope.dimension_sections", .limited = true, .values = {0, 0}},
    {.key = "rope.scaling.alpha", .limited = true, .values = {0, 1}},
    {.key = "rope.scaling.yarn_ext_factor", .limited = true, .values = {1, 1}},
    {.key = "rope.scaling.yarn_attn_factor", .limited = true, .values = {1, 1}},
    {.key = "rope.scaling.yarn_log_multiplier", .limited = true, .values = {0, 0}},

    {.key = "vocab_size", .note = "the embedding table says it"},
    {.key = "rope.scaling.finetuned", .note = "how it was trained"},
    {.key = "tensor_data_layout", .note = "where it came from"},
    {.key = "pooling_type", .note = "for embeddings of texts"},
    {.key = "attention.layer_norm_epsilon", .note = "of another kind of norm"},
};

/* Refuses keys with a value that changes the computation; warns of keys that nobody knows. */
static void check_keys(KeyReader *reader, ModelFile *file) {
    static const char prefix[] = "llama.";
    size_t count = sizeof LLAMA_KEYS / sizeof *LLAMA_KEYS, skip = strlen(prefix);
    for (int64_t n = 0; n < reader->gguf->value_count; n++) {
        const GgufValue *value = &reader->gguf->values[n];
        if (value->key.length < skip || memcmp(value->key.text, prefix, skip) != 0) continue;
        GgufString name = {value->key.text + skip, value->key.length - skip};
        size_t i = 0;
        while (i < count && !gguf_string_equal(name, LLAMA_KEYS[i].key)) i++;
        if (i == count) {
            model_file_warn(file, "%s: the key 'llama.%.*s' is not known and ignored", reader->path,
                            name.length < 80 ? (int)name.length : 80, name.text);
        } else if (LLAMA_KEYS[i].limited) {
            double number = NAN;
            bool set;
            if (gguf_boolean(value, &set))
                number = set;
            else if (value->type != GGUF_ARRAY)
                gguf_number(value, 0, &number);
            if (number == LLAMA_KEYS[i].values[0] || number == LLAMA_KEYS[i].values[1]) continue;
            char *key = string_format("%s%s", prefix, LLAMA_KEYS[i].key);
            char *what = string_format("changes the computation unless it is %g; such models are "
                                       "not supported",
                                       LLAMA_KEYS[i].values[1]);
            key_error(reader, key, what);
            free(key);
            free(what);
        }
    }
}

static void read_llama3(KeyReader *keys, RopeScaling *scaling) {
    scaling->type = ROPE_SCALING_LLAMA3;
    scaling->factor = tidy(key_real(keys, GGUF_LLAMA3_FACTOR, 0));
    scaling->low_freq_factor = tidy(key_real(keys, GGUF_LLAMA3_LOW, 0));
    scaling->high_freq_factor = tidy(key_real(keys, GGUF_LLAMA3_HIGH, 0));
    scaling->original_context = key_whole(keys, GGUF_LLAMA3_CONTEXT, 0, 1 << 30);
}

/* As llama.cpp: a factor without a type means linear. */
static void read_scaling(KeyReader *keys, ModelConfig *config) {
    RopeScaling *scaling = &config->position.scaling;
    const Gguf *gguf = keys->gguf;
    static const char type_key[] = "llama.rope.scaling.type";
    if (stored_tensors_find(&gguf->tensors, "rope_freqs.weight")) {
        if (gguf_value(gguf, GGUF_LLAMA3_FACTOR))
            read_llama3(keys, scaling);
        else
            key_error(keys, type_key,
                      "cannot be told: the file scales its frequencies by the tensor "
                      "rope_freqs.weight, which is not supported");
        return;
    }
    bool yarn = key_is(gguf, type_key, "yarn");
    double factor = key_real(keys, "llama.rope.scale_linear", 1);
    factor = tidy(key_real(keys, "llama.rope.scaling.factor", factor));
    if (key_is(gguf, type_key, "none")) return;
    if (gguf_value(gguf, type_key) && !yarn && !key_is(gguf, type_key, "linear")) {
        key_error(keys, type_key, "is of a kind that is not supported; none, linear and yarn are");
        return;
    }
    double attention = tidy(key_real(keys, GGUF_ATTENTION_FACTOR, 1));
    if (!yarn && attention != 1)
        key_error(keys, GGUF_ATTENTION_FACTOR, "is not 1, which only yarn can have");
    if (!yarn && factor == 1) return;
    *scaling = (RopeScaling){.type = yarn ? ROPE_SCALING_YARN : ROPE_SCALING_LINEAR,
                             .factor = factor,
                             .original_context = config->context_length};
    if (!yarn) return;
    scaling->original_context = key_whole(keys, "llama.rope.scaling.original_context_length",
                                          config->context_length, 1 << 30);
    scaling->beta_fast = tidy(key_real(keys, "llama.rope.scaling.yarn_beta_fast", 32));
    scaling->beta_slow = tidy(key_real(keys, "llama.rope.scaling.yarn_beta_slow", 1));
    /* here it multiplies the usual factor instead of replacing it */
    if (attention != 1) scaling->attention_factor = attention * position_yarn_magnitude(factor);
}

bool gguf_config_read(ModelFile *file, const Gguf *gguf, ModelConfig *config, const char *path,
                      Error *error) {
    KeyReader keys = {gguf, path, error, false};
    const StoredTensor *table = stored_tensors_find(&gguf->tensors, "token_embd.weight");
    if (!key_is(gguf, "general.architecture", "llama"))
        return error_set(
            error, "%s: its general.architecture is not \"llama\", the only one supported", path);
    if (!table || table->rank != 2 || table->shape[0] < 1 || table->shape[0] > 1 << 24)
        return error_set(error, "%s: has no usable tensor 'token_embd.weight'", path);
    *config = (ModelConfig){.norm = NORM_PRE, .ffn = FFN_SWIGLU, .vocab_size = table->shape[0]};
    config->tie_embeddings = stored_tensors_find(&gguf->tensors, "output.weight") == NULL;
    config->context_length = key_whole(&keys, "llama.context_length", 0, 1 << 20);
    config->d_model = key_whole(&keys, "llama.embedding_length", 0, 1 << 20);
    config->num_layers = key_whole(&keys, "llama.block_count", 0, 10000);
    config->d_ff = key_whole(&keys, "llama.feed_forward_length", 0, 1 << 22);
    config->num_heads = key_whole(&keys, "llama.attention.head_count", 0, 1 << 16);
    config->num_kv_heads =
        key_whole(&keys, "llama.attention.head_count_kv", config->num_heads, 1 << 16);
    config->norm_eps = tidy(key_real(&keys, "llama.attention.layer_norm_rms_epsilon", 0));
    config->position =
        (PositionConfig){.type = POSITION_ROPE, .layout = LAYOUT_INTERLEAVED, .fraction = 1};
    config->position.base = tidy(key_real(&keys, "llama.rope.freq_base", 10000));
    read_scaling(&keys, config);
    check_keys(&keys, file);
    if (config->num_layers > gguf->tensors.count)
        key_error(&keys, "llama.block_count", "is larger than the number of tensors");
    if (keys.failed || !llama_check_numbers(config, path, error)) return false;
    static const char *const head_sizes[] = {
        "llama.rope.dimension_count", "llama.attention.key_length", "llama.attention.value_length"};
    int64_t d_head = config->d_model / config->num_heads;
    for (int i = 0; i < 3; i++)
        if (key_whole(&keys, head_sizes[i], d_head, 1 << 20) != d_head)
            key_error(&keys, head_sizes[i],
                      "is not embedding_length / head_count; such models are "
                      "not supported");
    return !keys.failed;
}
