/* Tables of numbers with right answers: learning rate, AdamW over a resume, clipping, softmax and
 * loss, angles of RoPE, products. Each check runs on numbers computed by tests/parity in float64, and
 * on the shared tables of the same format where they exist. */
#include "formats_helpers.h"

#include <float.h>
#include <math.h>

#include "base/parallel.h"
#include "generation_helpers.h"
#include "tensor/matmul.h"
#include "optimizer_helpers.h"
#include "training/schedule.h"
#include "training/train_step.h"

/* ---- reading the tables ---- */

static double number(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItem(object, key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

/* A number, or one of "1.0", "inf", "-inf", "nan", which JSON cannot say. */
static double value(const cJSON *item) {
    if (!cJSON_IsString(item)) return item->valuedouble;
    if (strcmp(item->valuestring, "inf") == 0) return HUGE_VAL;
    if (strcmp(item->valuestring, "-inf") == 0) return -HUGE_VAL;
    return strcmp(item->valuestring, "nan") == 0 ? (double)NAN : 1;
}

static void assert_near(double got, double want, double relative, const char *what) {
    if (!(fabs(got - want) <= relative * fabs(want)))
        fail_msg("%s: %.17g instead of %.17g", what, got, want);
}

/* Runs a check on a table of our own, and on the shared one where it exists. */
static void run_tables(void (*run)(const cJSON *table), const char *own, const char *shared) {
    cJSON *table = cJSON_Parse(own);
    assert_non_null(table);
    run(table);
    cJSON_Delete(table);
    const char *path = case_path(shared);
    if (!path) return;
    table = read_json(path);
    run(table);
    cJSON_Delete(table);
}

/* ---- learning rate ---- */

static const char OWN_SCHEDULES[] =
    "{\"rows\": [{\"max_lr\": 0.002, \"min_lr\": 0.0002, \"warmup\": 8, \"cosine_end\": 40,"
    " \"t\": [0, 1, 4, 7, 8, 9, 24, 39, 40, 41, 1000000000000], \"lr\": [0, 0.00025, 0.001, 0.00175, 0.002,"
    " 0.0019956662540049773, 0.0011, 0.00020433374599502287, 0.0002, 0.0002, 0.0002]},"
    " {\"max_lr\": 0.0005, \"min_lr\": 0, \"warmup\": 0, \"cosine_end\": 3,"
    " \"t\": [0, 1, 2, 3, 4], \"lr\": [0.0005, 0.000375, 0.000125, 0, 0]},"
    " {\"max_lr\": 0.001, \"min_lr\": 0.0001, \"warmup\": 6, \"cosine_end\": 6,"
    " \"t\": [0, 5, 6, 7], \"lr\": [0, 0.00083333333333333339, 0.001, 0.0001]}]}";

static void run_schedules(const cJSON *table) {
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(table, "rows")) {
        ScheduleConfig config = {.type = SCHEDULE_COSINE,
                                 .max = number(row, "max_lr"),
                                 .min = number(row, "min_lr"),
                                 .warmup_steps = (int64_t)number(row, "warmup"),
                                 .cosine_steps = (int64_t)number(row, "cosine_end")};
        const cJSON *want = cJSON_GetObjectItem(row, "lr")->child, *t;
        cJSON_ArrayForEach(t, cJSON_GetObjectItem(row, "t")) {
            assert_near(schedule_rate(&config, (int64_t)t->valuedouble), want->valuedouble, 1e-6,
                        "learning rate");
            want = want->next;
        }
    }
}

CASES_TEST(schedule_follows_the_formula) {
    run_tables(run_schedules, OWN_SCHEDULES, "cases/num/n03_lr_schedule.json");
}

TEST(schedule_stays_between_its_ends) {
    for (int64_t warmup = 0; warmup < 12; warmup++)
        for (int64_t end = warmup; end < 15; end++)
            for (int64_t t = 0; t < 40; t++) {
                ScheduleConfig config = {.type = SCHEDULE_COSINE,
                                         .max = 1e-3,
                                         .min = 1e-4,
                                         .warmup_steps = warmup,
                                         .cosine_steps = end};
                double rate = schedule_rate(&config, t);
                assert_true(rate >= (t < warmup ? 0 : 1e-4) && rate <= 1e-3);
                config.type = SCHEDULE_CONSTANT;
                assert_near(schedule_rate(&config, t),
                            t < warmup ? 1e-3 * (double)t / (double)warmup : 1e-3, 1e-12,
                            "constant");
            }
}

/* ---- AdamW and SGD ---- */

static const char OWN_ADAMW[] =
    "{\"cfg\": {\"lr\": 0.02, \"b1\": 0.85, \"b2\": 0.97, \"eps\": 1e-6, \"wd\": 0.25},"
    " \"grads\": [-0.75, 0.3125, 2, 0, -0.0625, 1.5, -4, 0.125],"
    " \"after_4\": {\"p\": 0.9868342078332702, \"m\": 0.219778125, \"v\": 0.1345578998437501},"
    " \"after_8\": {\"p\": 0.9575711464904998, \"m\": -0.2197193670117188, \"v\": 0.64880959512756}}";

static void assert_state(const cJSON *want, const Optimizer *optimizer, real theta) {
    assert_near((double)theta, number(want, "p"), 1e-6, "parameter");
    assert_near((double)optimizer->state[0][0], number(want, "m"), 1e-6, "first moment");
    assert_near((double)optimizer->state[1][0], number(want, "v"), 1e-6, "second moment");
}

static void run_adamw(const cJSON *table) {
    const cJSON *cfg = cJSON_GetObjectItem(table, "cfg");
    OptimizerConfig config = {.type = OPTIMIZER_ADAMW,
                              .beta1 = number(cfg, "b1"),
                              .beta2 = number(cfg, "b2"),
                              .eps = number(cfg, "eps"),
                              .weight_decay = number(cfg, "wd")};
    Optimizer straight, resumed;
    optimizer_create_flat(&straight, &config, 1);
    real theta = 1, resumed_theta = 0;
    const cJSON *gradient;
    cJSON_ArrayForEach(gradient, cJSON_GetObjectItem(table, "grads")) {
        real g = (real)gradient->valuedouble;
        optimizer_update(&straight, &theta, &g, 1, number(cfg, "lr"));
        if (straight.step == 4) {
            assert_state(cJSON_GetObjectItem(table, "after_4"), &straight, theta);
            /* what a checkpoint holds */
            optimizer_create_flat(&resumed, &config, 1);
            resumed.state[0][0] = straight.state[0][0];
            resumed.state[1][0] = straight.state[1][0];
            resumed.step = straight.step;
            resumed_theta = theta;
        } else if (straight.step > 4) {
            optimizer_update(&resumed, &resumed_theta, &g, 1, number(cfg, "lr"));
        }
    }
    assert_int_equal(straight.step, 8);
    assert_int_equal(resumed.step, 8);
    assert_state(cJSON_GetObjectItem(table, "after_8"), &straight, theta);
    assert_memory_equal(&resumed_theta, &theta, sizeof theta);
    optimizer_free(&straight);
    optimizer_free(&resumed);
}

CASES_TEST(adamw_in_the_order_of_the_handout) {
    run_tables(run_adamw, OWN_ADAMW, "cases/num/n02_adamw_resume.json");
}

TEST(sgd_with_momentum_and_clipping) {
    const real gradients[] = {-0.75, 0.3125, 2, 0, -0.0625, 1.5, -4, 0.125};
    OptimizerConfig config = {.type = OPTIMIZER_SGD, .momentum = 0.6};
    Optimizer optimizer;
    optimizer_create_flat(&optimizer, &config, 1);
    real theta = 1;
    for (int i = 0; i < 8; i++) {
        real twice = 2 * gradients[i]; /* halved by the factor of clipping */
        optimizer_update(&optimizer, &theta, &twice, 0.5, 0.02);
    }
    assert_near((double)theta, 0.9957681439999999, 1e-6, "parameter");
    assert_near((double)optimizer.state[0][0], -1.5993952, 1e-6, "momentum");
    optimizer_free(&optimizer);
}

/* Moments that decay below the smallest normal number would make every step several times slower, for
 * good: 0.9 times the smallest subnormal rounds to itself. In every thread they must become 0. */
TEST(vanishing_moments_become_zero) {
    enum { SIZE = 1 << 17, STEPS = 120 };
    const double smallest = sizeof(real) == sizeof(float) ? (double)FLT_MIN : DBL_MIN;
    OptimizerConfig config = {OPTIMIZER_ADAMW, .beta1 = 0.5, .beta2 = 0.7, .eps = 1e-8};
    Optimizer optimizer;
    optimizer_create_flat(&optimizer, &config, SIZE);
    real *theta = allocate_zeroed(SIZE, sizeof *theta);
    real *gradient = allocate_zeroed(SIZE, sizeof *gradient);
    for (int i = 0; i < SIZE; i++) gradient[i] = (real)1e-18;
    optimizer_update(&optimizer, theta, gradient, 1, 1e-3);
    memset(gradient, 0, SIZE * sizeof *gradient);
    for (int step = 0; step < STEPS; step++) {
        optimizer_update(&optimizer, theta, gradient, 1, 1e-3);
        for (int i = 0; i < SIZE; i++) {
            double m = fabs((double)optimizer.state[0][i]), v = (double)optimizer.state[1][i];
            if ((m > 0 && m < smallest) || (v > 0 && v < smallest))
                fail_msg("step %d: moments %g and %g", step, m, v);
        }
    }
    free(theta);
    free(gradient);
    optimizer_free(&optimizer);
}

/* ---- clipping ---- */

static const char OWN_CLIPS[] =
    "{\"cases\": [{\"name\": \"two equal\", \"grad\": {\"repeat\": 6, \"count\": 2}, \"max_norm\": 2,"
    " \"norm\": 8.485281374238571, \"scale\": 0.2357022326177413},"
    " {\"name\": \"at the limit\", \"grad\": [0, -1], \"max_norm\": 1, \"norm\": 1, \"scale\": 1},"
    " {\"name\": \"off\", \"grad\": [30, 40], \"max_norm\": 0, \"norm\": 50, \"scale\": 1},"
    " {\"name\": \"infinite\", \"grad\": [\"-inf\", 3], \"max_norm\": 1, \"norm\": \"inf\"},"
    " {\"name\": \"many large\", \"grad\": {\"repeat\": 2e19, \"count\": 50000}, \"max_norm\": 1,"
    " \"norm\": 4.472135954999579e21, \"scale\": 2.23606797749979e-22}]}";

static void run_clips(const cJSON *table) {
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(table, "cases")) {
        const char *name = cJSON_GetObjectItem(item, "name")->valuestring;
        const cJSON *list = cJSON_GetObjectItem(item, "grad");
        bool repeated = cJSON_IsObject(list);
        int count = repeated ? (int)number(list, "count") : cJSON_GetArraySize(list);
        real *gradient = allocate((size_t)count, sizeof *gradient);
        for (int i = 0; i < count; i++)
            gradient[i] =
                (real)(repeated ? number(list, "repeat") : value(cJSON_GetArrayItem(list, i)));
        OptimizerConfig config = {.type = OPTIMIZER_SGD};
        Optimizer optimizer;
        optimizer_create_flat(&optimizer, &config, count);
        double norm = optimizer_sum_gradients(&optimizer, &gradient, 1);
        const cJSON *scale = cJSON_GetObjectItem(item, "scale");
        if (cJSON_IsNumber(scale)) {
            double max = number(item, "max_norm");
            assert_near(norm, number(item, "norm"), 1e-5, name);
            assert_near(gradient_clip_factor(norm, max), scale->valuedouble, 1e-5, name);
        } else if (isfinite(norm)) {
            fail_msg("%s: norm %g", name, norm);
        }
        optimizer_free(&optimizer);
        free(gradient);
    }
}

CASES_TEST(clipping_by_the_global_norm) {
    run_tables(run_clips, OWN_CLIPS, "cases/num/n04_clip.json");
}

/* ---- a step that must be refused ---- */

static void fill_ascending(const void *context, int64_t step, int64_t row, int32_t *ids,
                           int32_t *targets, real *weights) {
    for (int32_t i = 0; i < 8; i++) {
        ids[i] = (int32_t)(row + step + i) % 40;
        targets[i] = (ids[i] + 1) % 40;
        weights[i] = *(const real *)context;
    }
}

typedef struct Refused {
    ModelConfig config;
    OptimizerConfig optimizer;
    Model *model;
    TrainStep step;
    real weight;
} Refused;

static void refused_create(Refused *r, real weight) {
    *r = (Refused){.config = tiny_config(),
                   .optimizer = {OPTIMIZER_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8,
                                 .weight_decay = 0.1},
                   .weight = weight};
    r->model = tiny_model(&r->config);
    TrainStepConfig config = {.optimizer = &r->optimizer,
                              .source = {fill_ascending, &r->weight},
                              .rows = 4,
                              .T = 8,
                              .separator = -1,
                              .grad_clip = 1};
    Error error;
    assert_true(train_step_create(&r->step, r->model, &config, &error));
}

static void refused_free(Refused *r) {
    train_step_free(&r->step);
    model_free(r->model);
}

TEST(a_bad_step_changes_nothing) {
    Refused r;
    refused_create(&r, 1);
    StepResult result;
    Error error;
    assert_true(train_step_run(&r.step, 0, 1e-3, &result, &error));
    size_t bytes = (size_t)r.model->parameters.size * sizeof(real);
    real *values = allocate(bytes, 1), *m = allocate(bytes, 1), *v = allocate(bytes, 1);
    const real poison[] = {(real)NAN, (real)HUGE_VAL, (real)-HUGE_VAL};
    for (int i = 0; i < 3; i++) {
        r.model->layers[1].w2->data[3] = poison[i];
        memcpy(values, r.model->parameters.values, bytes);
        memcpy(m, r.step.optimizer.state[0], bytes);
        memcpy(v, r.step.optimizer.state[1], bytes);
        assert_false(train_step_run(&r.step, 1, 1e-3, &result, &error));
        assert_non_null(strstr(error.message, "step 2"));
        assert_non_null(strstr(error.message, "layers.1.ffn"));
        assert_memory_equal(values, r.model->parameters.values, bytes);
        assert_memory_equal(m, r.step.optimizer.state[0], bytes);
        assert_memory_equal(v, r.step.optimizer.state[1], bytes);
        assert_int_equal(r.step.optimizer.step, 1);
    }
    free(values);
    free(m);
    free(v);
    refused_free(&r);
}

TEST(no_counted_target_gives_no_gradient) {
    Refused r;
    refused_create(&r, 0);
    StepResult result;
    Error error;
    if (train_step_run(&r.step, 0, 1e-3, &result, &error)) {
        assert_true(result.loss == 0);
        assert_true(result.grad_norm == 0);
    }
    for (int64_t i = 0; i < r.model->parameters.size; i++)
        assert_true(isfinite(r.model->parameters.values[i]));
    refused_free(&r);
}

/* ---- softmax and loss ---- */

static const char OWN_LOSSES[] =
    "{\"rows\": [{\"logits\": [500, -500, 0], \"target\": 1, \"loss\": 1000, \"probs\": [1, 0, 0]},"
    " {\"logits\": [2.5, 2.5, 2.5, 2.5, 2.5], \"target\": 4, \"loss\": 1.6094379124341005,"
    " \"probs\": [0.2, 0.2, 0.2, 0.2, 0.2]},"
    " {\"logits\": [-3000, -3001, -3003.5], \"target\": 2, \"loss\": 3.835097595516345,"
    " \"probs\": [0.7152682759693068, 0.2631324936512496, 0.02159923037926588]},"
    " {\"logits\": [0.5, -1.25, 3.75, 2], \"target\": 0, \"loss\": 3.4482655221258702, \"probs\":"
    " [0.03180074626158657, 0.005526141082542896, 0.8201520557067241, 0.1425210569491466]},"
    " {\"logits\": [-7], \"target\": 0, \"loss\": 0, \"probs\": [1]},"
    " {\"logits\": [89.5, 89.5, -89.5], \"target\": 1, \"loss\": 0.6931471805599453, \"probs\":"
    " [0.5, 0.5, 0]}]}";

static void run_losses(const cJSON *table) {
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(table, "rows")) {
        const cJSON *list = cJSON_GetObjectItem(row, "logits"), *item;
        real logits[16];
        int32_t count = 0, target = (int32_t)number(row, "target");
        cJSON_ArrayForEach(item, list) logits[count++] = (real)value(item);
        double loss = (double)cross_entropy_row(logits, count, target, 1);
        assert_true(loss >= 0);
        assert_near(loss, number(row, "loss"), 1e-5, "loss");
        for (int32_t i = 0; i < count; i++) {
            double got = (double)logits[i] + (i == target);
            double want = cJSON_GetArrayItem(cJSON_GetObjectItem(row, "probs"), i)->valuedouble;
            if (!(fabs(got - want) <= 1e-6))
                fail_msg("probability %.9g instead of %.9g", got, want);
        }
    }
}

CASES_TEST(loss_of_extreme_logits) {
    run_tables(run_losses, OWN_LOSSES, "cases/num/n05_n06_softmax_loss.json");
}

/* ---- angles of RoPE ---- */

enum { FAR = 40000, MOST_MODELS = 16 };

/* A model whose tables reach all positions below FAR; made once for each choice, freed at the end. */
static Model *rope_models[MOST_MODELS];

static const Position *rope_position(int64_t d_head, double theta, PositionLayout layout) {
    int i = 0;
    for (; rope_models[i]; i++) {
        const Position *position = rope_models[i]->position;
        if (position->d_head == d_head && position->config->position.base == theta &&
            position->config->position.layout == layout)
            return position;
    }
    assert_true(i < MOST_MODELS - 1);
    ModelConfig config = tiny_config();
    config.num_layers = 1;
    config.d_model = 2 * d_head;
    config.context_length = FAR;
    config.position.base = theta;
    config.position.layout = layout;
    rope_models[i] = tiny_model(&config);
    Error error;
    assert_true(position_prepare(rope_models[i]->position, FAR, &error));
    return rope_models[i]->position;
}

/* What the model's rotation makes of the unit vector (1, 0) of a pair at a position: (cos, sin). */
static void check_angle(int64_t d_head, double theta, int64_t at, int64_t pair, double cosine,
                        double sine) {
    for (PositionLayout layout = LAYOUT_INTERLEAVED; layout <= LAYOUT_HALF; layout++) {
        const AttentionHooks *hooks = position_hooks(rope_position(d_head, theta, layout), 0);
        int64_t first = layout == LAYOUT_INTERLEAVED ? 2 * pair : pair;
        int64_t second = layout == LAYOUT_INTERLEAVED ? first + 1 : first + d_head / 2;
        real from[128] = {0}, to[128];
        from[first] = 1;
        hooks->transform(hooks->context, at, 1, d_head, from, d_head, to, d_head, false);
        double c = (double)to[first], s = (double)to[second];
        if (!(fabs(c - cosine) < 1e-6 && fabs(s - sine) < 1e-6))
            fail_msg("position %d, pair %d: (%g, %g) instead of (%g, %g)", (int)at, (int)pair, c, s,
                     cosine, sine);
        for (int64_t i = 0; i < d_head; i++)
            if (i != first && i != second) assert_true(to[i] == 0);
    }
}

static void run_angles(const cJSON *table) {
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(table, "rows")) {
        double x[6];
        for (int i = 0; i < 6; i++) x[i] = cJSON_GetArrayItem(row, i)->valuedouble;
        check_angle((int64_t)x[0], x[1], (int64_t)x[2], (int64_t)x[3], x[4], x[5]);
    }
}

static const char OWN_ANGLES[] =
    "{\"rows\": [[8, 10000, 1, 0, 0.5403023058681398, 0.8414709848078965],"
    " [4, 100, 30, 1, -0.9899924966004454, 0.1411200080598672],"
    " [2, 10000, 20000, 0, 0.8131996906089204, 0.5819847619942949]]}";

CASES_TEST(rope_angles_at_far_positions) {
    run_tables(run_angles, OWN_ANGLES, "cases/num/n10_rope_angles.json");
    for (int64_t at = 5; at < FAR; at = at * 3 + 1)
        for (int64_t pair = 0; pair < 32; pair++) {
            double angle = (double)at * pow(10000, -2.0 * (double)pair / 64);
            check_angle(64, 10000, at, pair, cos(angle), sin(angle));
        }
    for (int i = 0; rope_models[i]; i++) {
        model_free(rope_models[i]);
        rope_models[i] = NULL;
    }
}

/* ---- products ---- */

TEST(product_of_a_tall_and_a_narrow_matrix) {
    const real a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2}, want[] = {5, 11, 17};
    real c[] = {(real)NAN, (real)NAN, (real)NAN};
    matmul(3, 1, 2, 1, (MatmulOperand){a, 2, false}, (MatmulOperand){b, 1, false}, 0, c, 1);
    assert_memory_equal(c, want, sizeof c);
}

/* Every shape to 7, transposed or not, in matrices with longer rows, against the definition; beta 0
 * must not read C. */
TEST(products_of_small_shapes) {
    enum { MOST = 7, STRIDE = MOST + 2 };
    real a[MOST * STRIDE], b[MOST * STRIDE], c[MOST * STRIDE];
    for (int i = 0; i < MOST * STRIDE; i++) {
        a[i] = (real)(i * 7 % 11 - 5);
        b[i] = (real)(i * 5 % 13 - 6);
    }
    for (int shape = 0; shape < MOST * MOST * MOST * 8; shape++) {
        int m = 1 + shape / 8 % MOST, n = 1 + shape / 8 / MOST % MOST,
            k = 1 + shape / 8 / MOST / MOST;
        bool at = shape & 1, bt = shape & 2, add = shape & 4;
        for (int i = 0; i < MOST * STRIDE; i++) c[i] = add ? (real)i : (real)NAN;
        matmul(m, n, k, 0.5f, (MatmulOperand){a, STRIDE, at}, (MatmulOperand){b, STRIDE, bt}, add,
               c, STRIDE);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                real sum = 0;
                for (int l = 0; l < k; l++)
                    sum += (at ? a[l * STRIDE + i] : a[i * STRIDE + l]) *
                           (bt ? b[j * STRIDE + l] : b[l * STRIDE + j]);
                real want = sum / 2 + (add ? (real)(i * STRIDE + j) : 0);
                if (c[i * STRIDE + j] != want) /* whole numbers and halves: exact in any order */
                    fail_msg("m %d n %d k %d: %g instead of %g", m, n, k, (double)c[i * STRIDE + j],
                             (double)want);
            }
        assert_true(add ? c[n] == n : isnan(c[n])); /* nothing beyond the row is written */
    }
}

int main(void) {
    parallel_start(0);
    return run_all_tests(NULL, NULL);
}
