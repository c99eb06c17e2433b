#include "formats/llama/llama_keys.h"

#include <stdlib.h>
#include <string.h>

#define REQUIRED NULL
#define EVERY    LLAMA_EVERY
#define YARN     LLAMA_SCALING(ROPE_SCALING_YARN)
#define LLAMA3   LLAMA_SCALING(ROPE_SCALING_LLAMA3)
#define FACTOR   (LLAMA_SCALING(ROPE_SCALING_LINEAR) | LLAMA_SCALING(ROPE_SCALING_DYNAMIC_NTK) | YARN)
/* A name in Hugging Face and its default, then the same of GGUF. */
#define ROW(models, kind, field, allowed, huggingface, default1, gguf, default2)                   \
    {                                                                                              \
        kind, offsetof(ModelConfig, field), allowed, models, {huggingface, gguf}, {                \
            default1, default2                                                                     \
        }                                                                                          \
    }
#define WHOLE(models, field, limit, ...)                                                           \
    ROW(models, KEY_WHOLE, field, "[1, " limit "]", __VA_ARGS__)
#define REAL(models, field, ...)    ROW(models, KEY_REAL, field, __VA_ARGS__)
#define SCALING(models, field, ...) REAL(models, position.scaling.field, "(0, 1e6]", __VA_ARGS__)
#define CONTEXT(models, ...)                                                                       \
    WHOLE(models, position.scaling.original_context, "1073741824", __VA_ARGS__)

/* Defaults are those of transformers 5 and llama.cpp. llama3's parameters are no keys of llama.cpp, which
 * takes the factors that result from them: in GGUF they are an object of ours. */
const LlamaKey llama_keys[] = {
    WHOLE(EVERY, d_model, "1048576", "hidden_size", "4096", "embedding_length", REQUIRED),
    WHOLE(EVERY, d_ff, "4194304", "intermediate_size", "11008", "feed_forward_length", REQUIRED),
    WHOLE(EVERY, num_layers, "10000", "num_hidden_layers", "32", "block_count", REQUIRED),
    WHOLE(EVERY, num_heads, "65536", "num_attention_heads", "32", "attention.head_count", REQUIRED),
    WHOLE(EVERY, num_kv_heads, "65536", "num_key_value_heads", "(num_heads)",
          "attention.head_count_kv", "(num_heads)"),
    WHOLE(EVERY, vocab_size, "16777216", "vocab_size", "32000", "vocab_size", "(the embedding's)"),
    WHOLE(EVERY, context_length, "1048576", "max_position_embeddings", "2048", "context_length",
          REQUIRED),
    REAL(EVERY, norm_eps, "[1e-30, 1]", "rms_norm_eps", "1e-6", "attention.layer_norm_rms_epsilon",
         REQUIRED),
    REAL(EVERY, position.base, "(1, 1e12]", "rope_theta", "10000", "rope.freq_base", "10000"),
    ROW(EVERY, KEY_BOOL, tie_embeddings, "", "tie_word_embeddings", "false", NULL, NULL),

    SCALING(FACTOR, factor, "factor", REQUIRED, "rope.scaling.factor", "(1)"),
    CONTEXT(YARN, "original_max_position_embeddings", "(context_length)",
            "rope.scaling.original_context_length", "(context_length)"),
    SCALING(YARN, beta_fast, "beta_fast", "32", "rope.scaling.yarn_beta_fast", "32"),
    SCALING(YARN, beta_slow, "beta_slow", "1", "rope.scaling.yarn_beta_slow", "1"),
    SCALING(YARN, attention_factor, "attention_factor", "(the usual one)", NULL, NULL),
    SCALING(LLAMA3, factor, "factor", REQUIRED, "factor", REQUIRED),
    SCALING(LLAMA3, low_freq_factor, "low_freq_factor", REQUIRED, "low_freq_factor", REQUIRED),
    SCALING(LLAMA3, high_freq_factor, "high_freq_factor", REQUIRED, "high_freq_factor", REQUIRED),
    CONTEXT(LLAMA3, "original_max_position_embeddings", "(context_length)", "original_context",
            REQUIRED),
    {.allowed = NULL},
};

/* ---- reading ---- */

static char *full_path(const LlamaObject *object, const char *key) {
    return string_format("%s%s%s", object->path, *object->path ? "." : "", key);
}

bool llama_given(const LlamaObject *object, const char *key) {
    const cJSON *node = json_get(object->node, key);
    return node && !cJSON_IsNull(node);
}

void llama_read(const LlamaObject *object, Key key, void *value) {
    if (!llama_given(object, key.name)) return;
    char *path = full_path(object, key.name);
    key_read(object->reader, &key, path, json_get(object->node, key.name), value);
    free(path);
}

static void set_default(const LlamaObject *object, const Key *key, const char *fallback,
                        ModelConfig *config) {
    if (fallback && *fallback == '(') return;
    char *path = full_path(object, key->name);
    cJSON *node = fallback ? cJSON_Parse(fallback) : NULL;
    if (node)
        key_read(object->reader, key, path, node, config);
    else
        keys_error(object->reader, path, "%s is missing; it has no default", path);
    cJSON_Delete(node);
    free(path);
}

void llama_read_keys(const LlamaObject *object, unsigned models, ModelConfig *config) {
    for (const LlamaKey *row = llama_keys; row->allowed; row++) {
        Key key = {row->names[object->format], row->kind, row->offset, .allowed = row->allowed};
        if (!(row->models & models) || !key.name) continue;
        if (llama_given(object, key.name))
            llama_read(object, key, config);
        else
            set_default(object, &key, row->fallbacks[object->format], config);
    }
    if (config->num_kv_heads == 0) config->num_kv_heads = config->num_heads;
}

/* ---- keys that are not in the table ---- */

static bool is_one_of(const cJSON *value, const char *alternatives) {
    for (const char *at = alternatives; at; at = strstr(at, " or ")) {
        if (at != alternatives) at += strlen(" or ");
        cJSON *wanted = cJSON_ParseWithOpts(at, NULL, false);
        bool same = cJSON_Compare(value, wanted, true);
        cJSON_Delete(wanted);
        if (same) return true;
    }
    return false;
}

static void add_unknown(const LlamaObject *object, const char *key, char **unknown) {
    char *path = full_path(object, key);
    char *longer = string_format("%s%s%.90s", *unknown ? *unknown : "", *unknown ? ", " : "", path);
    free(*unknown);
    free(path);
    *unknown = longer;
}

static bool in_table(const LlamaObject *object, unsigned models, const char *name) {
    for (const LlamaKey *row = llama_keys; row->allowed; row++) {
        const char *known = row->names[object->format];
        if (row->models & models && known && strcmp(known, name) == 0) return true;
    }
    return false;
}

static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

void llama_check_keys(const LlamaObject *object, unsigned models, const LlamaRule *rules,
                      char **unknown) {
    const cJSON *item;
    cJSON_ArrayForEach(item, object->node) {
        const LlamaRule *rule = rules;
        while (rule->names && !has_word(rule->names, item->string)) rule++;
        if (!rule->names && !in_table(object, models, item->string))
            add_unknown(object, item->string, unknown);
        if (!rule->must || cJSON_IsNull(item) || is_one_of(item, rule->must)) continue;
        char *path = full_path(object, item->string), *text = json_to_text(item, 0);
        keys_error(object->reader, path, "%s is %.60s; only %s is supported", path, text,
                   rule->must);
        free(text);
        free(path);
    }
}

bool llama_check_head(const LlamaObject *object, const char *name, const ModelConfig *config) {
    int64_t expected = config->d_model / config->num_heads, given = expected;
    llama_read(object, (Key){name, KEY_WHOLE, .allowed = "[1, 1048576]"}, &given);
    return given == expected ||
           keys_error(
               object->reader, name,
               "%s is %lld, and the hidden size divided by the number of heads is %lld; such "
               "models are not supported",
               name, (long long)given, (long long)expected);
}
