/* Checkpoints: what is saved comes back, into a model and an optimizer that held something else, and what
 * does not belong to them is refused. */
#include "formats_helpers.h"

#include <math.h>

#include "generation_helpers.h"
#include "training/checkpoint.h"

static const OptimizerConfig adamw = {OPTIMIZER_ADAMW, 0.9, 0.95, 1e-8, 0.1, 0};
static const OptimizerConfig sgd = {.type = OPTIMIZER_SGD};
static const OptimizerConfig momentum = {.type = OPTIMIZER_SGD, .momentum = 0.5};

/* A model whose weights and moments are all different numbers above `first`. */
typedef struct Run {
    Model *model;
    Optimizer optimizer;
} Run;

static Run run_with(const OptimizerConfig *config, real first) {
    ModelConfig shape = tiny_config();
    Run run = {.model = tiny_model(&shape)};
    Parameters *p = &run.model->parameters;
    Error error;
    assert_true(optimizer_create(&run.optimizer, config, p, &error));
    real *buffers[3] = {p->values, run.optimizer.state[0], run.optimizer.state[1]};
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; buffers[k] && i < p->part_count; i++)
            for (int64_t n = 0; n < parameter_size(&p->parts[i]); n++)
                buffers[k][p->parts[i].offset + n] = first++;
    return run;
}

static void run_free(Run *run) {
    optimizer_free(&run->optimizer);
    model_free(run->model);
}

static const char *save(const Run *run, const RunState *state) {
    const char *path = scratch_path("checkpoint.safetensors");
    Error error;
    if (!checkpoint_save(path, NULL, run->model, &run->optimizer, state, "{\"a\": 1}", &error))
        fail_msg("%s", error.message);
    return path;
}

TEST(everything_comes_back) {
    const OptimizerConfig *const configs[] = {&adamw, &sgd, &momentum};
    for (int c = 0; c < 3; c++) {
        Run run = run_with(configs[c], 1), other = run_with(configs[c], 1000000);
        const RunState saved = {123456789012, 0.1, 2.5000000000000004, UINT64_C(0xFEDCBA9876543210),
                                UINT64_C(0x123456789ABCDEF0)};
        RunState loaded = {.tokenizer = saved.tokenizer};
        const char *path = save(&run, &saved);
        Error error;
        if (!checkpoint_load(path, other.model, &other.optimizer, &loaded, &error))
            fail_msg("%s", error.message);
        assert_true(loaded.step == saved.step && other.optimizer.step == saved.step);
        assert_true(loaded.seconds == saved.seconds && loaded.data == saved.data);
        assert_true(loaded.best_valid_loss == saved.best_valid_loss);
        size_t bytes = (size_t)run.optimizer.size * sizeof(real);
        assert_memory_equal(run.model->parameters.values, other.model->parameters.values, bytes);
        if (run.optimizer.state[0])
            assert_memory_equal(run.optimizer.state[0], other.optimizer.state[0], bytes);
        if (run.optimizer.state[1])
            assert_memory_equal(run.optimizer.state[1], other.optimizer.state[1], bytes);
        char *config = checkpoint_config(path, &error);
        assert_string_equal(config, "{\"a\": 1}");
        free(config);
        run_free(&run);
        run_free(&other);
    }
}

/* Before the first evaluation the best loss is infinite. */
TEST(no_best_loss_yet) {
    Run run = run_with(&sgd, 1);
    RunState loaded = {0};
    Error error;
    const char *path = save(&run, &(RunState){.step = 1, .best_valid_loss = HUGE_VAL});
    assert_true(checkpoint_load(path, run.model, &run.optimizer, &loaded, &error));
    assert_true(isinf(loaded.best_valid_loss) && loaded.best_valid_loss > 0);
    run_free(&run);
}

static void assert_refused(const char *path, Run *run, RunState state, const char *why) {
    Error error;
    run->optimizer.step = 77;
    assert_false(checkpoint_load(path, run->model, &run->optimizer, &state, &error));
    if (!strstr(error.message, why)) fail_msg("%s", error.message);
    assert_int_equal(run->optimizer.step, 77);
}

TEST(what_does_not_belong_is_refused) {
    Run run = run_with(&adamw, 1), other = run_with(&sgd, 1), third = run_with(&momentum, 1);
    const RunState good = {.step = 5, .tokenizer = 9};
    const char *path = save(&run, &good);
    assert_refused(path, &other, good, "another model or optimizer");
    assert_refused(path, &third, good, "another model or optimizer");
    assert_refused(path, &run, (RunState){.tokenizer = 8}, "another tokenizer");
    /* A step that no run has made: the next batch and rate would be those of no step. */
    path = save(&run, &(RunState){.step = -1});
    assert_refused(path, &run, (RunState){0}, "no number \"step\"");
    run_free(&run);
    run_free(&other);
    run_free(&third);
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
