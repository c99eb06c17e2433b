/* Shared by the tests of position schemes: one layer's attention with a scheme, forward and backward. */
#ifndef TINYLM_TESTS_POSITION_HELPERS_H
#define TINYLM_TESTS_POSITION_HELPERS_H

#include "helpers.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "model/position_tables.h"
#include "model/transformer.h"

/* One attention layer: qkv (1, T, 3·H·D) is declared as a parameter, so that it has a gradient. */
typedef struct Layer1 {
    ModelConfig config;
    Parameters parameters;
    Position *position;
    Tensor *qkv;
    Tape tape;
} Layer1;

static inline ModelConfig config_with(PositionConfig position, int64_t context, int64_t H,
                                      int64_t D) {
    if (position.base == 0) position.base = 10000;
    if (position.fraction == 0) position.fraction = 1;
    if (position.scaling.factor == 0) position.scaling.factor = 1;
    return (ModelConfig){.vocab_size = 11,
                         .context_length = context,
                         .d_model = H * D,
                         .num_layers = 1,
                         .num_heads = H,
                         .num_kv_heads = H,
                         .d_ff = 12,
                         .norm_eps = 1e-5,
                         .position = position};
}

static inline void layer1_open(Layer1 *layer, PositionConfig position, int64_t T, int64_t H,
                               int64_t D) {
    Error error;
    *layer = (Layer1){.config = config_with(position, T, H, D)};
    layer->position = position_create(&layer->config, &layer->parameters, &error);
    if (!layer->position) fail_msg("%s", error.message);
    position_declare_layer(layer->position, &layer->parameters, 0);
    layer->qkv = parameters_declare_one(&layer->parameters, "qkv", T, 3 * H * D, INIT_ONES);
    layer->qkv->rank = 3;
    layer->qkv->shape[0] = 1;
    layer->qkv->shape[1] = T;
    layer->qkv->shape[2] = 3 * H * D;
    if (!parameters_allocate(&layer->parameters, &error)) fail_msg("%s", error.message);
    parameters_initialize(&layer->parameters, 3);
    position_initialize(layer->position);
    if (!position_prepare(layer->position, T, &error)) fail_msg("%s", error.message);
    tape_init(&layer->tape, layer->parameters.count, TAPE_RECORD);
    layer->tape.gradients = allocate_zeroed((size_t)layer->parameters.size, sizeof(real));
}

static inline void layer1_close(Layer1 *layer) {
    free(layer->tape.gradients);
    tape_free(&layer->tape);
    position_free(layer->position);
    parameters_free(&layer->parameters);
}

/* weights (H, T, T) or NULL. The output lives until the next call. */
static inline Tensor *layer1_attention(Layer1 *layer, bool causal, real *weights) {
    int64_t H = layer->config.num_heads;
    AttentionOptions options = {.num_heads = H,
                                .num_kv_heads = H,
                                .causal = causal,
                                .hooks = position_hooks(layer->position, 0),
                                .weights = weights};
    tape_reset(&layer->tape);
    tape_begin_gradients(&layer->tape);
    position_layer_tables(layer->position, &layer->tape, 0, layer->qkv->shape[1], !causal,
                          options.tables);
    return attention(&layer->tape, layer->qkv, &options);
}

static inline real *values_of(Parameters *parameters, const char *name) {
    const Parameter *part = parameters_find(parameters, name);
    if (!part) fail_msg("there is no parameter %s", name);
    return parameters->values + part->offset;
}

#endif
