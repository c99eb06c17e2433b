/* Evaluation against the definition: every target once, whatever the window, and the same sums for
 * any number of threads. */
#include "generation_helpers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "training/evaluation.h"

enum { COUNT = 1000, T = 16 };
static uint32_t ids[COUNT];
static const NpyArray array = {.data = ids, .type = NPY_UINT32, .count = COUNT};

static int draw_ids(void **state) {
    (void)state;
    for (int64_t i = 0; i < COUNT; i++)
        ids[i] = (uint32_t)random_below(3, RANDOM_TEST, (uint64_t)i, 40);
    return 0;
}

/* −ln p(ids[start + at + 1]) for a window that begins at `start`, with the logits of the whole
 * window and sums in double. */
static double expected_loss(const Model *model, Tape *tape, int64_t start, int64_t at) {
    int32_t window[64];
    for (int64_t i = 0; i <= at; i++) window[i] = (int32_t)ids[start + i];
    ModelInput input = {.B = 1, .T = at + 1, .ids = window};
    int64_t V = model->config.vocab_size;
    const real *logits =
        model_logits(model, tape, model_hidden(model, tape, &input))->data + at * V;
    double sum = 0;
    for (int64_t v = 0; v < V; v++) sum += exp((double)logits[v]);
    double loss = log(sum) - (double)logits[ids[start + at + 1]];
    tape_reset(tape);
    return loss;
}

static Evaluation run(const Model *model, const EvaluationWindows *windows,
                      const EvaluationOptions *options) {
    Evaluator *evaluator = evaluator_new(model, parallel_threads(), NULL);
    EvaluationSource source = evaluation_source(windows);
    Evaluation result, again;
    Error error;
    if (!evaluate(evaluator, &source, options, &result, &error)) fail_msg("%s", error.message);
    assert_true(evaluate(evaluator, &source, options, &again, &error));
    assert_memory_equal(&result, &again, sizeof result);
    evaluator_free(evaluator);
    return result;
}

static void every_target_counts_once(void **state) {
    (void)state;
    ModelConfig config = tiny_config();
    Model *model = tiny_model(&config);
    Error error;
    assert_true(position_prepare(model->position, 64, &error));
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    uint32_t token_bytes[40];
    for (uint32_t i = 0; i < 40; i++) token_bytes[i] = i + 1;
    const int64_t lengths[] = {1, 7, 16, 37, 64};
    for (int k = 0; k < 5; k++) {
        int64_t length = lengths[k];
        double loss = 0, bytes = 0, position_losses[64], position_tokens[64], sum = 0, counted = 0;
        for (int64_t i = 1; i < COUNT; i++) {
            int64_t start = (i - 1) / length * length;
            loss += expected_loss(model, &tape, start, i - 1 - start);
            bytes += ids[i] + 1;
        }
        EvaluationWindows windows = evaluation_windows_all(&array, length, -1);
        EvaluationOptions options = {.token_bytes = token_bytes,
                                     .position_losses = position_losses,
                                     .position_tokens = position_tokens};
        Evaluation result = run(model, &windows, &options);
        assert_true(result.tokens == COUNT - 1);
        assert_true(fabs(result.loss_sum - loss) < 1e-5 * loss);
        assert_true(result.bytes == bytes);
        assert_true(fabs(evaluation_bits_per_byte(&result) - loss / log(2) / bytes) < 1e-5);
        assert_true(fabs(evaluation_perplexity(&result) - exp(loss / (COUNT - 1))) < 1e-2);
        for (int64_t t = 0; t < length; t++) {
            sum += position_losses[t];
            counted += position_tokens[t];
            assert_true(position_tokens[t] == (double)((COUNT - 2 - t) / length + 1));
        }
        assert_true(counted == COUNT - 1);
        assert_true(fabs(sum - result.loss_sum) < 1e-9 * sum);
    }
    tape_free(&tape);
    model_free(model);
}

static void spread_windows_stay_inside_and_are_fixed(void **state) {
    (void)state;
    ModelConfig config = tiny_config();
    Model *model = tiny_model(&config);
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    EvaluationWindows windows = evaluation_windows_spread(&array, T, 5, -1);
    EvaluationSource source = evaluation_source(&windows);
    const int64_t starts[5] = {0, 245, 491, 737, 983}; /* ⌊i · 983 / 4⌋; 983 + 16 is the last id */
    for (int64_t i = 0; i < 5; i++) {
        int32_t x[T], y[T], document[T];
        real weights[T];
        EvaluationRow row = {x, y, weights, document, T};
        source.fill(source.context, i, &row);
        assert_int_equal(row.length, T);
        for (int64_t t = 0; t < T; t++) {
            assert_int_equal(x[t], ids[starts[i] + t]);
            assert_int_equal(y[t], ids[starts[i] + t + 1]);
        }
    }
    assert_true(run(model, &windows, NULL).tokens == 5 * T);
    windows = evaluation_windows_spread(&array, T, 1, -1);
    assert_true(run(model, &windows, NULL).tokens == T);
    windows = evaluation_windows_spread(&array, T, 63, -1);
    assert_true(run(model, &windows, NULL).tokens == COUNT - 1);
    tape_free(&tape);
    model_free(model);
}

static void any_number_of_threads_gives_the_same_sums(void **state) {
    (void)state;
    ModelConfig config = tiny_config();
    Model *model = tiny_model(&config);
    EvaluationWindows windows = evaluation_windows_all(&array, T, -1);
    parallel_start(1);
    Evaluation one = run(model, &windows, NULL);
    parallel_start(3);
    Evaluation three = run(model, &windows, NULL);
    parallel_start(2);
    assert_memory_equal(&one, &three, sizeof one);
    model_free(model);
}

static void documents_do_not_see_each_other(void **state) {
    (void)state;
    ModelConfig config = tiny_config();
    config.document_mask = true;
    Model *model = tiny_model(&config);
    Error error;
    assert_true(position_prepare(model->position, T, &error));
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    double expected = 0;
    int64_t separator = 5, document = 0;
    for (int64_t i = 1; i < COUNT; i++) {
        int64_t start = (i - 1) / T * T;
        if (document < start) document = start;
        /* RoPE knows distances only: the rest of the window may as well begin at the document. */
        expected += expected_loss(model, &tape, document, i - 1 - document);
        if (ids[i - 1] == separator) document = i;
    }
    EvaluationWindows windows = evaluation_windows_all(&array, T, separator);
    Evaluation result = run(model, &windows, NULL);
    assert_true(fabs(result.loss_sum - expected) < 1e-5 * expected);
    tape_free(&tape);
    model_free(model);
}

/* A task: the answer to x is x itself where x is even, and nothing where it is odd. */
static void fill_even(const void *context, int64_t index, EvaluationRow *row) {
    (void)context;
    for (int64_t t = 0; t < row->length; t++) {
        row->ids[t] = row->targets[t] = (int32_t)((index + t) % 40);
        row->weights[t] = (index + t) % 2 == 0;
    }
}

static void weights_and_accuracy_are_counted(void **state) {
    (void)state;
    ModelConfig config = tiny_config();
    config.tie_embeddings = true; /* without layers' help the likeliest id is the input itself */
    Model *model = tiny_model(&config);
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        if (strncmp(part->name, "layers.", 7) == 0)
            memset(model->parameters.values + part->offset, 0,
                   (size_t)parameter_size(part) * sizeof(real));
    }
    Evaluator *evaluator = evaluator_new(model, parallel_threads(), NULL);
    Evaluation result;
    Error error;
    EvaluationSource source = {.count = 21, .T = 10, .fill = fill_even};
    assert_true(evaluate(evaluator, &source, NULL, &result, &error));
    assert_true(result.tokens == 21 * 5);
    assert_true(result.correct == 21 * 5);
    assert_true(result.whole == 21 && result.sequences == 21);
    real *embedding = model->token_embeddings->data + 4 * config.d_model;
    for (int64_t c = 0; c < config.d_model; c++) embedding[c] = 0; /* 4 is now never likeliest */
    assert_true(evaluate(evaluator, &source, NULL, &result, &error));
    double fours = 0, without = 0;
    for (int64_t i = 0; i < 21; i++) {
        bool has = false;
        for (int64_t t = 0; t < 10; t++) has |= (i + t) % 40 == 4;
        fours += has;
        without += !has;
    }
    assert_true(result.correct == 21 * 5 - fours);
    assert_true(result.whole == without);
    evaluator_free(evaluator);
    model_free(model);
}

static void what_cannot_be_evaluated_is_refused(void **state) {
    (void)state;
    ModelConfig config = tiny_config();
    Model *model = tiny_model(&config);
    Evaluator *evaluator = evaluator_new(model, parallel_threads(), NULL);
    Evaluation result;
    Error error;
    const uint32_t strange[3] = {1, 40, 2};
    NpyArray few = {.data = strange, .type = NPY_UINT32, .count = 1};
    EvaluationWindows windows = evaluation_windows_all(&few, T, -1);
    EvaluationSource source = evaluation_source(&windows);
    assert_false(evaluate(evaluator, &source, NULL, &result, &error));
    assert_non_null(strstr(error.message, "two tokens"));
    few.count = 3;
    windows = evaluation_windows_all(&few, T, -1);
    source = evaluation_source(&windows);
    assert_false(evaluate(evaluator, &source, NULL, &result, &error));
    assert_non_null(strstr(error.message, "vocabulary of 40"));
    model->lm_head->data[0] = NAN;
    few.data = ids;
    assert_false(evaluate(evaluator, &source, NULL, &result, &error));
    assert_non_null(strstr(error.message, "not a finite number"));
    evaluator_free(evaluator);
    model_free(model);
}

int main(void) {
    parallel_start(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_target_counts_once),
        cmocka_unit_test(spread_windows_stay_inside_and_are_fixed),
        cmocka_unit_test(any_number_of_threads_gives_the_same_sums),
        cmocka_unit_test(documents_do_not_see_each_other),
        cmocka_unit_test(weights_and_accuracy_are_counted),
        cmocka_unit_test(what_cannot_be_evaluated_is_refused),
    };
    return cmocka_run_group_tests(tests, draw_ids, NULL);
}
