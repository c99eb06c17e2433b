#include "model/model_config.h"

#include <inttypes.h>

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

#define AT(field) offsetof(ModelConfig, field)

static const Key position_object[] = {
    {"type", KEY_CHOICE, AT(position.type), "rope", .meaning = "the scheme",
     .choices = position_names, .variants = position_keys},
    {NULL},
};

/* The ranges are wide enough for any model that fits a machine, and narrow enough that a product of three
 * stays in 63 bits. What does not fit this machine is refused later, with the bytes it needs. */
const Key model_keys[] = {
    {"vocab_size", KEY_WHOLE, AT(vocab_size), "(the tokenizer's)", "[1, 16777216]",
     .meaning = "tokens; must be given without a tokenizer"},
    {"context_length", KEY_WHOLE, AT(context_length), NULL, "[1, 1048576]",
     .meaning = "most tokens attended to"},
    {"d_model", KEY_WHOLE, AT(d_model), NULL, "[1, 1048576]", .meaning = "size of a hidden state"},
    {"num_layers", KEY_WHOLE, AT(num_layers), NULL, "[1, 10000]", .meaning = "blocks"},
    {"num_heads", KEY_WHOLE, AT(num_heads), NULL, "[1, 65536]",
     .meaning = "attention heads of d_model / num_heads elements"},
    {"num_kv_heads", KEY_WHOLE, AT(num_kv_heads), "num_heads", "[1, 65536]",
     .meaning = "fewer: grouped-query attention", .derive = derive_kv_heads},
    {"ffn", KEY_CHOICE, AT(ffn), "swiglu", .meaning = "activation of the feed-forward network",
     .choices = ffn_names},
    {"d_ff", KEY_WHOLE, AT(d_ff), "8/3 · d_model, or 4 · d_model without SwiGLU", "[1, 4194304]",
     .meaning = "its inner size; the default is rounded up to a multiple of 64",
     .derive = derive_d_ff},
    {"norm", KEY_CHOICE, AT(norm), "pre", .meaning = "where RMSNorm stands", .choices = norm_names},
    {"norm_eps", KEY_REAL, AT(norm_eps), "1e-5", "[1e-30, 1]",
     .meaning = "added to the mean square"},
    {"tie_embeddings", KEY_BOOL, AT(tie_embeddings), "false",
     .meaning = "the head is the embedding table"},
    {"document_mask", KEY_BOOL, AT(document_mask), "false",
     .meaning = "attention stays inside a document"},
    {"position", KEY_OBJECT, 0, "{}", .keys = position_object},
    {NULL},
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
    if (position->type == POSITION_ROPE) return check_rope(config, reader);
    if (position->type == POSITION_T5 && position->max_distance <= position->buckets / 2)
        return keys_error(reader, "model.position.max_distance",
                          "model.position.max_distance is %" PRId64
                          "; it must be above buckets / 2 (%" PRId64 ")",
                          position->max_distance, position->buckets / 2);
    if (position->type == POSITION_WINDOW && position->max_distance < config->context_length)
        return keys_error(reader, "model.position.max_distance",
                          "model.position.max_distance is %" PRId64
                          "; it must be at least model.context_length (%" PRId64
                          "), since the table has no longer distances",
                          position->max_distance, config->context_length);
    return true;
}

bool model_config_check(const ModelConfig *config, KeysReader *reader) {
    if (reader->failed) return false;
    if (config->d_model % config->num_heads != 0)
        return keys_error(reader, "model.num_heads",
                          "model.num_heads is %" PRId64 "; it must divide model.d_model (%" PRId64
                          ") without a rest",
                          config->num_heads, config->d_model);
    if (config->num_heads % config->num_kv_heads != 0)
        return keys_error(reader, "model.num_kv_heads",
                          "model.num_kv_heads is %" PRId64
                          "; it must divide model.num_heads (%" PRId64 ") without a rest",
                          config->num_kv_heads, config->num_heads);
    return check_position(config, reader);
}
