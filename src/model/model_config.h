/* The hyperparameters of a model: what the "model" object of a config says. Plain data, described by the
 * table of keys in model_config.c. Names are the handout's. */
#ifndef TINYLM_MODEL_MODEL_CONFIG_H
#define TINYLM_MODEL_MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keys.h"

typedef enum NormPlacement { NORM_PRE, NORM_POST, NORM_NONE } NormPlacement;
typedef enum FfnType { FFN_SWIGLU, FFN_SILU, FFN_RELU, FFN_GELU } FfnType;

/* Schemes of src/model/POSITIONS.md, in its order. */
typedef enum PositionType {
    POSITION_NONE,
    POSITION_SINUSOIDAL,
    POSITION_SINUSOIDAL_LEARNED,
    POSITION_LEARNED,
    POSITION_ROPE,
    POSITION_T5,
    POSITION_WINDOW,
    POSITION_SHAW,
    POSITION_TRANSFORMER_XL,
    POSITION_ALIBI,
    POSITION_INDEX,
    POSITION_TYPE_COUNT
} PositionType;
/* Which elements of a head (rope) or of the table (sinusoidal) form a pair. */
typedef enum PositionLayout { LAYOUT_INTERLEAVED, LAYOUT_HALF } PositionLayout; /* half = concat */
typedef enum PositionInject { INJECT_ADD, INJECT_CONCAT, INJECT_GATE } PositionInject;
typedef enum RopeScalingType {
    ROPE_SCALING_NONE,
    ROPE_SCALING_LINEAR,
    ROPE_SCALING_NTK,
    ROPE_SCALING_DYNAMIC_NTK,
    ROPE_SCALING_YARN,
    ROPE_SCALING_LLAMA3
} RopeScalingType;

/* original_context may be that of a longer model; nothing is allocated for it. */
enum { MODEL_MOST_ORIGINAL_CONTEXT = 1 << 30 };

typedef struct RopeScaling {
    RopeScalingType type;
    double factor;               /* how many times longer than original_context; > 0. Left out:
                                 context_length / original_context, when that is above 1 */
    int64_t original_context;    /* default: the context length */
    double beta_fast, beta_slow; /* yarn: 32, 1 */
    double low_freq_factor, high_freq_factor; /* llama3: 1, 4 */
    double attention_factor; /* yarn: on cosine and sine; 0: the usual one, 0.1·ln factor + 1 */
} RopeScaling;

typedef struct PositionConfig {
    PositionType type;     /* "rope" */
    double base;           /* rope "theta", sinusoidal "base": 10000 */
    PositionLayout layout; /* rope: interleaved|half; sinusoidal: interleaved|concat */
    double fraction;       /* rope: rotate the first int(d_head · fraction) elements; 1 */
    bool rotate_values;    /* rope: the classic mistake, as an ablation; false */
    RopeScaling scaling;   /* rope */
    PositionInject inject; /* schemes that position_is_absolute: add */
    int64_t stretch;       /* learned: rows the table is stretched to by interpolation; 0: off */
    int64_t buckets;       /* t5: 32 */
    int64_t max_distance;  /* t5: 128; window, shaw: context length, 16 */
    bool values;           /* shaw: relative value vectors too; true */
} PositionConfig;

typedef struct ModelConfig {
    int64_t vocab_size;     /* rows of the embedding and of the head */
    int64_t context_length; /* most tokens attended to */
    int64_t d_model, num_layers, num_heads, num_kv_heads, d_ff;
    NormPlacement norm;
    double norm_eps;
    FfnType ffn;
    bool tie_embeddings;
    bool document_mask; /* attention stays inside a document */
    PositionConfig position;
} ModelConfig;

/* Schemes that put the position into the embedding (and so have the option `inject`). */
bool position_is_absolute(PositionType type);

/* The names in configs: "rope", "swiglu", … */
const char *position_type_name(PositionType type);
const char *position_layout_name(PositionType type, PositionLayout layout); /* half, concat */
const char *rope_scaling_name(RopeScalingType type);
const char *norm_name(NormPlacement norm);
const char *ffn_name(FfnType ffn);

/* The default inner size: 8/3·d_model for SwiGLU (three matrices then hold as many parameters as the
 * usual two at 4·d_model), else 4·d_model; rounded up to a multiple of 64. */
int64_t ffn_default_size(FfnType ffn, int64_t d_model);

/* The keys of the object "model", for keys.h; vocab_size is 0 when it is left out. */
extern const Key model_keys[];

/* The further keys of "position" by PositionType: each scheme's own (positions/position_keys.c). */
extern const Key *const position_keys[POSITION_TYPE_COUNT];

/* The conditions between keys: heads that divide d_model, an even rotated size, and so on. For
 * configs that came from elsewhere (other programs' files) as well; only `file` and `error` of such
 * a reader need be set. False when the reader has failed. */
bool model_config_check(const ModelConfig *config, KeysReader *reader);

#endif
