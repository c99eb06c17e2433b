/* The options of the position schemes: which keys "model.position" has besides "type". */
#include "model/model_config.h"

static const char *const inject_names[] = {"add", "concat", "gate", NULL};
static const char *const rope_layout_names[] = {"interleaved", "half", NULL};
static const char *const table_layout_names[] = {"interleaved", "concat", NULL};
static const char *const scaling_names[] = {"none", "linear", "ntk", "dynamic_ntk",
                                            "yarn", "llama3", NULL};

const char *position_layout_name(PositionType type, PositionLayout layout) {
    return type == POSITION_ROPE ? rope_layout_names[layout] : table_layout_names[layout];
}

const char *rope_scaling_name(RopeScalingType type) {
    return scaling_names[type];
}

#define AT(field) offsetof(ModelConfig, position.field)

/* ---- rope ---- */

static bool derive_original_context(void *config) {
    ModelConfig *c = config;
    c->position.scaling.original_context = c->context_length;
    return true;
}

static bool derive_factor(void *config) {
    ModelConfig *c = config;
    RopeScaling *scaling = &c->position.scaling;
    scaling->factor = (double)c->context_length / (double)scaling->original_context;
    return scaling->factor > 1;
}

#define SCALING_KEYS                                                                               \
    {"original_context",                                                                           \
     KEY_WHOLE,                                                                                    \
     AT(scaling.original_context),                                                                 \
     "context_length",                                                                             \
     "[1, 1073741824]",                                                                            \
     .meaning = "the length the frequencies were trained for",                                     \
     .derive = derive_original_context},                                                           \
    {                                                                                              \
        "factor", KEY_REAL, AT(scaling.factor), "context_length / original_context", "(0, 1e6]",   \
            .meaning = "how many times longer", .derive = derive_factor                            \
    }

static const Key scaling_keys[] = {
    SCALING_KEYS,
    {NULL},
};
static const Key yarn_keys[] = {
    SCALING_KEYS,
    {"beta_fast", KEY_REAL, AT(scaling.beta_fast), "32", "(0, 1e6]",
     .meaning = "pairs that turn more often within original_context keep their frequency"},
    {"beta_slow", KEY_REAL, AT(scaling.beta_slow), "1", "(0, 1e6]",
     .meaning = "those that turn less often are divided by factor"},
    {"attention_factor", KEY_REAL, AT(scaling.attention_factor), "(0.1 · ln factor + 1)",
     "(0, 1e6]", .meaning = "factor on cosine and sine"},
    {NULL},
};
static const Key llama3_keys[] = {
    SCALING_KEYS,
    {"low_freq_factor", KEY_REAL, AT(scaling.low_freq_factor), "1", "(0, 1e6]",
     .meaning = "pairs that turn less often within original_context are divided by factor"},
    {"high_freq_factor", KEY_REAL, AT(scaling.high_freq_factor), "4", "(0, 1e6]",
     .meaning = "those that turn more often keep their frequency"},
    {NULL},
};

static const Key *const scaling_variants[] = {[ROPE_SCALING_LINEAR] = scaling_keys,
                                              [ROPE_SCALING_NTK] = scaling_keys,
                                              [ROPE_SCALING_DYNAMIC_NTK] = scaling_keys,
                                              [ROPE_SCALING_YARN] = yarn_keys,
                                              [ROPE_SCALING_LLAMA3] = llama3_keys};
static const Key scaling_object[] = {
    {"type", KEY_CHOICE, AT(scaling.type), NULL, .meaning = "how to read beyond the trained length",
     .choices = scaling_names, .variants = scaling_variants},
    {NULL},
};

static const Key rope_keys[] = {
    {"theta", KEY_REAL, AT(base), "10000", "(1, 1e12]", .meaning = "base of the frequencies"},
    {"layout", KEY_CHOICE, AT(layout), "interleaved", .meaning = "which elements form a pair",
     .choices = rope_layout_names},
    {"fraction", KEY_REAL, AT(fraction), "1", "(0, 1]",
     .meaning = "of a head's elements that are rotated"},
    {"rotate_values", KEY_BOOL, AT(rotate_values), "false",
     .meaning = "the classic mistake, as an ablation"},
    {"scaling", KEY_OBJECT, 0, "{}", .keys = scaling_object},
    {NULL},
};

/* ---- schemes that put the position into the embedding ---- */

#define INJECT                                                                                     \
    {                                                                                              \
        "inject", KEY_CHOICE, AT(inject), "add", .meaning = "how it joins the embedding",          \
                                                 .choices = inject_names                           \
    }
#define BASE                                                                                       \
    { "base", KEY_REAL, AT(base), "10000", "(1, 1e12]", .meaning = "base of the wavelengths" }

static const Key sinusoidal_keys[] = {
    BASE,
    {"layout", KEY_CHOICE, AT(layout), "interleaved", .meaning = "order of sines and cosines",
     .choices = table_layout_names},
    INJECT,
    {NULL},
};
static const Key sinusoidal_learned_keys[] = {
    BASE,
    INJECT,
    {NULL},
};
static const Key learned_keys[] = {
    {"stretch", KEY_WHOLE, AT(stretch), "0", "[0, 1048576]",
     .meaning = "rows the table is stretched to by interpolation; 0: off"},
    INJECT,
    {NULL},
};
static const Key index_keys[] = {
    INJECT,
    {NULL},
};

/* ---- relative ones ---- */

static bool derive_window(void *config) {
    ModelConfig *c = config;
    c->position.max_distance = c->context_length;
    return true;
}

#define DISTANCE(fallback)                                                                         \
    "max_distance", KEY_WHOLE, AT(max_distance), fallback, "[1, 1048576]",                         \
        .meaning = "most distance told apart"

static const Key t5_keys[] = {
    {"buckets", KEY_WHOLE, AT(buckets), "32", "[2, 1048576]",
     .meaning = "rows of the table of biases"},
    {DISTANCE("128")},
    {NULL},
};
static const Key window_keys[] = {
    {DISTANCE("context_length"), .derive = derive_window},
    {NULL},
};
static const Key shaw_keys[] = {
    {DISTANCE("16")},
    {"values", KEY_BOOL, AT(values), "true", .meaning = "relative vectors for values too"},
    {NULL},
};

const Key *const position_keys[POSITION_TYPE_COUNT] = {
    [POSITION_SINUSOIDAL] = sinusoidal_keys,
    [POSITION_SINUSOIDAL_LEARNED] = sinusoidal_learned_keys,
    [POSITION_LEARNED] = learned_keys,
    [POSITION_ROPE] = rope_keys,
    [POSITION_T5] = t5_keys,
    [POSITION_WINDOW] = window_keys,
    [POSITION_SHAW] = shaw_keys,
    [POSITION_INDEX] = index_keys,
};
