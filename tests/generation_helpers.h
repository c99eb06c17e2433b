/* Shared by the tests of generation, evaluation and weights: a model so small that everything about
 * it can be tried. */
#ifndef TINYLM_TESTS_GENERATION_HELPERS_H
#define TINYLM_TESTS_GENERATION_HELPERS_H

#include "helpers.h"

#include "model/transformer.h"

static inline ModelConfig tiny_config(void) {
    return (ModelConfig){.vocab_size = 40,
                         .context_length = 32,
                         .d_model = 16,
                         .num_layers = 2,
                         .num_heads = 2,
                         .num_kv_heads = 2,
                         .d_ff = 24,
                         .norm = NORM_PRE,
                         .norm_eps = 1e-5,
                         .ffn = FFN_SWIGLU,
                         .position = {.type = POSITION_ROPE, .base = 10000, .fraction = 1}};
}

/* Free with model_free. */
static inline Model *tiny_model(const ModelConfig *config) {
    Error error;
    Model *model = model_create(config, false, &error);
    if (!model) fail_msg("%s", error.message);
    model_initialize(model, 7);
    return model;
}

#endif
