/* The options of the position schemes: which keys "model.position" has besides "type". */
#include "model/model_config.h"

#include "base/key_rows.h"

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

#define KEYS_OF ModelConfig

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
    WHOLE("original_context", position.scaling.original_context, "context_length",                 \
          "[1, 1073741824]", "the length the frequencies were trained for",                        \
          .derive = derive_original_context),                                                      \
        REAL("factor", position.scaling.factor, "context_length / original_context", "(0, 1e6]",   \
             "how many times longer", .derive = derive_factor)

static const Key scaling_keys[] = {SCALING_KEYS, END};
static const Key yarn_keys[] = {
    SCALING_KEYS,
    REAL("beta_fast", position.scaling.beta_fast, "32", "(0, 1e6]",
         "pairs that turn more often within original_context keep their frequency"),
    REAL("beta_slow", position.scaling.beta_slow, "1", "(0, 1e6]",
         "those that turn less often are divided by factor"),
    REAL("attention_factor", position.scaling.attention_factor, "(0.1 · ln factor + 1)", "(0, 1e6]",
         "factor on cosine and sine"),
    END,
};
static const Key llama3_keys[] = {
    SCALING_KEYS,
    REAL("low_freq_factor", position.scaling.low_freq_factor, "1", "(0, 1e6]",
         "pairs that turn less often within original_context are divided by factor"),
    REAL("high_freq_factor", position.scaling.high_freq_factor, "4", "(0, 1e6]",
         "those that turn more often keep their frequency"),
    END,
};

static const Key *const scaling_variants[] = {[ROPE_SCALING_LINEAR] = scaling_keys,
                                              [ROPE_SCALING_NTK] = scaling_keys,
                                              [ROPE_SCALING_DYNAMIC_NTK] = scaling_keys,
                                              [ROPE_SCALING_YARN] = yarn_keys,
                                              [ROPE_SCALING_LLAMA3] = llama3_keys};
static const Key scaling_object[] = {
    CHOICE("type", position.scaling.type, NULL, scaling_names,
           "how to read beyond the trained length", .variants = scaling_variants),
    END,
};

static const Key rope_keys[] = {
    REAL("theta", position.base, "10000", "(1, 1e12]", "base of the frequencies"),
    CHOICE("layout", position.layout, "interleaved", rope_layout_names,
           "which elements form a pair"),
    REAL("fraction", position.fraction, "1", "(0, 1]", "of a head's elements that are rotated"),
    FLAG("rotate_values", position.rotate_values, "false", "the classic mistake, as an ablation"),
    OBJECT("scaling", "{}", scaling_object),
    END,
};

/* ---- schemes that put the position into the embedding ---- */

#define INJECT CHOICE("inject", position.inject, "add", inject_names, "how it joins the embedding")
#define BASE   REAL("base", position.base, "10000", "(1, 1e12]", "base of the wavelengths")

static const Key sinusoidal_keys[] = {
    BASE,
    CHOICE("layout", position.layout, "interleaved", table_layout_names,
           "order of sines and cosines"),
    INJECT,
    END,
};
static const Key sinusoidal_learned_keys[] = {BASE, INJECT, END};
static const Key learned_keys[] = {
    WHOLE("stretch", position.stretch, "0", "[0, 1048576]",
          "rows the table is stretched to by interpolation; 0: off"),
    INJECT,
    END,
};
static const Key index_keys[] = {INJECT, END};

/* ---- relative ones ---- */

static bool derive_window(void *config) {
    ModelConfig *c = config;
    c->position.max_distance = c->context_length;
    return true;
}

#define DISTANCE(fallback, ...)                                                                    \
    WHOLE("max_distance", position.max_distance, fallback, "[1, 1048576]",                         \
          "most distance told apart", ##__VA_ARGS__)

static const Key t5_keys[] = {
    WHOLE("buckets", position.buckets, "32", "[2, 1048576]", "rows of the table of biases"),
    DISTANCE("128"),
    END,
};
static const Key window_keys[] = {DISTANCE("context_length", .derive = derive_window), END};
static const Key shaw_keys[] = {
    DISTANCE("16"),
    FLAG("values", position.values, "true", "relative vectors for values too"),
    END,
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
