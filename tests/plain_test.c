/* Twenty training steps on the plain definitions and on the fast operations: the same losses and the
 * same weights, for every position scheme and every option of the model. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/parallel.h"
#include "base/random.h"
#include "training/train_step.h"

enum { T = 21, V = 23, STEPS = 20, SEPARATOR = 0 };

static void fill(const void *context, int64_t step, int64_t row, int32_t *ids, int32_t *targets,
                 real *weights) {
    (void)context;
    for (int64_t t = 0; t < T; t++) {
        uint64_t at = (uint64_t)((step * 10 + row) * (T + 1) + t);
        ids[t] = (int32_t)random_below(9, RANDOM_TEST, at, V);
        targets[t] = (int32_t)random_below(9, RANDOM_TEST, at + 1, V);
        weights[t] = t % 5 == 0 ? 0 : 1;
    }
}

/* Trains and returns the model; the caller frees it. */
static Model *train(const ModelConfig *config, bool plain, double losses[STEPS]) {
    static const OptimizerConfig sgd = {.type = OPTIMIZER_SGD, .momentum = 0.9};
    Error error;
    Model *model = model_create(config, false, &error);
    if (!model) fail_msg("%s", error.message);
    model_initialize(model, 3);
    TrainStepConfig step_config = {.optimizer = &sgd,
                                   .source = {fill, NULL},
                                   .rows = 3,
                                   .T = T,
                                   .separator = SEPARATOR,
                                   .grad_clip = 1,
                                   .plain = plain};
    TrainStep step;
    if (!train_step_create(&step, model, &step_config, &error)) fail_msg("%s", error.message);
    for (int s = 0; s < STEPS; s++) {
        StepResult result;
        if (!train_step_run(&step, s, 0.05, &result, &error)) fail_msg("%s", error.message);
        losses[s] = result.loss;
    }
    train_step_free(&step);
    return model;
}

static void assert_same_training(const char *name, const ModelConfig *config) {
    double losses[2][STEPS];
    Model *fast = train(config, false, losses[0]), *plain = train(config, true, losses[1]);
    for (int s = 0; s < STEPS; s++)
        if (!(fabs(losses[0][s] - losses[1][s]) < 2e-5))
            fail_msg("%s: step %d: loss %g, plain %g", name, s + 1, losses[0][s], losses[1][s]);
    for (int64_t i = 0; i < fast->parameters.size; i++) {
        double a = (double)fast->parameters.values[i], b = (double)plain->parameters.values[i];
        if (!(fabs(a - b) < 2e-4)) fail_msg("%s: weight %d: %g, plain %g", name, (int)i, a, b);
    }
    model_free(fast);
    model_free(plain);
}

static const ModelConfig base = {.vocab_size = V,
                                 .context_length = T,
                                 .d_model = 16,
                                 .num_layers = 2,
                                 .num_heads = 4,
                                 .num_kv_heads = 4,
                                 .d_ff = 24,
                                 .norm_eps = 1e-5,
                                 .position = {.type = POSITION_ROPE, .base = 1e4, .fraction = 1}};

static void every_position_scheme_trains_alike(void **state) {
    (void)state;
    static const PositionConfig schemes[] = {
        {.type = POSITION_NONE},
        {.type = POSITION_SINUSOIDAL},
        {.type = POSITION_SINUSOIDAL_LEARNED, .inject = INJECT_GATE},
        {.type = POSITION_LEARNED, .inject = INJECT_CONCAT},
        {.type = POSITION_ROPE},
        {.type = POSITION_ROPE, .layout = LAYOUT_HALF, .rotate_values = true},
        {.type = POSITION_ROPE,
         .scaling = {ROPE_SCALING_YARN, 8, 4, .beta_fast = 32, .beta_slow = 1}},
        {.type = POSITION_T5, .buckets = 8, .max_distance = 16},
        {.type = POSITION_WINDOW, .max_distance = T},
        {.type = POSITION_SHAW, .max_distance = 5, .values = true},
        {.type = POSITION_TRANSFORMER_XL},
        {.type = POSITION_ALIBI},
        {.type = POSITION_INDEX, .inject = INJECT_GATE},
    };
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        ModelConfig config = base;
        config.position = schemes[i];
        config.position.base = 1e4;
        config.position.fraction = 1;
        char name[32];
        snprintf(name, sizeof name, "scheme %d", (int)i);
        assert_same_training(name, &config);
    }
}

static void every_model_option_trains_alike(void **state) {
    (void)state;
    ModelConfig c;
#define VARIANT(...) c = base, __VA_ARGS__, assert_same_training(#__VA_ARGS__, &c)
    VARIANT(c.num_kv_heads = 2);
    VARIANT(c.num_kv_heads = 1);
    VARIANT(c.document_mask = true);
    VARIANT(c.tie_embeddings = true);
    VARIANT(c.norm = NORM_POST);
    VARIANT(c.norm = NORM_NONE);
    VARIANT(c.ffn = FFN_SILU);
    VARIANT(c.ffn = FFN_RELU);
    VARIANT(c.ffn = FFN_GELU);
#undef VARIANT
}

/* A table of rotations that is wrong must not go unseen: --plain rotates without it. */
static void rope_is_computed_without_its_tables(void **state) {
    (void)state;
    const int32_t ids[4] = {1, 2, 3, 4}, targets[4] = {2, 3, 4, 5};
    Error error;
    Model *model = model_create(&base, false, &error);
    model_initialize(model, 3);
    assert_true(position_prepare(model->position, T, &error));
    real losses[2][4];
    for (int plain = 0; plain < 2; plain++) {
        AttentionHooks *hooks = &model->position->layers[1].hooks;
        AttentionTransform *table = hooks->transform;
        if (plain) hooks->transform = NULL;
        Tape tape;
        tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
        tape.plain = plain;
        model_loss(model, &tape, &(ModelInput){.B = 1, .T = 4, .ids = ids},
                   &(HeadLoss){targets, NULL, 0.25, losses[plain], NULL});
        tape_free(&tape);
        hooks->transform = table;
    }
    for (int i = 0; i < 4; i++) assert_true(fabs((double)(losses[0][i] - losses[1][i])) < 1e-5);
    model_free(model);
}

int main(void) {
    parallel_start(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_position_scheme_trains_alike),
        cmocka_unit_test(every_model_option_trains_alike),
        cmocka_unit_test(rope_is_computed_without_its_tables),
    };
    return cmocka_run_group_tests_name("plain", tests, NULL, NULL);
}
