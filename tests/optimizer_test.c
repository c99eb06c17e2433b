/* The optimizers, the norm and the schedule against their formulas in double: every element of buffers
 * longer than a chunk, options far from the defaults, the steps where a formula changes. */
#include "helpers.h"

#include <math.h>

#include "base/parallel.h"
#include "base/random.h"
#include "optimizer_helpers.h"
#include "training/schedule.h"

enum { SIZE = 40000, STEPS = 6 }; /* more than two chunks, and a rest */

static double draw(int64_t i) {
    return 2 * random_uniform(5, RANDOM_TEST, (uint64_t)i) - 1;
}

/* Small gradients beside a large eps: where eps stands matters. */
static double gradient(int step, int64_t i) {
    return 0.01 * draw(((int64_t)step << 20) + i);
}

static void check_updates(const OptimizerConfig *config) {
    Optimizer optimizer;
    optimizer_create_flat(&optimizer, config, SIZE);
    real *values = allocate(SIZE, sizeof *values), *g = allocate(SIZE, sizeof *g);
    double *theta = allocate(SIZE, sizeof *theta), *m = allocate_zeroed(SIZE, sizeof *m),
           *v = allocate_zeroed(SIZE, sizeof *v);
    for (int64_t i = 0; i < SIZE; i++) values[i] = (real)draw(i), theta[i] = (double)values[i];
    for (int t = 1; t <= STEPS; t++) {
        double rate = 0.1 / t, clip = t % 2 ? 1 : 0.5;
        for (int64_t i = 0; i < SIZE; i++) {
            g[i] = (real)gradient(t, i);
            double x = clip * (double)g[i];
            if (config->type == OPTIMIZER_SGD) {
                m[i] = config->momentum * m[i] + x;
                theta[i] -= rate * m[i];
                continue;
            }
            m[i] = config->beta1 * m[i] + (1 - config->beta1) * x;
            v[i] = config->beta2 * v[i] + (1 - config->beta2) * x * x;
            double corrected = rate * sqrt(1 - pow(config->beta2, t)) / (1 - pow(config->beta1, t));
            theta[i] -= corrected * m[i] / (sqrt(v[i]) + config->eps);
            theta[i] -= rate * config->weight_decay * theta[i];
        }
        optimizer_update(&optimizer, values, g, clip, rate);
    }
    assert_int_equal(optimizer.step, STEPS);
    for (int64_t i = 0; i < SIZE; i++)
        if (!(fabs((double)values[i] - theta[i]) < 2e-6))
            fail_msg("element %lld is %.9g, not %.9g", (long long)i, (double)values[i], theta[i]);
    optimizer_free(&optimizer);
    void *all[] = {values, g, theta, m, v};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

TEST(every_element_follows_the_formula) {
    check_updates(&(OptimizerConfig){OPTIMIZER_ADAMW, 0.9, 0.95, 1e-8, 0.1, 0});
    check_updates(&(OptimizerConfig){OPTIMIZER_ADAMW, 0.7, 0.99, 1e-2, 2, 0});
    check_updates(&(OptimizerConfig){OPTIMIZER_ADAMW, 0, 0, 1e-3, 0, 0});
    check_updates(&(OptimizerConfig){.type = OPTIMIZER_SGD});
    check_updates(&(OptimizerConfig){.type = OPTIMIZER_SGD, .momentum = 0.8});
}

/* All buffers are added, and the norm is that of the sum. */
TEST(gradients_are_summed) {
    for (int count = 1; count <= 4; count++) {
        Optimizer optimizer;
        optimizer_create_flat(&optimizer, &(OptimizerConfig){.type = OPTIMIZER_SGD}, SIZE);
        real *buffers[4];
        double squares = 0;
        for (int k = 0; k < count; k++) {
            buffers[k] = allocate(SIZE, sizeof(real));
            for (int64_t i = 0; i < SIZE; i++) buffers[k][i] = (real)gradient(k, i);
        }
        double norm = optimizer_sum_gradients(&optimizer, buffers, count);
        for (int64_t i = 0; i < SIZE; i++) {
            double sum = 0;
            for (int k = 0; k < count; k++) sum += gradient(k, i);
            assert_true(fabs((double)buffers[0][i] - sum) < 1e-8);
            squares += sum * sum;
        }
        assert_true(fabs(norm / sqrt(squares) - 1) < 1e-6);
        buffers[0][SIZE - 1] = (real)NAN;
        assert_true(isnan(optimizer_sum_gradients(&optimizer, buffers, 1)));
        for (int k = 0; k < count; k++) free(buffers[k]);
        optimizer_free(&optimizer);
    }
}

TEST(clipping) {
    assert_true(gradient_clip_factor(5, 0) == 1);
    assert_true(gradient_clip_factor(2, 2) == 1);
    assert_true(gradient_clip_factor(1e-9, 2) == 1);
    assert_true(gradient_clip_factor(2.5, 2) == 2 / (2.5 + 1e-6));
    assert_true(gradient_clip_factor(1e-5, 1e-7) == 1e-7 / (1e-5 + 1e-6));
}

TEST(schedule_at_its_corners) {
    const ScheduleConfig cosine = {
        .type = SCHEDULE_COSINE, .max = 8, .min = 2, .warmup_steps = 4, .cosine_steps = 12};
    const double expected[] = {0, 2, 4, 6, 8};
    for (int t = 0; t <= 4; t++) assert_true(schedule_rate(&cosine, t) == expected[t]);
    assert_true(fabs(schedule_rate(&cosine, 5) - (5 + 3 * cos(0.39269908169872414))) < 1e-12);
    assert_true(fabs(schedule_rate(&cosine, 8) - 5) < 1e-12);
    assert_true(schedule_rate(&cosine, 11) > 2 && schedule_rate(&cosine, 11) < 2.3);
    assert_true(schedule_rate(&cosine, 12) == 2 && schedule_rate(&cosine, 1000000) == 2);
    const ScheduleConfig none = {
        .type = SCHEDULE_COSINE, .max = 8, .min = 2, .warmup_steps = 4, .cosine_steps = 4};
    assert_true(schedule_rate(&none, 3) == 6 && schedule_rate(&none, 4) == 8);
    assert_true(schedule_rate(&none, 5) == 2);
    /* no warm-up: nothing is divided by it */
    const ScheduleConfig at_once = {
        .type = SCHEDULE_COSINE, .max = 8, .min = 2, .warmup_steps = 0, .cosine_steps = 4};
    assert_true(schedule_rate(&at_once, 0) == 8 && fabs(schedule_rate(&at_once, 2) - 5) < 1e-12);
    const ScheduleConfig constant = {
        .type = SCHEDULE_CONSTANT, .max = 8, .min = 8, .warmup_steps = 2, .cosine_steps = 2};
    assert_true(schedule_rate(&constant, 0) == 0 && schedule_rate(&constant, 1) == 4);
    assert_true(schedule_rate(&constant, 2) == 8 && schedule_rate(&constant, 999) == 8);
}

int main(void) {
    parallel_start(2);
    return run_all_tests(NULL, NULL);
}
