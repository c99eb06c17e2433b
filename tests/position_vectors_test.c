/* Every scheme as the model runs it (embedding, attention, gradients) against vectors of a float64
 * reference that was written apart from this code. As double within 1e-6 (tests/position_double_test.sh
 * builds this file so), as float within 1e-4. */
#include "position_helpers.h"
#include "position_vectors.h"

#ifdef REAL_IS_double
static const double TOLERANCE = 1e-6;
#else
static const double TOLERANCE = 1e-4;
#endif

static void generate(const char *name, real *to, int64_t count) {
    for (int64_t n = 0; n < count; n++) to[n] = (real)vector_input(name, n);
}

static void assert_values(const char *what, const cJSON *expected, const real *actual,
                          int64_t count) {
    const cJSON *data = item(expected, "data");
    assert_int_equal(cJSON_GetArraySize(data), count);
    int64_t n = 0;
    for (const cJSON *value = data->child; value; value = value->next, n++)
        if (!(fabs((double)actual[n] - value->valuedouble) <=
              TOLERANCE * fmax(1, fabs(value->valuedouble))))
            fail_msg("%s[%d]: %.10g is not %.10g", what, (int)n, (double)actual[n],
                     value->valuedouble);
}

/* ---- inside attention ---- */

enum { T = 6, H = 2, D = 8, C = H * D };

/* qkv rows [q | k | v] of (T, H, D) arrays, and back for gradients. */
static void interleave(real *qkv, real *part, int which, bool back) {
    for (int64_t t = 0; t < T; t++)
        for (int64_t c = 0; c < C; c++) {
            real *to = qkv + t * 3 * C + which * C + c, *from = part + t * C + c;
            *(back ? from : to) = *(back ? to : from);
        }
}

/* The names of trained tensors here and there. */
static const struct {
    const char *ours, *theirs;
} tables[] = {
    {"layers.0.attn.relative_bias.weight", "tab"},    {"layers.0.attn.relative_keys.weight", "tab"},
    {"layers.0.attn.relative_values.weight", "tab2"}, {"layers.0.attn.content_bias.weight", "u"},
    {"layers.0.attn.position_bias.weight", "vb"},     {"layers.0.attn.position_proj.weight", "wr"},
};

static void load_tables(Parameters *parameters) {
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const Parameter *part = parameters_find(parameters, tables[i].ours);
        if (part)
            generate(tables[i].theirs, parameters->values + part->offset, parameter_size(part));
    }
}

static void check_attention(const char *name, PositionConfig position) {
    Layer1 layer;
    layer1_open(&layer, position, T, H, D);
    load_tables(&layer.parameters);
    static const char *const parts[3] = {"q", "k", "v"};
    real part[T * C], w[T * C];
    for (int i = 0; i < 3; i++) {
        generate(parts[i], part, T * C);
        interleave(layer.qkv->data, part, i, false);
    }
    real weights[H * T * T];
    Tensor *out = layer1_attention(&layer, true, weights);

    /* the reference has scores: turn them into weights */
    const cJSON *expected = item(item(vectors, "attention"), name);
    const cJSON *scores = item(item(expected, "scores"), "data")->child;
    for (int64_t row = 0; row < H * T; row++) {
        double sum = 0, e[T];
        for (int64_t j = 0; j < T; j++, scores = scores->next)
            sum += e[j] = j <= row % T ? exp(scores->valuedouble) : 0;
        for (int64_t j = 0; j < T; j++)
            if (!(fabs((double)weights[row * T + j] - e[j] / sum) <= TOLERANCE))
                fail_msg("%s: weight %d, %d is %g, not %g", name, (int)row, (int)j,
                         (double)weights[row * T + j], e[j] / sum);
    }
    assert_values(name, item(expected, "out"), out->data, T * C);

    generate("w", w, T * C);
    tape_seed_gradient(&layer.tape, out, w);
    tape_backward(&layer.tape);
    const cJSON *gradients = item(expected, "grad");
    for (int i = 0; i < 3; i++) {
        interleave(layer.tape.gradients + layer.qkv->offset, part, i, true);
        assert_values(parts[i], item(gradients, parts[i]), part, T * C);
    }
    int compared = 3;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const Parameter *p = parameters_find(&layer.parameters, tables[i].ours);
        if (!p) continue;
        assert_values(tables[i].ours, item(gradients, tables[i].theirs),
                      layer.tape.gradients + p->offset, parameter_size(p));
        compared++;
    }
    assert_int_equal(compared, cJSON_GetArraySize(gradients));
    layer1_close(&layer);
}

CASES_TEST(schemes_in_attention) {
    load_vectors();
    const RopeScaling yarn = {ROPE_SCALING_YARN, 4, 64, .beta_fast = 32, .beta_slow = 1};
    check_attention("none", (PositionConfig){.type = POSITION_NONE});
    check_attention("rope_interleaved", (PositionConfig){.type = POSITION_ROPE});
    check_attention("rope_half", (PositionConfig){.type = POSITION_ROPE, .layout = LAYOUT_HALF});
    check_attention("rope_partial_interleaved",
                    (PositionConfig){.type = POSITION_ROPE, .fraction = 0.5});
    check_attention(
        "rope_partial_half",
        (PositionConfig){.type = POSITION_ROPE, .layout = LAYOUT_HALF, .fraction = 0.5});
    check_attention(
        "rope_yarn",
        (PositionConfig){.type = POSITION_ROPE, .layout = LAYOUT_HALF, .scaling = yarn});
    check_attention("alibi", (PositionConfig){.type = POSITION_ALIBI});
    check_attention("t5_bias",
                    (PositionConfig){.type = POSITION_T5, .buckets = 8, .max_distance = 16});
    check_attention("swin_bias", (PositionConfig){.type = POSITION_WINDOW, .max_distance = 8});
    check_attention("shaw_k", (PositionConfig){.type = POSITION_SHAW, .max_distance = 3});
    check_attention("shaw_kv",
                    (PositionConfig){.type = POSITION_SHAW, .max_distance = 3, .values = true});
    check_attention("txl", (PositionConfig){.type = POSITION_TRANSFORMER_XL});
}

CASES_TEST(without_positions_and_mask) {
    load_vectors();
    Layer1 layer;
    layer1_open(&layer, (PositionConfig){.type = POSITION_NONE}, T, H, D);
    real part[T * C];
    static const char *const parts[3] = {"q", "k", "v"};
    for (int i = 0; i < 3; i++) {
        generate(parts[i], part, T * C);
        interleave(layer.qkv->data, part, i, false);
    }
    assert_values("out", item(item(vectors, "attention"), "none_nomask_out"),
                  layer1_attention(&layer, false, NULL)->data, T * C);
    layer1_close(&layer);
}

/* Transformer-XL's memory is our cache: three keys from before, three new positions. */
CASES_TEST(transformer_xl_with_memory) {
    load_vectors();
    enum { PAST = 3, NEW = 3 };
    Layer1 layer;
    layer1_open(&layer, (PositionConfig){.type = POSITION_TRANSFORMER_XL}, T, H, D);
    load_tables(&layer.parameters);
    layer.tape.mode = TAPE_EVALUATE;
    real q[NEW * C], k[T * C], v[T * C], rows[NEW * 3 * C];
    generate("q", q, NEW * C);
    generate("k", k, T * C);
    generate("v", v, T * C);
    KeyValueCache cache = {.k = allocate_zeroed(T * C, sizeof(real)),
                           .v = allocate_zeroed(T * C, sizeof(real)),
                           .capacity = T};
    Tensor *out = NULL;
    for (int64_t first = 0; first < T; first += PAST) {
        for (int64_t t = 0; t < NEW; t++) {
            memcpy(rows + t * 3 * C, q + t * C, sizeof(real) * C);
            memcpy(rows + t * 3 * C + C, k + (first + t) * C, sizeof(real) * C);
            memcpy(rows + t * 3 * C + 2 * C, v + (first + t) * C, sizeof(real) * C);
        }
        AttentionOptions options = {.num_heads = H,
                                    .num_kv_heads = H,
                                    .causal = true,
                                    .hooks = position_hooks(layer.position, 0),
                                    .cache = &cache};
        position_layer_tables(layer.position, &layer.tape, 0, first + NEW, false, options.tables);
        Tensor *qkv = tape_constant(&layer.tape, "qkv", rows, 3, (int64_t[]){1, NEW, 3 * C});
        out = attention(&layer.tape, qkv, &options);
        cache.length += NEW;
    }
    assert_values("out", item(item(vectors, "txl_memory"), "out"), out->data, NEW * C);
    free(cache.k);
    free(cache.v);
    layer1_close(&layer);
}

/* ---- rope, far out ---- */

CASES_TEST(rope_at_far_positions) {
    load_vectors();
    const cJSON *group = item(vectors, "rope"), *positions = item(group, "positions");
    static const struct {
        const char *name, *input;
        PositionLayout layout;
        double fraction;
        bool inverse;
    } cases[] = {
        {"rotated_interleaved", "x", LAYOUT_INTERLEAVED, 1, false},
        {"rotated_half", "x", LAYOUT_HALF, 1, false},
        {"rotated_partial_0.5_interleaved", "x", LAYOUT_INTERLEAVED, 0.5, false},
        {"rotated_partial_0.5_half", "x", LAYOUT_HALF, 0.5, false},
        {"rotated_partial_0.25_interleaved", "x", LAYOUT_INTERLEAVED, 0.25, false},
        {"rotated_partial_0.25_half", "x", LAYOUT_HALF, 0.25, false},
        {"backward_interleaved", "w", LAYOUT_INTERLEAVED, 1, true},
        {"backward_half", "w", LAYOUT_HALF, 1, true},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        Layer1 layer;
        layer1_open(&layer,
                    (PositionConfig){.type = POSITION_ROPE,
                                     .layout = cases[n].layout,
                                     .fraction = cases[n].fraction},
                    100001, 1, 8);
        real x[8 * 8], y[8 * 8];
        generate(cases[n].input, x, 64);
        const AttentionHooks *hooks = position_hooks(layer.position, 0);
        int64_t row = 0;
        for (const cJSON *m = positions->child; m; m = m->next, row++)
            hooks->transform(hooks->context, (int64_t)m->valuedouble, 1, 8, x + row * 8, 8,
                             y + row * 8, 8, cases[n].inverse);
        assert_values(cases[n].name, item(group, cases[n].name), y, 64);
        layer1_close(&layer);
    }
}

CASES_TEST(rope_scores_of_far_pairs) {
    load_vectors();
    Layer1 layer;
    layer1_open(&layer, (PositionConfig){.type = POSITION_ROPE, .layout = LAYOUT_HALF}, 100032, 1,
                8);
    const AttentionHooks *hooks = position_hooks(layer.position, 0);
    real q[8], k[8], turned_q[8], turned_k[8];
    generate("q", q, 8);
    generate("k", k, 8);
    const cJSON *rows = item(item(item(vectors, "rope"), "dot_q_at_m_k_at_n"), "rows");
    for (const cJSON *row = rows->child; row; row = row->next) {
        const cJSON *m = row->child, *n = m->next, *expected = n->next;
        hooks->transform(hooks->context, (int64_t)m->valuedouble, 1, 8, q, 8, turned_q, 8, false);
        hooks->transform(hooks->context, (int64_t)n->valuedouble, 1, 8, k, 8, turned_k, 8, false);
        double product = 0;
        for (int i = 0; i < 8; i++) product += (double)turned_q[i] * (double)turned_k[i];
        if (!(fabs(product - expected->valuedouble) <= TOLERANCE))
            fail_msg("q at %g, k at %g: %g is not %g", m->valuedouble, n->valuedouble, product,
                     expected->valuedouble);
    }
    layer1_close(&layer);
}

/* ---- in the embedding ---- */

/* Embeds x (B, T, C) at first_position in a model of width 8. */
static Tensor *embed(Layer1 *layer, real *x, int64_t rows, int64_t first_position) {
    Tensor *input = tape_constant(&layer->tape, "x", x, 3, (int64_t[]){1, rows, 8});
    Error error;
    assert_true(position_prepare(layer->position, first_position + input->shape[1], &error));
    return position_embed(layer->position, &layer->tape, input, first_position);
}

CASES_TEST(sinusoidal_in_the_embedding) {
    load_vectors();
    const cJSON *group = item(vectors, "sinusoidal"), *positions = item(group, "positions");
    for (int layout = LAYOUT_INTERLEAVED; layout <= LAYOUT_HALF; layout++) {
        Layer1 layer;
        layer1_open(&layer, (PositionConfig){.type = POSITION_SINUSOIDAL, .layout = layout}, 100001,
                    1, 8);
        real zero[8] = {0}, rows[8 * 8];
        int64_t row = 0;
        for (const cJSON *m = positions->child; m; m = m->next, row++)
            memcpy(rows + row * 8, embed(&layer, zero, 1, (int64_t)m->valuedouble)->data,
                   sizeof zero);
        const char *name = layout == LAYOUT_INTERLEAVED ? "interleaved" : "concat_paper";
        assert_values(name, item(group, name), rows, 64);
        layer1_close(&layer);
    }
}

CASES_TEST(gradient_of_frequencies) {
    load_vectors();
    Layer1 layer;
    layer1_open(&layer, (PositionConfig){.type = POSITION_SINUSOIDAL_LEARNED}, 32, 1, 8);
    real zero[8] = {0}, w[48];
    generate("w", w, 48);
    int64_t row = 0;
    const cJSON *positions = item(item(vectors, "sinusoidal_learned_freq"), "positions");
    for (const cJSON *m = positions->child; m; m = m->next, row++)
        tape_seed_gradient(&layer.tape, embed(&layer, zero, 1, (int64_t)m->valuedouble),
                           w + row * 8);
    tape_backward(&layer.tape);
    assert_values("grad_theta", item(item(vectors, "sinusoidal_learned_freq"), "grad_theta"),
                  layer.tape.gradients +
                      parameters_find(&layer.parameters, "position_frequencies.weight")->offset,
                  4);
    layer1_close(&layer);
}

CASES_TEST(learned_table) {
    load_vectors();
    const cJSON *group = item(vectors, "learned");
    Layer1 layer;
    layer1_open(&layer, (PositionConfig){.type = POSITION_LEARNED}, 8, 1, 8);
    generate("tab", values_of(&layer.parameters, "position_embeddings.weight"), 64);
    real x[64], w[64], y[64];
    generate("x", x, 64);
    generate("w", w, 64);
    /* the reference's positions: 0 1 2 3 and 5 6 7 7 */
    static const struct { int64_t row, rows, position; } runs[] = {{0, 4, 0}, {4, 3, 5}, {7, 1, 7}};
    for (int i = 0; i < 3; i++) {
        Tensor *part = embed(&layer, x + runs[i].row * 8, runs[i].rows, runs[i].position);
        memcpy(y + runs[i].row * 8, part->data, sizeof(real) * 8 * (size_t)runs[i].rows);
        tape_seed_gradient(&layer.tape, part, w + runs[i].row * 8);
    }
    tape_backward(&layer.tape);
    assert_values("x_plus_e", item(group, "x_plus_e"), y, 64);
    assert_values("grad_table_for_w", item(group, "grad_table_for_w"),
                  layer.tape.gradients +
                      parameters_find(&layer.parameters, "position_embeddings.weight")->offset,
                  64);
    layer1_close(&layer);

    layer1_open(&layer, (PositionConfig){.type = POSITION_LEARNED, .stretch = 15}, 8, 1, 8);
    generate("tab", values_of(&layer.parameters, "position_embeddings.weight"), 64);
    real zero[15 * 8] = {0};
    assert_values("stretched_to_15", item(group, "stretched_to_15"),
                  embed(&layer, zero, 15, 0)->data, 15 * 8);
    layer1_close(&layer);
}

int main(void) {
    return run_all_tests(NULL, free_vectors);
}
