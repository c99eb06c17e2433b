/* The configuration: defaults, every refusal with its line, overrides, and the way back to JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "training/train_config.h"

/* The smallest config with a hole for more keys of each object. */
#define DATA     "\"data\": {\"train\": \"t.txt\"}"
#define MODEL    "\"context_length\": 16, \"d_model\": 32, \"num_layers\": 2, \"num_heads\": 4"
#define TRAINING "\"batch_size\": 2, \"max_steps\": 100"
#define CONFIG(root, model, training)                                                              \
    "{" DATA root ", \"model\": {" MODEL model "}, \"training\": {" TRAINING training "}}"
#define SMALL CONFIG(", \"tokenizer\": {\"vocab_size\": 300}", "", "")

static TrainConfig *parse_set(const char *text, const char *const *sets, int count, Error *error) {
    error->message[0] = '\0';
    return train_config_parse(text, strlen(text), "x.json", sets, count, error);
}

static TrainConfig *accept_set(const char *text, const char *const *sets, int count) {
    Error error;
    TrainConfig *config = parse_set(text, sets, count, &error);
    if (!config) fail_msg("refused: %s", error.message);
    return config;
}

static TrainConfig *accept(const char *text) {
    return accept_set(text, NULL, 0);
}

/* The message without the leading "x.json". */
static void refuse_set(const char *text, const char *set, const char *message) {
    Error error;
    TrainConfig *config = parse_set(text, &set, set != NULL, &error);
    if (config) fail_msg("accepted: %s", set ? set : text);
    assert_memory_equal(error.message, "x.json", 6);
    assert_string_equal(error.message + 6, message);
}

__attribute__((unused)) static void refuse(const char *text, const char *message) {
    refuse_set(text, NULL, message);
}

/* Writing and reading again must change nothing, down to the last byte. */
static void expect_round_trip(const TrainConfig *config) {
    char *text = train_config_to_json(config);
    TrainConfig *again = accept(text);
    char *text_again = train_config_to_json(again);
    assert_string_equal(text, text_again);
    assert_memory_equal(&config->model, &again->model, sizeof config->model);
    free(text);
    free(text_again);
    train_config_free(again);
}

static void test_defaults(void **state) {
    (void)state;
    TrainConfig *c = accept(SMALL);
    assert_string_equal(c->name, "x");
    assert_int_equal(c->seed, 1337);
    assert_int_equal(c->data.train_count, 1);
    assert_int_equal(c->data.valid_count, 0);
    assert_int_equal(c->data.task, TASK_NONE);
    assert_true(c->tokenizer.present);
    assert_int_equal(c->tokenizer.special_token_count, 0);
    assert_int_equal(c->model.vocab_size, 0);
    assert_int_equal(c->model.num_kv_heads, 4);
    assert_int_equal(c->model.d_ff, 128); /* 8/3 · 32 = 85.3 */
    assert_int_equal(c->model.norm, NORM_PRE);
    assert_true(c->model.norm_eps == 1e-5);
    assert_int_equal(c->model.ffn, FFN_SWIGLU);
    assert_false(c->model.tie_embeddings);
    assert_false(c->model.document_mask);
    assert_int_equal(c->model.position.type, POSITION_ROPE);
    assert_true(c->model.position.base == 10000 && c->model.position.fraction == 1);
    assert_int_equal(c->model.position.layout, LAYOUT_INTERLEAVED);
    assert_int_equal(c->model.position.scaling.type, ROPE_SCALING_NONE);
    assert_int_equal(c->gradient_accumulation, 1);
    assert_true(c->grad_clip == 1);
    assert_int_equal(c->optimizer.type, OPTIMIZER_ADAMW);
    assert_true(c->optimizer.beta1 == 0.9 && c->optimizer.beta2 == 0.95);
    assert_true(c->optimizer.eps == 1e-8 && c->optimizer.weight_decay == 0.1);
    assert_int_equal(c->learning_rate.type, SCHEDULE_COSINE);
    assert_true(c->learning_rate.max == 1e-3 && c->learning_rate.min == 1e-4);
    assert_int_equal(c->learning_rate.warmup_steps, 0);
    assert_int_equal(c->learning_rate.cosine_steps, 100);
    assert_int_equal(c->log_every, 10);
    assert_int_equal(c->eval_every, 100);
    assert_int_equal(c->eval_batches, 20);
    assert_int_equal(c->checkpoint_every, 200);
    assert_int_equal(c->sample_every, 500);
    assert_int_equal(c->keep_every, 0);
    assert_false(c->recompute);
    expect_round_trip(c);
    train_config_free(c);
}

static void test_inner_size(void **state) {
    (void)state;
    assert_int_equal(ffn_default_size(FFN_SWIGLU, 24), 64);
    assert_int_equal(ffn_default_size(FFN_SWIGLU, 25), 128);
    assert_int_equal(ffn_default_size(FFN_SWIGLU, 512), 1408);
    assert_int_equal(ffn_default_size(FFN_SWIGLU, 768), 2048);
    assert_int_equal(ffn_default_size(FFN_GELU, 512), 2048);
    assert_int_equal(ffn_default_size(FFN_RELU, 17), 128);
    assert_int_equal(ffn_default_size(FFN_SILU, 16), 64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_inner_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
