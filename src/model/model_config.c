#include "model/model_config.h"

#include <inttypes.h>

#include "model/position_tables.h"

/* Wide enough for any model that fits a machine, narrow enough that a product of three stays in 63
 * bits. What does not fit this machine is refused later, with the bytes it needs. */
enum {
    MOST_VOCAB = 1 << 24,
    MOST_CONTEXT = 1 << 20,
    MOST_WIDTH = 1 << 20,
    MOST_LAYERS = 10000,
    MOST_HEADS = 1 << 16,
};

/* The order of each list is that of its enum. */
static const char *const norm_names[] = {"pre", "post", "none"};
static const char *const ffn_names[] = {"swiglu", "silu", "relu", "gelu"};
static const char *const inject_names[] = {"add", "concat", "gate"};
static const char *const rope_layout_names[] = {"interleaved", "half"};
static const char *const table_layout_names[] = {"interleaved", "concat"};
static const char *const scaling_names[] = {"none",        "linear", "ntk",
                                            "dynamic_ntk", "yarn",   "llama3"};
static const char *const position_names[POSITION_TYPE_COUNT] = {
    "none",   "sinusoidal", "sinusoidal_learned", "learned", "rope", "t5",
    "window", "shaw",       "transformer_xl",     "alibi",   "index"};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

const char *position_type_name(PositionType type) {
    return position_names[type];
}

const char *position_layout_name(PositionType type, PositionLayout layout) {
    return type == POSITION_ROPE ? rope_layout_names[layout] : table_layout_names[layout];
}

const char *rope_scaling_name(RopeScalingType type) {
    return scaling_names[type];
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

/* ---- reading ---- */

static void read_scaling(JsonObject *position, int64_t context_length, RopeScaling *scaling) {
    JsonObject object = json_object_child(position, "scaling");
    int64_t default_type = object.node ? JSON_REQUIRED : ROPE_SCALING_NONE;
    int type =
        json_object_choice(&object, "type", default_type, scaling_names, COUNT(scaling_names));
    scaling->type = (RopeScalingType)type;
    object.variant = scaling_names[type];
    if (scaling->type == ROPE_SCALING_NONE) {
        json_object_end(&object);
        return;
    }
    scaling->original_context = json_object_whole(&object, "original_context", context_length, 1,
                                                  MODEL_MOST_ORIGINAL_CONTEXT);
    double stretched = (double)context_length / (double)scaling->original_context;
    if (stretched <= 1) json_object_require(&object, "factor");
    scaling->factor = json_object_real(&object, "factor", stretched, "(0, 1e6]");
    if (scaling->type == ROPE_SCALING_YARN) {
        scaling->beta_fast = json_object_real(&object, "beta_fast", 32, "(0, 1e6]");
        scaling->beta_slow = json_object_real(&object, "beta_slow", 1, "(0, 1e6]");
        scaling->attention_factor = json_object_real(&object, "attention_factor", 0, "(0, 1e6]");
    } else if (scaling->type == ROPE_SCALING_LLAMA3) {
        scaling->low_freq_factor = json_object_real(&object, "low_freq_factor", 1, "(0, 1e6]");
        scaling->high_freq_factor = json_object_real(&object, "high_freq_factor", 4, "(0, 1e6]");
    }
    json_object_end(&object);
}

static PositionLayout read_layout(JsonObject *object, const char *const names[2]) {
    return (PositionLayout)json_object_choice(object, "layout", LAYOUT_INTERLEAVED, names, 2);
}

/* Fields that do not belong to the type stay 0. */
static void read_position(JsonObject *model, int64_t context_length, PositionConfig *position) {
    JsonObject object = json_object_child(model, "position");
    int type =
        json_object_choice(&object, "type", POSITION_ROPE, position_names, POSITION_TYPE_COUNT);
    *position = (PositionConfig){.type = (PositionType)type};
    object.variant = position_names[type];
    switch (position->type) {
    case POSITION_ROPE:
        position->base = json_object_real(&object, "theta", 10000, "(1, 1e12]");
        position->layout = read_layout(&object, rope_layout_names);
        position->fraction = json_object_real(&object, "fraction", 1, "(0, 1]");
        position->rotate_values = json_object_bool(&object, "rotate_values", false);
        read_scaling(&object, context_length, &position->scaling);
        break;
    case POSITION_SINUSOIDAL:
        position->layout = read_layout(&object, table_layout_names);
        position->base = json_object_real(&object, "base", 10000, "(1, 1e12]");
        break;
    case POSITION_SINUSOIDAL_LEARNED:
        position->base = json_object_real(&object, "base", 10000, "(1, 1e12]");
        break;
    case POSITION_LEARNED:
        position->stretch = json_object_whole(&object, "stretch", 0, 0, MOST_CONTEXT);
        break;
    case POSITION_T5:
        position->buckets = json_object_whole(&object, "buckets", 32, 2, MOST_CONTEXT);
        position->max_distance = json_object_whole(&object, "max_distance", 128, 1, MOST_CONTEXT);
        break;
    case POSITION_WINDOW:
        position->max_distance =
            json_object_whole(&object, "max_distance", context_length, 1, MOST_CONTEXT);
        break;
    case POSITION_SHAW:
        position->max_distance = json_object_whole(&object, "max_distance", 16, 1, MOST_CONTEXT);
        position->values = json_object_bool(&object, "values", true);
        break;
    default: /* none, transformer_xl, alibi, index: nothing to choose */
        break;
    }
    if (position_is_absolute(position->type))
        position->inject = (PositionInject)json_object_choice(&object, "inject", INJECT_ADD,
                                                              inject_names, COUNT(inject_names));
    json_object_end(&object);
}

void model_config_read(JsonObject *object, ModelConfig *config) {
    *config = (ModelConfig){0};
    config->vocab_size = json_object_whole(object, "vocab_size", 0, 1, MOST_VOCAB);
    config->context_length =
        json_object_whole(object, "context_length", JSON_REQUIRED, 1, MOST_CONTEXT);
    config->d_model = json_object_whole(object, "d_model", JSON_REQUIRED, 1, MOST_WIDTH);
    config->num_layers = json_object_whole(object, "num_layers", JSON_REQUIRED, 1, MOST_LAYERS);
    config->num_heads = json_object_whole(object, "num_heads", JSON_REQUIRED, 1, MOST_HEADS);
    config->num_kv_heads =
        json_object_whole(object, "num_kv_heads", config->num_heads, 1, MOST_HEADS);
    config->norm =
        (NormPlacement)json_object_choice(object, "norm", NORM_PRE, norm_names, COUNT(norm_names));
    config->norm_eps = json_object_real(object, "norm_eps", 1e-5, "[1e-30, 1]");
    config->ffn =
        (FfnType)json_object_choice(object, "ffn", FFN_SWIGLU, ffn_names, COUNT(ffn_names));
    config->d_ff = json_object_whole(object, "d_ff", ffn_default_size(config->ffn, config->d_model),
                                     1, 4 * (int64_t)MOST_WIDTH);
    config->tie_embeddings = json_object_bool(object, "tie_embeddings", false);
    config->document_mask = json_object_bool(object, "document_mask", false);
    read_position(object, config->context_length, &config->position);
}

/* ---- conditions between keys ---- */

/* What the arithmetic of the rotation cannot take. */
static bool check_rope(const ModelConfig *config, JsonReader *reader) {
    int64_t d_head = config->d_model / config->num_heads;
    Error reason;
    if (position_rope_check(&config->position, d_head, &reason)) return true;
    int64_t rotated = position_rope_rotated(&config->position, d_head);
    if (config->position.fraction == 1 && rotated % 2 != 0)
        return json_reader_error(reader, "model.num_heads",
                                 "model.d_model is %" PRId64 " and model.num_heads %" PRId64
                                 ", which makes heads of %" PRId64
                                 " elements; rope turns them in pairs and needs an even number",
                                 config->d_model, config->num_heads, d_head);
    return json_reader_error(reader, "model.position", "%s", reason.message);
}

static bool check_position(const ModelConfig *config, JsonReader *reader) {
    const PositionConfig *position = &config->position;
    if (position->type == POSITION_ROPE) return check_rope(config, reader);
    if (position->type == POSITION_T5 && position->max_distance <= position->buckets / 2)
        return json_reader_error(reader, "model.position.max_distance",
                                 "model.position.max_distance is %" PRId64
                                 "; it must be above buckets / 2 (%" PRId64 ")",
                                 position->max_distance, position->buckets / 2);
    if (position->type == POSITION_WINDOW && position->max_distance < config->context_length)
        return json_reader_error(reader, "model.position.max_distance",
                                 "model.position.max_distance is %" PRId64
                                 "; it must be at least model.context_length (%" PRId64
                                 "), since the table has no longer distances",
                                 position->max_distance, config->context_length);
    return true;
}

bool model_config_check(const ModelConfig *config, JsonReader *reader) {
    if (reader->failed) return false;
    if (config->d_model % config->num_heads != 0)
        return json_reader_error(reader, "model.num_heads",
                                 "model.num_heads is %" PRId64
                                 "; it must divide model.d_model (%" PRId64 ") without a rest",
                                 config->num_heads, config->d_model);
    if (config->num_heads % config->num_kv_heads != 0)
        return json_reader_error(reader, "model.num_kv_heads",
                                 "model.num_kv_heads is %" PRId64
                                 "; it must divide model.num_heads (%" PRId64 ") without a rest",
                                 config->num_kv_heads, config->num_heads);
    return check_position(config, reader);
}

/* ---- writing ---- */

static void write_scaling(const RopeScaling *scaling, JsonWriter *writer) {
    json_key(writer, "scaling");
    json_begin_object(writer, JSON_ON_ONE_LINE);
    json_member_string(writer, "type", scaling_names[scaling->type]);
    if (scaling->type != ROPE_SCALING_NONE) {
        json_member_real(writer, "factor", scaling->factor);
        json_member_whole(writer, "original_context", scaling->original_context);
    }
    if (scaling->type == ROPE_SCALING_YARN) {
        json_member_real(writer, "beta_fast", scaling->beta_fast);
        json_member_real(writer, "beta_slow", scaling->beta_slow);
        if (scaling->attention_factor > 0)
            json_member_real(writer, "attention_factor", scaling->attention_factor);
    } else if (scaling->type == ROPE_SCALING_LLAMA3) {
        json_member_real(writer, "low_freq_factor", scaling->low_freq_factor);
        json_member_real(writer, "high_freq_factor", scaling->high_freq_factor);
    }
    json_end(writer);
}

static void write_position(const PositionConfig *position, JsonWriter *writer) {
    PositionType type = position->type;
    json_key(writer, "position");
    json_begin_object(writer, JSON_ON_LINES);
    json_member_string(writer, "type", position_names[type]);
    if (type == POSITION_ROPE)
        json_member_real(writer, "theta", position->base);
    else if (type == POSITION_SINUSOIDAL || type == POSITION_SINUSOIDAL_LEARNED)
        json_member_real(writer, "base", position->base);
    if (type == POSITION_ROPE || type == POSITION_SINUSOIDAL)
        json_member_string(writer, "layout", position_layout_name(type, position->layout));
    if (type == POSITION_ROPE) {
        json_member_real(writer, "fraction", position->fraction);
        json_member_bool(writer, "rotate_values", position->rotate_values);
        write_scaling(&position->scaling, writer);
    }
    if (type == POSITION_LEARNED) json_member_whole(writer, "stretch", position->stretch);
    if (type == POSITION_T5) json_member_whole(writer, "buckets", position->buckets);
    if (type == POSITION_T5 || type == POSITION_WINDOW || type == POSITION_SHAW)
        json_member_whole(writer, "max_distance", position->max_distance);
    if (type == POSITION_SHAW) json_member_bool(writer, "values", position->values);
    if (position_is_absolute(type))
        json_member_string(writer, "inject", inject_names[position->inject]);
    json_end(writer);
}

void model_config_write(const ModelConfig *config, JsonWriter *writer) {
    json_begin_object(writer, JSON_ON_LINES);
    if (config->vocab_size) json_member_whole(writer, "vocab_size", config->vocab_size);
    json_member_whole(writer, "context_length", config->context_length);
    json_member_whole(writer, "d_model", config->d_model);
    json_member_whole(writer, "num_layers", config->num_layers);
    json_member_whole(writer, "num_heads", config->num_heads);
    json_member_whole(writer, "num_kv_heads", config->num_kv_heads);
    json_member_whole(writer, "d_ff", config->d_ff);
    json_member_string(writer, "norm", norm_names[config->norm]);
    json_member_real(writer, "norm_eps", config->norm_eps);
    json_member_string(writer, "ffn", ffn_names[config->ffn]);
    json_member_bool(writer, "tie_embeddings", config->tie_embeddings);
    json_member_bool(writer, "document_mask", config->document_mask);
    write_position(&config->position, writer);
    json_end(writer);
}
