#include "model/model_config.h"

#include <inttypes.h>

#include "base/key_rows.h"
#include "model/position_tables.h"

/* The order of each list is that of its enum. */
static const char *const norm_names[] = {"pre", "post", "none", NULL};
static const char *const ffn_names[] = {"swiglu", "silu", "relu", "gelu", NULL};
static const char *const position_names[POSITION_TYPE_COUNT + 1] = {
    "none",   "sinusoidal", "sinusoidal_learned", "learned", "rope", "t5",
    "window", "shaw",       "transformer_xl",     "alibi",   "index"};

const char *position_type_name(PositionType type) {
    return position_names[type];
}

const char *norm_name(NormPlacement norm) {
    return norm_names[norm];
}

const char *ffn_name(FfnType ffn) {
    return ffn_names[ffn];
}

bool position_is_absolute(PositionType type) {
    return type == POSITION_SINUSOIDAL || type == POSITION_SINUSOIDAL_LEARNED ||
           type == POSITION_LEARNED || type == POSITION_INDEX;
}

int64_t ffn_default_size(FfnType ffn, int64_t d_model) {
    int64_t thirds = ffn == FFN_SWIGLU ? 8 : 12; /* d_ff = thirds/3 · d_model */
    return (thirds * d_model + 3 * 64 - 1) / (3 * 64) * 64;
}

/* ---- the keys ---- */

static bool derive_kv_heads(void *config) {
    ModelConfig *c = config;
    c->num_kv_heads = c->num_heads;
    return true;
}

static bool derive_d_ff(void *config) {
    ModelConfig *c = config;
    c->d_ff = ffn_default_size(c->ffn, c->d_model);
    return true;
}

#define KEYS_OF ModelConfig

static const Key position_object[] = {
    CHOICE("type", position.type, "rope", position_names, "the scheme", .variants = position_keys),
    END,
};

/* The ranges are wide enough for any model that fits a machine, and narrow enough that a product of three
 * stays in 63 bits. What does not fit this machine is refused later, with the bytes it needs. */
const Key model_keys[] = {
    WHOLE("vocab_size", vocab_size, "(the tokenizer's)", "[1, 16777216]",
          "tokens; must be given without a tokenizer"),
    WHOLE("context_length", context_length, NULL, "[1, 1048576]", "most tokens attended to"),
    WHOLE("d_model", d_model, NULL, "[1, 1048576]", "size of a hidden state"),
    WHOLE("num_layers", num_layers, NULL, "[1, 10000]", "blocks"),
    WHOLE("num_heads", num_heads, NULL, "[1, 65536]",
          "attention heads of d_model / num_heads elements"),
    WHOLE("num_kv_heads", num_kv_heads, "num_heads", "[1, 65536]", "fewer: grouped-query attention",
          .derive = derive_kv_heads),
    CHOICE("ffn", ffn, "swiglu", ffn_names, "activation of the feed-forward network"),
    WHOLE("d_ff", d_ff, "8/3 · d_model, or 4 · d_model without SwiGLU", "[1, 4194304]",
          "its inner size; the default is rounded up to a multiple of 64", .derive = derive_d_ff),
    CHOICE("norm", norm, "pre", norm_names, "where RMSNorm stands"),
    REAL("norm_eps", norm_eps, "1e-5", "[1e-30, 1]", "added to the mean square"),
    FLAG("tie_embeddings", tie_embeddings, "false", "the head is the embedding table"),
    FLAG("document_mask", document_mask, "false", "attention stays inside a document"),
    OBJECT("position", "{}", position_object),
    END,
};

/* ---- conditions between keys ---- */

/* What the arithmetic of the rotation cannot take. */
static bool check_rope(const ModelConfig *config, KeysReader *reader) {
    int64_t d_head = config->d_model / config->num_heads;
    Error reason;
    if (position_rope_check(&config->position, d_head, &reason)) return true;
    int64_t rotated = position_rope_rotated(&config->position, d_head);
    if (config->position.fraction == 1 && rotated % 2 != 0)
        return keys_error(reader, "model.num_heads",
                          "model.d_model is %" PRId64 " and model.num_heads %" PRId64
                          ", which makes heads of %" PRId64
                          " elements; rope turns them in pairs and needs an even number",
                          config->d_model, config->num_heads, d_head);
    return keys_error(reader, "model.position", "%s", reason.message);
}

static bool check_position(const ModelConfig *config, KeysReader *reader) {
    const PositionConfig *position = &config->position;
    const char *path = "model.position.max_distance";
    int64_t distance = position->max_distance, half = position->buckets / 2;
    if (position->type == POSITION_ROPE) return check_rope(config, reader);
    if (position->type == POSITION_T5)
        return keys_require(reader, distance > half, path, distance, "be above buckets / 2", half);
    return position->type != POSITION_WINDOW ||
           keys_require(reader, distance >= config->context_length, path, distance,
                        "be at least model.context_length", config->context_length);
}

bool model_config_check(const ModelConfig *config, KeysReader *reader) {
    if (reader->failed) return false;
    int64_t heads = config->num_heads, kv_heads = config->num_kv_heads;
    return keys_require(reader, config->d_model % heads == 0, "model.num_heads", heads,
                        "divide model.d_model", config->d_model) &&
           keys_require(reader, heads % kv_heads == 0, "model.num_kv_heads", kv_heads,
                        "divide model.num_heads", heads) &&
           check_position(config, reader);
}
