/* The hyperparameters of a model: what the "model" object of a config says. Plain data; parsed and
 * written by model_config.c, read by everything else. Names are the handout's. */
#ifndef TINYLM_MODEL_MODEL_CONFIG_H
#define TINYLM_MODEL_MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

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

typedef struct RopeScaling {
    RopeScalingType type;
    double factor;            /* how many times longer than original_context; > 0 */
    int64_t original_context; /* default: the context length */
    double beta_fast, beta_slow;             /* yarn: 32, 1 */
    double low_freq_factor, high_freq_factor; /* llama3: 1, 4 */
} RopeScaling;

typedef struct PositionConfig {
    PositionType type;      /* "rope" */
    double base;            /* rope "theta", sinusoidal "base": 10000 */
    PositionLayout layout;  /* rope: interleaved|half; sinusoidal: interleaved|concat */
    double fraction;        /* rope: rotate the first int(d_head · fraction) elements; 1 */
    bool rotate_values;     /* rope: the classic mistake, as an ablation; false */
    RopeScaling scaling;    /* rope */
    PositionInject inject;  /* absolute schemes: add */
    int64_t stretch;        /* learned: rows the table is stretched to by interpolation; 0: off */
    int64_t buckets;        /* t5: 32 */
    int64_t max_distance;   /* t5: 128; window, shaw: context length, 16 */
    bool values;            /* shaw: relative value vectors too; true */
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

#endif
