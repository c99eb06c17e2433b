/* What must hold for position schemes, whatever the numbers: the definitions in loops, distance only,
 * norms, permutations, the cache, limits. */
#include "position_helpers.h"

#include "base/random.h"
#include "tensor/plain/plain.h"

static double uniform(uint64_t n) {
    return 2 * random_uniform(9, RANDOM_TEST, n) - 1;
}

static void fill(real *to, int64_t count, uint64_t first) {
    for (int64_t n = 0; n < count; n++) to[n] = (real)uniform(first + (uint64_t)n);
}

/* All trained tensors of the scheme random, as after training. */
static void shake(Parameters *parameters) {
    for (int64_t i = 0; i < parameters->part_count; i++) {
        const Parameter *part = &parameters->parts[i];
        real *values = parameters->values + part->offset;
        for (int64_t k = 0; k < parameter_size(part); k++)
            values[k] += (real)(0.3 * uniform(((uint64_t)i << 32) + (uint64_t)k));
    }
}

/* More rows than a block has, and more columns than a line of biases. */
enum { T = 460, H = 2, D = 4, C = H * D };

static const PositionConfig t5 = {.type = POSITION_T5, .buckets = 8, .max_distance = 40};
static const PositionConfig window = {.type = POSITION_WINDOW, .max_distance = T};
static const PositionConfig alibi = {.type = POSITION_ALIBI};
static const PositionConfig shaw = {.type = POSITION_SHAW, .max_distance = 5, .values = true};
static const PositionConfig transformer_xl = {.type = POSITION_TRANSFORMER_XL};
static const PositionConfig rope = {.type = POSITION_ROPE};

/* ---- the definitions ---- */

/* What the scheme adds to score (i, j) of head h, written down as in the papers. */
static double added(Layer1 *layer, int64_t h, int64_t i, int64_t j, const real *q, const real *k) {
    Parameters *p = &layer->parameters;
    const PositionConfig *c = &layer->config.position;
    double sum = 0;
    if (c->type == POSITION_ALIBI) return -fabs((double)(i - j)) * (h == 0 ? 1 / 16.0 : 1 / 256.0);
    if (c->type == POSITION_T5)
        return (double)values_of(p, "layers.0.attn.relative_bias.weight")
            [position_t5_bucket(i - j, c->buckets, c->max_distance) * H + h];
    if (c->type == POSITION_WINDOW)
        return (double)values_of(
            p, "layers.0.attn.relative_bias.weight")[(i - j + c->max_distance - 1) * H + h];
    if (c->type == POSITION_SHAW) {
        const real *a = values_of(p, "layers.0.attn.relative_keys.weight");
        int64_t row = position_shaw_row(i, j, c->max_distance);
        for (int64_t d = 0; d < D; d++) sum += (double)q[d] * (double)a[row * D + d];
        return sum / sqrt(D);
    }
    const real *u = values_of(p, "layers.0.attn.content_bias.weight") + h * D;
    const real *v = values_of(p, "layers.0.attn.position_bias.weight") + h * D;
    const real *w = values_of(p, "layers.0.attn.position_proj.weight");
    for (int64_t d = 0; d < D; d++) {
        double r = 0;
        for (int64_t n = 0; n < C / 2; n++) {
            double angle = (double)(i - j) * pow(10000, -2.0 * (double)n / C);
            const real *row = w + (h * D + d) * C;
            r += (double)row[n] * sin(angle) + (double)row[C / 2 + n] * cos(angle);
        }
        sum += (double)u[d] * (double)k[d] + ((double)q[d] + (double)v[d]) * r;
    }
    return sum / sqrt(D);
}

static void check_definition(PositionConfig scheme, bool causal) {
    Layer1 layer;
    layer1_open(&layer, scheme, T, H, D);
    shake(&layer.parameters);
    Tensor *out = layer1_attention(&layer, causal, NULL);
    real *bias = allocate(2 * T * T, sizeof *bias), *weights = bias + T * T;
    for (int64_t h = 0; h < H; h++) {
        real q[T * D], k[T * D], v[T * D], expected[T * D];
        for (int64_t t = 0; t < T; t++)
            for (int64_t d = 0; d < D; d++) {
                const real *row = layer.qkv->data + t * 3 * C + h * D + d;
                q[t * D + d] = row[0], k[t * D + d] = row[C], v[t * D + d] = row[2 * C];
            }
        for (int64_t i = 0; i < T; i++)
            for (int64_t j = 0; j < T; j++)
                bias[i * T + j] = (real)added(&layer, h, i, j, q + i * D, k + j * D);
        plain_attention_head(T, T, D, causal, NULL, q, k, v, bias, weights, expected);
        for (int64_t i = 0; i < T; i++)
            for (int64_t d = 0; d < D; d++) {
                double value = (double)expected[i * D + d];
                for (int64_t j = 0; scheme.values && j < T; j++)
                    value += (double)(weights[i * T + j] *
                                      values_of(&layer.parameters,
                                                "layers.0.attn.relative_values.weight")
                                          [position_shaw_row(i, j, scheme.max_distance) * D + d]);
                double actual = (double)out->data[i * C + h * D + d];
                if (!(fabs(actual - value) < 2e-5))
                    fail_msg("scheme %d, head %d, row %d: %g is not %g", (int)scheme.type, (int)h,
                             (int)i, actual, value);
            }
    }
    free(bias);
    layer1_close(&layer);
}

static void fast_forms_agree_with_the_definitions(void **state) {
    (void)state;
    const PositionConfig schemes[] = {t5, window, alibi, shaw, transformer_xl};
    for (int i = 0; i < 5; i++)
        for (int causal = 0; causal < 2; causal++) check_definition(schemes[i], causal);
}

static void rope_agrees_with_the_whole_matrix(void **state) {
    (void)state;
    for (int halves = 0; halves < 2; halves++)
        for (double fraction = 0.5; fraction <= 1; fraction += 0.5) {
            Layer1 layer;
            layer1_open(&layer,
                        (PositionConfig){.type = POSITION_ROPE,
                                         .layout = halves ? LAYOUT_HALF : LAYOUT_INTERLEAVED,
                                         .fraction = fraction},
                        1000, 1, 16);
            const AttentionHooks *hooks = position_hooks(layer.position, 0);
            double theta[8], magnitude;
            position_rope_frequencies(&layer.config.position, 16, 1000, 1000, theta, &magnitude);
            for (int64_t m = 0; m < 1000; m = 3 * m + 1) {
                real x[16], fast[16], matrix[16], back[16];
                fill(x, 16, (uint64_t)m);
                hooks->transform(hooks->context, m, 1, 16, x, 16, fast, 16, false);
                hooks->transform(hooks->context, m, 1, 16, fast, 16, back, 16, true);
                plain_rope(16, (int64_t)(16 * fraction), halves, (double)m, theta, x, matrix);
                double before = 0, after = 0;
                for (int d = 0; d < 16; d++) {
                    assert_true(fabs((double)(fast[d] - matrix[d])) < 1e-6);
                    assert_true(fabs((double)(back[d] - x[d])) < 1e-6);
                    if (m == 0) assert_true(fast[d] == x[d]); /* R_0 = 1, exactly */
                    before += (double)x[d] * (double)x[d];
                    after += (double)fast[d] * (double)fast[d];
                }
                assert_true(fabs(after / before - 1) < 1e-6); /* the norm is kept */
            }
            layer1_close(&layer);
        }
}

/* ---- distance only ---- */

/* With the same q and the same k everywhere the scores can differ by position alone. */
static void check_distance_only(PositionConfig scheme) {
    enum { N = 80 };
    Layer1 layer;
    layer1_open(&layer, scheme, N, H, D);
    shake(&layer.parameters);
    for (int64_t t = 1; t < N; t++)
        memcpy(layer.qkv->data + t * 3 * C, layer.qkv->data, sizeof(real) * 3 * C);
    real weights[H * N * N];
    layer1_attention(&layer, true, weights);
    double largest = 0;
    for (int64_t h = 0; h < H; h++)
        for (int64_t i = 1; i < N; i++)
            for (int64_t j = 1; j < i; j++) {
                const real *row = weights + (h * N + i) * N, *above = row - N;
                double here = log((double)row[j] / (double)row[i]);
                double there = log((double)above[j - 1] / (double)above[i - 1]);
                if (!(fabs(here - there) < 1e-4))
                    fail_msg("scheme %d: score (%d, %d) is not that of the row above",
                             (int)scheme.type, (int)i, (int)j);
                largest = fmax(largest, fabs(here));
            }
    assert_true(largest > 0.01); /* and the distance does matter */
    layer1_close(&layer);
}

static void relative_schemes_see_the_distance_only(void **state) {
    (void)state;
    const PositionConfig schemes[] = {rope, t5, window, alibi, shaw, transformer_xl};
    for (int i = 0; i < 6; i++) check_distance_only(schemes[i]);
}

/* ---- whole models ---- */

enum { MODEL_T = 12, VOCABULARY = 11 };
static const int32_t ids[MODEL_T] = {1, 3, 5, 7, 9, 2, 4, 4, 8, 0, 10, 6};

static Model *model_with(PositionConfig scheme, int64_t layers) {
    Error error;
    ModelConfig config = config_with(scheme, MODEL_T, 2, 8);
    config.num_layers = layers;
    Model *model = model_create(&config, false, &error);
    if (!model || !position_prepare(model->position, MODEL_T, &error))
        fail_msg("%s", error.message);
    model_initialize(model, 5);
    shake(&model->parameters);
    return model;
}

/* logits (T, V) of ids; with caches those of the new positions. */
static void logits_of(const Model *model, const int32_t *tokens, int64_t length, bool bidirectional,
                      KeyValueCache *caches, real *logits) {
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    ModelInput input = {
        .B = 1, .T = length, .ids = tokens, .bidirectional = bidirectional, .caches = caches};
    const Tensor *out = model_logits(model, &tape, model_hidden(model, &tape, &input));
    memcpy(logits, out->data, sizeof(real) * (size_t)(length * VOCABULARY));
    tape_free(&tape);
}

static double largest_difference(const real *a, const real *b, int64_t count) {
    double largest = 0;
    for (int64_t n = 0; n < count; n++) largest = fmax(largest, fabs((double)(a[n] - b[n])));
    return largest;
}

static void without_positions_order_is_invisible(void **state) {
    (void)state;
    static const int32_t order[MODEL_T] = {7, 2, 11, 0, 5, 3, 10, 1, 9, 4, 8, 6};
    const PositionConfig schemes[] = {{.type = POSITION_NONE},
                                      {.type = POSITION_SINUSOIDAL},
                                      {.type = POSITION_SINUSOIDAL_LEARNED},
                                      {.type = POSITION_LEARNED},
                                      {.type = POSITION_INDEX},
                                      rope,
                                      t5,
                                      window,
                                      alibi,
                                      shaw,
                                      transformer_xl};
    for (int n = 0; n < 11; n++)
        for (int causal = 0; causal < 2; causal++) {
            Model *model = model_with(schemes[n], 2);
            int32_t permuted[MODEL_T];
            real plain[MODEL_T * VOCABULARY], there[MODEL_T * VOCABULARY];
            real back[MODEL_T * VOCABULARY];
            for (int i = 0; i < MODEL_T; i++) permuted[i] = ids[order[i]];
            logits_of(model, ids, MODEL_T, !causal, NULL, plain);
            logits_of(model, permuted, MODEL_T, !causal, NULL, there);
            for (int i = 0; i < MODEL_T; i++)
                memcpy(back + order[i] * VOCABULARY, there + i * VOCABULARY,
                       sizeof(real) * VOCABULARY);
            double difference = largest_difference(plain, back, MODEL_T * VOCABULARY);
            bool blind =
                schemes[n].type == POSITION_NONE && !causal; /* the mask alone shows order */
            if (blind ? !(difference < 1e-4) : !(difference > 1e-2))
                fail_msg("scheme %d, causal %d: logits differ by %g", (int)schemes[n].type, causal,
                         difference);
            model_free(model);
        }
}

static void layouts_are_the_same_after_permuting_rows(void **state) {
    (void)state;
    for (double fraction = 0.5; fraction <= 1; fraction += 0.5) {
        PositionConfig half = {.type = POSITION_ROPE, .layout = LAYOUT_HALF, .fraction = fraction};
        PositionConfig interleaved = {.type = POSITION_ROPE, .fraction = fraction};
        Model *from = model_with(interleaved, 2), *to = model_with(half, 2);
        int64_t rotated = position_rope_rotated(&interleaved, 8);
        for (int64_t i = 0; i < from->parameters.part_count; i++) {
            const Parameter *part = &from->parameters.parts[i];
            bool turned = strstr(part->name, "q_proj") || strstr(part->name, "k_proj");
            const real *values = from->parameters.values + part->offset;
            for (int64_t row = 0; turned && row < 16; row++)
                memcpy(to->parameters.values + part->offset + row * 16,
                       values + 16 * (row / 8 * 8 +
                                      position_rope_half_from_interleaved(row % 8, rotated)),
                       16 * sizeof(real));
        }
        real a[MODEL_T * VOCABULARY], b[MODEL_T * VOCABULARY];
        logits_of(from, ids, MODEL_T, false, NULL, a);
        logits_of(to, ids, MODEL_T, false, NULL, b);
        assert_true(largest_difference(a, b, MODEL_T * VOCABULARY) < 1e-4);
        model_free(from);
        model_free(to);
    }
}

static void check_cache(PositionConfig scheme, int64_t piece) {
    Model *model = model_with(scheme, 2);
    real whole[MODEL_T * VOCABULARY], pieces[MODEL_T * VOCABULARY];
    logits_of(model, ids, MODEL_T, false, NULL, whole);
    KeyValueCache *caches = model_create_caches(model, 1, MODEL_T);
    for (int64_t t = 0; t < MODEL_T; t += piece) {
        int64_t length = t + piece <= MODEL_T ? piece : MODEL_T - t;
        logits_of(model, ids + t, length, false, caches, pieces + t * VOCABULARY);
        model_advance_caches(model, caches, length);
    }
    double difference = largest_difference(whole, pieces, MODEL_T * VOCABULARY);
    if (!(difference < 1e-4))
        fail_msg("scheme %d in pieces of %d: logits differ by %g", (int)scheme.type, (int)piece,
                 difference);
    model_free_caches(caches);
    model_free(model);
}

static void cached_generation_is_the_full_computation(void **state) {
    (void)state;
    const RopeScaling yarn = {ROPE_SCALING_YARN, 4, 4, .beta_fast = 32, .beta_slow = 1};
    const PositionConfig schemes[] = {
        {.type = POSITION_NONE},
        {.type = POSITION_SINUSOIDAL},
        {.type = POSITION_SINUSOIDAL, .inject = INJECT_CONCAT},
        {.type = POSITION_SINUSOIDAL_LEARNED, .inject = INJECT_GATE},
        {.type = POSITION_LEARNED},
        {.type = POSITION_LEARNED, .stretch = 20, .inject = INJECT_CONCAT},
        {.type = POSITION_INDEX},
        rope,
        {.type = POSITION_ROPE, .rotate_values = true},
        {.type = POSITION_ROPE, .layout = LAYOUT_HALF, .fraction = 0.5},
        {.type = POSITION_ROPE, .scaling = yarn},
        {.type = POSITION_ROPE, .scaling = {ROPE_SCALING_DYNAMIC_NTK, 4, 4}},
        t5,
        window,
        alibi,
        shaw,
        transformer_xl,
    };
    for (size_t n = 0; n < sizeof schemes / sizeof *schemes; n++)
        for (int64_t piece = 1; piece <= 13; piece += piece == 1 ? 2 : 10)
            check_cache(schemes[n], piece);
}

/* dynamic_ntk: the frequencies are those of the length prepared last, also when it was shorter. */
static void dynamic_ntk_follows_the_length(void **state) {
    (void)state;
    Model *model = model_with(
        (PositionConfig){.type = POSITION_ROPE, .scaling = {ROPE_SCALING_DYNAMIC_NTK, 4, 4}}, 1);
    assert_false(position_changes_past(&model->config, 4));
    assert_true(position_changes_past(&model->config, 5));
    real longest[MODEL_T * VOCABULARY], shorter[MODEL_T * VOCABULARY];
    Error error;
    assert_true(position_prepare(model->position, MODEL_T, &error));
    logits_of(model, ids, MODEL_T, false, NULL, longest);
    /* After a shorter length the tables still reach as far as before, with that length's frequencies. */
    assert_true(position_prepare(model->position, 4, &error));
    const AttentionHooks *hooks = position_hooks(model->position, 0);
    double theta[4], magnitude;
    position_rope_frequencies(&model->config.position, 8, MODEL_T, 4, theta, &magnitude);
    for (int64_t m = 0; m < MODEL_T; m++) {
        real x[8], turned[8], matrix[8];
        fill(x, 8, (uint64_t)m);
        hooks->transform(hooks->context, m, 1, 8, x, 8, turned, 8, false);
        plain_rope(8, 8, false, (double)m, theta, x, matrix);
        assert_true(largest_difference(turned, matrix, 8) < 1e-6);
    }
    /* and the length does change what the last position sees */
    logits_of(model, ids, MODEL_T, false, NULL, shorter);
    const int64_t end = (MODEL_T - 1) * VOCABULARY;
    assert_true(largest_difference(shorter + end, longest + end, VOCABULARY) > 1e-3);
    model_free(model);
}

static void tables_that_end_refuse_longer_sequences(void **state) {
    (void)state;
    Error error;
    Model *model = model_with((PositionConfig){.type = POSITION_LEARNED}, 1);
    assert_false(position_prepare(model->position, MODEL_T + 1, &error));
    assert_non_null(strstr(error.message, "13 tokens"));
    assert_non_null(strstr(error.message, "model.position.stretch=13"));
    model_free(model);
    model = model_with((PositionConfig){.type = POSITION_LEARNED, .stretch = 20}, 1);
    assert_true(position_prepare(model->position, 20, &error));
    assert_false(position_prepare(model->position, 21, &error));
    model_free(model);
    model = model_with((PositionConfig){.type = POSITION_WINDOW, .max_distance = 12}, 1);
    assert_true(position_prepare(model->position, 12, &error));
    assert_false(position_prepare(model->position, 13, &error));
    assert_non_null(strstr(error.message, "max_distance 13"));
    model_free(model);
    ModelConfig config =
        config_with((PositionConfig){.type = POSITION_LEARNED, .stretch = 5}, MODEL_T, 2, 8);
    assert_null(model_create(&config, false, &error));
    assert_non_null(strstr(error.message, "model.position.stretch"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_forms_agree_with_the_definitions),
        cmocka_unit_test(rope_agrees_with_the_whole_matrix),
        cmocka_unit_test(relative_schemes_see_the_distance_only),
        cmocka_unit_test(without_positions_order_is_invisible),
        cmocka_unit_test(layouts_are_the_same_after_permuting_rows),
        cmocka_unit_test(cached_generation_is_the_full_computation),
        cmocka_unit_test(dynamic_ntk_follows_the_length),
        cmocka_unit_test(tables_that_end_refuse_longer_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
