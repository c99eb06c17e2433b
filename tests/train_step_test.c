/* A training step: no memory and no threads after the first, the same bits every time, and the same
 * numbers however the rows are shared out. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>

#include "helpers.h"

#include "base/parallel.h"
#include "base/random.h"
#include "training/train_step.h"

/* Every allocation of the process, libraries included, comes through here. */
static volatile long allocations = 0;
static volatile bool counting = false;
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define CAN_COUNT 1
static void note(void) {
    if (counting) __sync_fetch_and_add(&allocations, 1);
}
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
void *malloc(size_t size) {
    return note(), __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
    return note(), __libc_calloc(n, size);
}
void *realloc(void *old, size_t size) {
    return note(), __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return note(), __libc_memalign(alignment, size);
}
#else
#define CAN_COUNT 0
#endif

static int thread_count(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));) count += e->d_name[0] != '.';
    if (tasks) closedir(tasks);
    return count;
}

enum { T = 24, V = 61 };

/* The context is the length of a sequence; NULL: T. */
static void fill(const void *context, int64_t step, int64_t row, int32_t *ids, int32_t *targets,
                 real *weights) {
    int64_t length = context ? *(const int64_t *)context : T;
    for (int64_t t = 0; t < length; t++) {
        uint64_t at = (uint64_t)((step * 100 + row) * (length + 1) + t);
        ids[t] = (int32_t)random_below(9, RANDOM_TEST, at, V);
        targets[t] = (int32_t)random_below(9, RANDOM_TEST, at + 1, V);
        weights[t] = t % 5 == 0 ? 0 : 1;
    }
}

static Model *new_model_with(RopeScaling scaling) {
    ModelConfig config = {
        .vocab_size = V,
        .context_length = T,
        .d_model = 32,
        .num_layers = 2,
        .num_heads = 4,
        .num_kv_heads = 2,
        .d_ff = 48,
        .norm_eps = 1e-5,
        .position = {.type = POSITION_ROPE, .base = 10000, .fraction = 1, .scaling = scaling}};
    Error error;
    Model *model = model_create(&config, false, &error);
    assert_non_null(model);
    model_initialize(model, 3);
    return model;
}

static Model *new_model(void) {
    return new_model_with((RopeScaling){0});
}

static const OptimizerConfig adamw = {OPTIMIZER_ADAMW, 0.9, 0.95, 1e-8, 0.1, 0};

static TrainStepConfig step_config(int64_t rows) {
    return (TrainStepConfig){.optimizer = &adamw,
                             .processors = 8,
                             .source = {fill, NULL},
                             .rows = rows,
                             .T = T,
                             .separator = -1,
                             .grad_clip = 1};
}

/* Weights after `steps` steps; the losses go to `losses`. The caller frees the model. */
static Model *train(int threads, int64_t rows, int steps, bool recompute, double *losses) {
    parallel_start(threads);
    Model *model = new_model();
    TrainStep step;
    Error error;
    TrainStepConfig config = step_config(rows);
    config.recompute = recompute;
    assert_true(train_step_create(&step, model, &config, &error));
    for (int s = 0; s < steps; s++) {
        StepResult result;
        if (!train_step_run(&step, s, 1e-2, &result, &error)) fail_msg("%s", error.message);
        losses[s] = result.loss;
    }
    train_step_free(&step);
    return model;
}

static void test_nothing_new_after_the_first_step(void **state) {
    (void)state;
    if (!CAN_COUNT) skip_because("allocations cannot be counted under a sanitizer");
    for (int threads = 1; threads <= 3; threads++)
        for (int64_t rows = 1; rows <= 70;
             rows += 23) { /* fewer rows than threads, uneven micro-batches */
            parallel_start(threads);
            Model *model = new_model();
            TrainStep step;
            Error error;
            StepResult result;
            TrainStepConfig config = step_config(rows);
            assert_true(train_step_create(&step, model, &config, &error));
            assert_true(train_step_run(&step, 0, 1e-3, &result, &error));
            int before = thread_count();
            allocations = 0;
            counting = true;
            for (int s = 1; s < 4; s++)
                assert_true(train_step_run(&step, s, 1e-3, &result, &error));
            counting = false;
            assert_int_equal(allocations, 0);
            assert_int_equal(thread_count(), before);
            train_step_free(&step);
            model_free(model);
        }
}

static void assert_same(const Model *a, const Model *b, double tolerance) {
    for (int64_t i = 0; i < a->parameters.size; i++) {
        double difference = fabs((double)a->parameters.values[i] - (double)b->parameters.values[i]);
        if (!(difference <= tolerance))
            fail_msg("weight %lld differs by %g", (long long)i, difference);
    }
}

static void test_the_same_bits_every_time(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        double losses[2][6];
        Model *first = train(threads, 9, 6, false, losses[0]);
        Model *second = train(threads, 9, 6, threads % 2, losses[1]); /* also when recomputing */
        assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
        assert_same(first, second, 0);
        model_free(first);
        model_free(second);
    }
}

/* Threads share the rows out differently, and with fewer rows than threads work inside operations. */
static void test_any_number_of_threads(void **state) {
    (void)state;
    for (int64_t rows = 1; rows <= 9; rows += 4) {
        double expected[6], losses[6];
        Model *one = train(1, rows, 6, false, expected);
        for (int threads = 2; threads <= 7; threads++) {
            Model *many = train(threads, rows, 6, false, losses);
            for (int s = 0; s < 6; s++) assert_true(fabs(losses[s] - expected[s]) < 1e-5);
            assert_same(one, many, 1e-4);
            model_free(many);
        }
        model_free(one);
    }
}

/* Gradients of one sequence that is long enough for the operations themselves to use the team. The caller
 * frees them. */
enum { LONG = 100 };
static real *gradients_of(const ModelConfig *config, int threads, bool recompute, int64_t *size) {
    parallel_start(threads);
    Error error;
    Model *model = model_create(config, false, &error);
    if (!model || !position_prepare(model->position, LONG, &error)) fail_msg("%s", error.message);
    model_initialize(model, 3);
    *size = model->parameters.size;
    for (int64_t i = 0; i < *size; i++) /* biases that start at 0 would hide much */
        model->parameters.values[i] += (real)(0.1 * random_uniform(4, RANDOM_TEST, (uint64_t)i));
    int32_t ids[LONG], targets[LONG], starts[LONG];
    real losses[LONG];
    for (int i = 0; i < LONG; i++) {
        ids[i] = i * 7 % V, targets[i] = i * 5 % V;
        starts[i] = i / 40 * 40;
    }
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_RECORD);
    tape.recompute = recompute;
    tape.gradients = allocate_zeroed((size_t)*size, sizeof(real));
    tape_begin_gradients(&tape);
    ModelInput input = {.B = 1, .T = LONG, .ids = ids};
    if (config->document_mask) input.document_start = starts;
    model_loss(model, &tape, &input, &(HeadLoss){targets, NULL, 1.0 / LONG, losses, NULL});
    tape_backward(&tape);
    tape_end_gradients(&tape, model->parameters.tensors, model->parameters.count);
    real *gradients = tape.gradients;
    tape_free(&tape);
    model_free(model);
    return gradients;
}

static void test_a_team_inside_of_operations(void **state) {
    (void)state;
    const PositionConfig schemes[] = {
        {.type = POSITION_ROPE, .base = 10000, .fraction = 1},
        {.type = POSITION_SINUSOIDAL_LEARNED, .base = 10000, .inject = INJECT_GATE},
        {.type = POSITION_LEARNED, .inject = INJECT_CONCAT},
        {.type = POSITION_ALIBI},
        {.type = POSITION_T5, .buckets = 8, .max_distance = 40},
        {.type = POSITION_SHAW, .max_distance = 5, .values = true},
        {.type = POSITION_TRANSFORMER_XL}};
    for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
        ModelConfig config = {.vocab_size = V,
                              .context_length = LONG,
                              .d_model = 96,
                              .num_layers = 2,
                              .num_heads = 4,
                              .num_kv_heads = 4,
                              .d_ff = 160,
                              .norm_eps = 1e-5,
                              .ffn = s % 2 ? FFN_GELU : FFN_SWIGLU,
                              .document_mask = s % 3 != 0,
                              .position = schemes[s]};
        int64_t size;
        real *one = gradients_of(&config, 1, false, &size);
        double largest = 0;
        for (int64_t i = 0; i < size; i++) largest = fmax(largest, fabs((double)one[i]));
        for (int threads = 2; threads <= 3; threads++) {
            real *many = gradients_of(&config, threads, false, &size);
            real *again =
                gradients_of(&config, threads, true, &size); /* recomputed: the same bits */
            for (int64_t i = 0; i < size; i++) {
                if (!(fabs((double)(many[i] - one[i])) < 1e-4 * largest))
                    fail_msg("scheme %d, %d threads: gradient %lld is %g, not %g",
                             (int)schemes[s].type, threads, (long long)i, (double)many[i],
                             (double)one[i]);
            }
            assert_memory_equal(many, again, (size_t)size * sizeof *many);
            free(many);
            free(again);
        }
        free(one);
    }
}

/* A model of this config after two steps of `rows` sequences. The caller frees it. */
static Model *train_model(const ModelConfig *config, int64_t length, int threads, int64_t rows) {
    parallel_start(threads);
    Error error;
    Model *model = model_create(config, false, &error);
    assert_non_null(model);
    model_initialize(model, 3);
    TrainStepConfig options = step_config(rows);
    options.T = length;
    options.source.context = &length;
    TrainStep step;
    StepResult result;
    assert_true(train_step_create(&step, model, &options, &error));
    for (int s = 0; s < 2; s++) assert_true(train_step_run(&step, s, 1e-3, &result, &error));
    train_step_free(&step);
    return model;
}

/* Threads without rows of their own take parts of the operations of the others: more threads than rows,
 * and a last round of micro-batches that not every worker has. */
static void test_threads_that_are_left_over(void **state) {
    (void)state;
    enum { length = 2 * LONG };
    ModelConfig config = {.vocab_size = 600,
                          .context_length = length,
                          .d_model = 96,
                          .num_layers = 2,
                          .num_heads = 4,
                          .num_kv_heads = 4,
                          .d_ff = 320,
                          .norm_eps = 1e-5,
                          .ffn = FFN_SWIGLU,
                          .position = {.type = POSITION_SHAW, .max_distance = 5, .values = true}};
    for (int64_t rows = 1; rows <= 5; rows += 2) {
        Model *one = train_model(&config, length, 1, rows);
        for (int threads = 2; threads <= 8; threads += 2) {
            Model *first = train_model(&config, length, threads, rows);
            Model *second = train_model(&config, length, threads, rows);
            assert_same(first, second, 0);
            assert_same(one, first, 1e-4);
            model_free(first);
            model_free(second);
        }
        model_free(one);
    }
}

/* A row of weight 0 counts for nothing, whatever its loss. */
static void fill_padded(const void *context, int64_t step, int64_t row, int32_t *ids,
                        int32_t *targets, real *weights) {
    fill(context, step, row % 3, ids, targets, weights);
    for (int64_t t = 0; t < T && row >= 3; t++) weights[t] = 0;
}

static void test_rows_without_weight(void **state) {
    (void)state;
    double losses[4];
    Model *three = train(1, 3, 4, false, losses);
    Model *padded = new_model();
    TrainStep step;
    Error error;
    TrainStepConfig config = step_config(5);
    config.source.fill = fill_padded;
    assert_true(train_step_create(&step, padded, &config, &error));
    for (int s = 0; s < 4; s++) {
        StepResult result;
        assert_true(train_step_run(&step, s, 1e-2, &result, &error));
        assert_true(fabs(result.loss - losses[s]) < 1e-5);
    }
    assert_same(three, padded, 1e-4);
    train_step_free(&step);
    model_free(three);
    model_free(padded);
}

/* Samples are told between steps, at other lengths; the frequencies of dynamic_ntk follow the length, and
 * must be those of the context again in the next step. */
static void test_a_sample_between_steps(void **state) {
    (void)state;
    parallel_start(1);
    double losses[2][2];
    for (int disturbed = 0; disturbed < 2; disturbed++) {
        Model *model = new_model_with(
            (RopeScaling){.type = ROPE_SCALING_DYNAMIC_NTK, .factor = 4, .original_context = 6});
        Error error;
        TrainStep step;
        TrainStepConfig options = step_config(2);
        assert_true(train_step_create(&step, model, &options, &error));
        for (int s = 0; s < 2; s++) {
            StepResult result;
            assert_true(train_step_run(&step, s, 1e-2, &result, &error));
            losses[disturbed][s] = result.loss;
            if (disturbed) assert_true(position_prepare(model->position, 5, &error));
        }
        train_step_free(&step);
        model_free(model);
    }
    assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
}

/* A loss that is not finite stops the step before anything is changed, and says where it arose. */
static void test_not_finite(void **state) {
    (void)state;
    Model *model = new_model();
    TrainStep step;
    Error error;
    StepResult result;
    TrainStepConfig config = step_config(3);
    assert_true(train_step_create(&step, model, &config, &error));
    Tensor *w2 = model->layers[1].w2;
    w2->data[5] = (real)NAN;
    real *before = allocate((size_t)model->parameters.size, sizeof *before);
    memcpy(before, model->parameters.values, (size_t)model->parameters.size * sizeof *before);
    assert_false(train_step_run(&step, 41, 2.5e-3, &result, &error));
    assert_non_null(strstr(error.message, "step 42: the loss is not finite, learning rate 0.0025"));
    assert_non_null(strstr(error.message, "layers.1.ffn (linear)"));
    assert_memory_equal(before, model->parameters.values,
                        (size_t)model->parameters.size * sizeof *before);
    assert_int_equal(step.optimizer.step, 0);
    for (int64_t i = 0; i < model->parameters.size; i++)
        assert_true(step.optimizer.state[0][i] == 0);
    free(before);
    /* in the head: every hidden state is finite, the loss is not */
    w2->data[5] = 0;
    model->lm_head->data[7] = (real)NAN;
    assert_false(train_step_run(&step, 41, 2.5e-3, &result, &error));
    assert_non_null(strstr(error.message, "lm_head (head_loss)"));
    train_step_free(&step);
    model_free(model);
}

/* The plan of a dry run is what a step then takes, however the rows are shared out: by as many workers
 * as there are rows and threads, but no more than 16. */
static void test_plan(void **state) {
    (void)state;
    static const struct {
        int64_t rows;
        int threads, workers;
    } cases[] = {{8, 2, 2},    {1, 1, 1},  {3, 2, 2},  {16, 17, 16}, {16, 20, 16},
                 {17, 16, 16}, {4, 64, 4}, {1, 20, 1}, {33, 16, 16}, {64, 64, 16}};
    ModelConfig config = {.vocab_size = 600,
                          .context_length = LONG,
                          .d_model = 64,
                          .num_layers = 2,
                          .num_heads = 4,
                          .num_kv_heads = 4,
                          .d_ff = 192,
                          .norm_eps = 1e-5,
                          .ffn = FFN_SWIGLU,
                          .position = {.type = POSITION_ROPE, .base = 10000, .fraction = 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const int64_t length = LONG;
        int threads = cases[i].threads;
        parallel_start(threads);
        Error error;
        Model *model = model_create(&config, false, &error);
        assert_non_null(model);
        model_initialize(model, 3);
        TrainStepConfig options = step_config(cases[i].rows);
        options.T = length;
        options.source.context = &length;
        TrainPlan plan = train_step_plan(model, &options, threads);
        TrainStep step;
        StepResult result;
        assert_true(train_step_create(&step, model, &options, &error));
        for (int s = 0; s < 2; s++) assert_true(train_step_run(&step, s, 1e-3, &result, &error));
        int64_t bytes = 0, size = model->parameters.size * (int64_t)sizeof(real);
        for (int w = 0; w < step.workers; w++) bytes += (int64_t)tape_peak_bytes(&step.tapes[w]);
        if (step.workers != cases[i].workers || plan.activation_bytes != bytes ||
            plan.parameter_bytes != (3 + cases[i].workers) * size)
            fail_msg("%lld rows, %d threads: %d workers, %lld bytes (%lld planned)",
                     (long long)cases[i].rows, threads, step.workers, (long long)bytes,
                     (long long)plan.activation_bytes);
        train_step_free(&step);
        model_free(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_new_after_the_first_step),
        cmocka_unit_test(test_the_same_bits_every_time),
        cmocka_unit_test(test_any_number_of_threads),
        cmocka_unit_test(test_a_team_inside_of_operations),
        cmocka_unit_test(test_threads_that_are_left_over),
        cmocka_unit_test(test_rows_without_weight),
        cmocka_unit_test(test_a_sample_between_steps),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests_name("train_step", tests, NULL, NULL);
}
