/* The arithmetic of positions against numbers printed in papers and posts, against properties that
 * must hold, and against a reference that was written apart from this code. */
#include "position_vectors.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "model/position_tables.h"

#define LENGTH(array) ((int64_t)(sizeof(array) / sizeof *(array)))

static void assert_near(double actual, double expected, double tolerance) {
    if (!(fabs(actual - expected) <= tolerance * fmax(1, fabs(expected))))
        fail_msg("%.12g is not %.12g", actual, expected);
}

static PositionConfig rope_config(double base) {
    return (PositionConfig){.type = POSITION_ROPE,
                            .base = base,
                            .fraction = 1,
                            .scaling = {.factor = 1,
                                        .beta_fast = 32,
                                        .beta_slow = 1,
                                        .low_freq_factor = 1,
                                        .high_freq_factor = 4}};
}

static PositionConfig scaled_config(double base, RopeScalingType type, double factor,
                                    int64_t original) {
    PositionConfig config = rope_config(base);
    config.scaling.type = type;
    config.scaling.factor = factor;
    config.scaling.original_context = original;
    return config;
}

/* ---- sinusoidal ---- */

TEST(sinusoidal_products_depend_on_the_distance_only) {
    for (int layout = LAYOUT_INTERLEAVED; layout <= LAYOUT_HALF; layout++) {
        double frequencies[32], first[64], second[64];
        position_sinusoidal_frequencies(64, 10000, layout, frequencies);
        for (int64_t distance = 0; distance < 40; distance += 3)
            for (int64_t m = 0; m < 100000; m = 3 * m + 1) {
                position_sinusoidal_row((double)m, 64, layout, frequencies, first);
                position_sinusoidal_row((double)(m + distance), 64, layout, frequencies, second);
                double product = 0;
                for (int i = 0; i < 64; i++) product += first[i] * second[i];
                assert_near(product, position_sinusoidal_product((double)distance, 64, 10000),
                            1e-9);
            }
    }
}

TEST(sinusoidal_row_steps_by_a_fixed_rotation) {
    double frequencies[8], here[16], there[16];
    position_sinusoidal_frequencies(16, 10000, LAYOUT_INTERLEAVED, frequencies);
    for (int64_t m = 0; m < 50; m++) {
        position_sinusoidal_row((double)m, 16, LAYOUT_INTERLEAVED, frequencies, here);
        position_sinusoidal_row((double)(m + 9), 16, LAYOUT_INTERLEAVED, frequencies, there);
        for (int i = 0; i < 8; i++) {
            double c = cos(9 * frequencies[i]), s = sin(9 * frequencies[i]);
            assert_near(there[2 * i], c * here[2 * i] + s * here[2 * i + 1], 1e-12);
            assert_near(there[2 * i + 1], c * here[2 * i + 1] - s * here[2 * i], 1e-12);
        }
    }
}

TEST(sinusoidal_of_odd_width) {
    double frequencies[4], row[8];
    row[7] = 77; /* must stay */
    assert_int_equal(position_sinusoidal_count(7, LAYOUT_INTERLEAVED), 4);
    assert_int_equal(position_sinusoidal_count(7, LAYOUT_HALF), 3);
    position_sinusoidal_frequencies(7, 100, LAYOUT_INTERLEAVED, frequencies);
    position_sinusoidal_row(3, 7, LAYOUT_INTERLEAVED, frequencies, row);
    assert_near(row[0], sin(3), 1e-15);
    assert_near(row[5], cos(3 * pow(100, -4.0 / 7)), 1e-15);
    assert_near(row[6], sin(3 * pow(100, -6.0 / 7)), 1e-15);
    position_sinusoidal_row(3, 7, LAYOUT_HALF, frequencies, row);
    assert_near(row[2], sin(3 * pow(100, -4.0 / 7)), 1e-15);
    assert_near(row[3], cos(3), 1e-15);
    assert_true(row[6] == 0);
    assert_true(row[7] == 77);
}

/* ---- learned ---- */

TEST(stretch_keeps_both_ends_and_old_rows) {
    PositionBlend last = position_stretch(14, 8, 15), middle = position_stretch(5, 8, 15);
    assert_int_equal(last.low, 7);
    assert_true(last.fraction == 0);
    assert_int_equal(middle.low, 2);
    assert_true(middle.fraction == 0.5);
    for (int64_t row = 0; row < 8; row++) {
        PositionBlend same = position_stretch(row, 8, 8);
        assert_int_equal(same.low, row);
        assert_true(same.fraction == 0);
    }
    assert_int_equal(position_stretch(0, 8, 1).low, 0);
    assert_int_equal(position_stretch(3, 1, 9).low, 0);
    assert_true(position_stretch(3, 1, 9).fraction == 0);
}

/* ---- rope ---- */

static void check_rope(PositionConfig config, int64_t d, int64_t context, int64_t length,
                       const double *expected, int64_t count, double magnitude) {
    double *frequencies = allocate(d, sizeof(double)), actual_magnitude;
    position_rope_frequencies(&config, d, context, length, frequencies, &actual_magnitude);
    for (int64_t i = 0; i < count; i++) assert_near(frequencies[i] / expected[i], 1, 2e-8);
    assert_near(actual_magnitude, magnitude, 1e-8);
    free(frequencies);
}

TEST(rope_frequencies_with_every_scaling) {
    static const double plain[] = {1, 0.1, 0.01, 0.001}, linear[] = {0.25, 0.025, 0.0025, 0.00025};
    static const double ntk[] = {1, 0.0629960525, 0.00396850263, 0.00025};
    static const double yarn[] = {1, 0.706631082, 0.497455788, 0.34871057, 0.243252128};
    check_rope(rope_config(1e4), 8, 64, 64, plain, 4, 1);
    check_rope(scaled_config(1e4, ROPE_SCALING_LINEAR, 4, 64), 8, 64, 64, linear, 4, 1);
    check_rope(scaled_config(1e4, ROPE_SCALING_NTK, 4, 64), 8, 64, 64, ntk, 4, 1);
    check_rope(scaled_config(1e4, ROPE_SCALING_YARN, 4, 256), 64, 1024, 1024, yarn, 5, 1.138629436);
    /* a factor of 1 or less: no scaling of cosine and sine */
    check_rope(scaled_config(1e4, ROPE_SCALING_YARN, 1, 64), 8, 64, 64, plain, 4, 1);
    check_rope(scaled_config(1e4, ROPE_SCALING_LLAMA3, 1, 64), 8, 64, 64, plain, 4, 1);
    /* llama3: the fastest pairs are kept, the slowest divided by the factor */
    double frequencies[64], magnitude;
    PositionConfig llama = scaled_config(5e5, ROPE_SCALING_LLAMA3, 8, 8192);
    position_rope_frequencies(&llama, 128, 131072, 131072, frequencies, &magnitude);
    assert_near(frequencies[1], 0.814617234, 1e-8);
    assert_near(frequencies[63] * 8, pow(5e5, -126.0 / 128), 1e-12);
}

static double base_of_length(int64_t length) {
    PositionConfig config = scaled_config(1e4, ROPE_SCALING_DYNAMIC_NTK, 4, 0);
    double frequencies[32], magnitude;
    position_rope_frequencies(&config, 64, 256, length, frequencies, &magnitude);
    return pow(frequencies[1], -32);
}

TEST(dynamic_ntk_grows_with_the_length) {
    assert_near(base_of_length(1), 1e4, 1e-12);
    assert_near(base_of_length(256), 1e4, 1e-12);
    assert_near(base_of_length(512) / 52664.4343, 1, 1e-8);
    assert_near(base_of_length(1024) / 141213.757, 1, 1e-8);
}

TEST(partial_rope_uses_its_own_width) {
    static const double expected[] = {1, 0.01};
    PositionConfig config = rope_config(1e4);
    config.fraction = 0.25;
    assert_int_equal(position_rope_rotated(&config, 16), 4);
    check_rope(config, 16, 64, 64, expected, 2, 1);
    config.fraction = 0.4;
    assert_int_equal(position_rope_rotated(&config, 80), 32); /* GPT-NeoX style */
}

TEST(rope_pairs_and_their_permutation) {
    static const int64_t permutation[] = {0, 2, 4, 6, 1, 3, 5, 7},
                         part[] = {0, 2, 1, 3, 4, 5, 6, 7};
    for (int64_t row = 0; row < 8; row++) {
        assert_int_equal(position_rope_half_from_interleaved(row, 8), permutation[row]);
        assert_int_equal(position_rope_half_from_interleaved(row, 4), part[row]);
    }
    for (int64_t i = 0; i < 4; i++) {
        int64_t first, second, half_first, half_second;
        position_rope_pair(LAYOUT_INTERLEAVED, 8, i, &first, &second);
        position_rope_pair(LAYOUT_HALF, 8, i, &half_first, &half_second);
        assert_int_equal(permutation[half_first], first);
        assert_int_equal(permutation[half_second], second);
    }
}

TEST(impossible_rope_is_refused) {
    Error error;
    PositionConfig config = rope_config(1e4);
    assert_true(position_rope_check(&config, 32, &error));
    assert_false(position_rope_check(&config, 33, &error));
    config.fraction = 0.01;
    assert_false(position_rope_check(&config, 32, &error));
    assert_non_null(strstr(error.message, "model.position.fraction"));
    config = rope_config(0);
    assert_false(position_rope_check(&config, 32, &error));
    config = scaled_config(1e4, ROPE_SCALING_NTK, 2, 64);
    assert_false(position_rope_check(&config, 2, &error));
    assert_true(position_rope_check(&config, 4, &error));
    config = scaled_config(1e4, ROPE_SCALING_LINEAR, NAN, 64);
    assert_false(position_rope_check(&config, 4, &error));
    config = scaled_config(1, ROPE_SCALING_YARN, 2, 64);
    assert_false(position_rope_check(&config, 4, &error));
    config = scaled_config(1e4, ROPE_SCALING_YARN, 2, 64);
    config.scaling.beta_slow = 32;
    assert_false(position_rope_check(&config, 4, &error));
    config = scaled_config(1e4, ROPE_SCALING_LLAMA3, 2, 64);
    config.scaling.high_freq_factor = 1;
    assert_false(position_rope_check(&config, 4, &error));
}

TEST(yarn_without_room_for_a_ramp) {
    /* within 4 positions no pair turns even once: every pair is interpolated but the first */
    PositionConfig config = scaled_config(1e4, ROPE_SCALING_YARN, 2, 4);
    double frequencies[4], magnitude;
    position_rope_frequencies(&config, 8, 8, 8, frequencies, &magnitude);
    assert_near(frequencies[0], 1, 1e-12);
    assert_near(frequencies[1], 0.05, 1e-12);
    assert_near(frequencies[3], 0.0005, 1e-12);
}

/* ---- biases ---- */

TEST(alibi_slopes_of_any_number_of_heads) {
    double slopes[40];
    position_alibi_slopes(8, slopes);
    for (int h = 0; h < 8; h++) assert_true(slopes[h] == exp2(-(h + 1)));
    position_alibi_slopes(12, slopes);
    for (int h = 0; h < 8; h++) assert_true(slopes[h] == exp2(-(h + 1)));
    for (int h = 0; h < 4; h++) assert_true(slopes[8 + h] == exp2(-0.5 - h));
    position_alibi_slopes(1, slopes);
    assert_true(slopes[0] == exp2(-8));
    position_alibi_slopes(3, slopes);
    assert_true(slopes[0] == exp2(-4) && slopes[1] == exp2(-8) && slopes[2] == exp2(-2));
}

TEST(t5_buckets_begin_where_the_paper_puts_them) {
    static const int64_t begins[] = {16, 19, 21, 24, 27, 31, 35, 40,
                                     46, 52, 59, 67, 77, 87, 99, 113};
    for (int64_t distance = 0; distance < 16; distance++)
        assert_int_equal(position_t5_bucket(distance, 32, 128), distance);
    for (int64_t b = 0; b < 16; b++) {
        assert_int_equal(position_t5_bucket(begins[b], 32, 128), 16 + b);
        assert_int_equal(position_t5_bucket(begins[b] - 1, 32, 128), 15 + b);
    }
    assert_int_equal(position_t5_bucket(-3, 32, 128), 0);
    assert_int_equal(position_t5_bucket(INT64_MAX, 32, 128), 31);
    /* borders that are whole numbers: 8·2^t, where logarithms in floating point waver */
    for (int t = 0; t < 20; t++) {
        int64_t border = INT64_C(8) << t;
        assert_int_equal(position_t5_bucket(border, 16, 2048), t < 8 ? 8 + t : 15);
        assert_int_equal(position_t5_bucket(border - 1, 16, 2048), t < 8 ? 7 + t : 15);
    }
    assert_int_equal(position_t5_bucket(5, 1, 128), 0);
    assert_int_equal(position_t5_bucket(15, 32, 4), 15);
    assert_int_equal(position_t5_bucket(16, 32, 4), 31);
}

TEST(window_and_shaw_rows) {
    assert_int_equal(position_window_row(7, 0, 8), 14);
    assert_int_equal(position_window_row(0, 7, 8), 0);
    assert_int_equal(position_window_row(3, 3, 8), 7);
    assert_int_equal(position_window_row(8, 0, 8), -1);
    assert_int_equal(position_window_row(0, 8, 8), -1);
    assert_int_equal(position_shaw_row(9, 0, 3), 0);
    assert_int_equal(position_shaw_row(5, 3, 3), 1);
    assert_int_equal(position_shaw_row(4, 4, 3), 3);
    assert_int_equal(position_shaw_row(0, 9, 3), 6);
}

/* ---- curves ---- */

TEST(similarity_falls_but_not_steadily) {
    assert_near(position_sinusoidal_product(0, 64, 1e4), 32, 1e-15);
    assert_near(position_sinusoidal_product(5, 64, 1e4), 23.5039708, 1e-8);
    assert_true(position_sinusoidal_product(6, 64, 1e4) > position_sinusoidal_product(5, 64, 1e4));
    assert_near(position_sinusoidal_product(100, 768, 1e4), 167.7654, 1e-8);
    assert_near(position_sinusoidal_integral(0, 768, 1e4), 384, 1e-9);
    assert_near(position_sinusoidal_integral(100, 768, 1e4), 167.720945, 1e-8);
    double frequencies[64];
    position_sinusoidal_frequencies(128, 1e4, LAYOUT_HALF, frequencies);
    assert_near(position_rope_decay_bound(0, 64, frequencies), 32.5, 1e-12);
    assert_near(position_rope_decay_bound(100, 64, frequencies), 10.2273299, 1e-8);
}

/* ---- the reference vectors ---- */

static double number(const cJSON *parent, const char *name) {
    return item(parent, name)->valuedouble;
}

static void assert_values(const cJSON *array, const double *actual, int64_t count) {
    const cJSON *data = cJSON_IsArray(array) ? array : item(array, "data");
    assert_int_equal(cJSON_GetArraySize(data), count);
    int64_t i = 0;
    for (const cJSON *value = data->child; value; value = value->next, i++)
        if (!(fabs(actual[i] - value->valuedouble) <= 6e-9 * fabs(value->valuedouble) + 1e-12))
            fail_msg("element %d: %.12g is not %.12g", (int)i, actual[i], value->valuedouble);
}

CASES_TEST(reference_sinusoidal) {
    load_vectors();
    const cJSON *group = item(vectors, "sinusoidal"), *positions = item(group, "positions");
    static const struct {
        const char *name;
        PositionLayout layout;
        int64_t d;
    } cases[] = {{"interleaved", LAYOUT_INTERLEAVED, 8},
                 {"concat_paper", LAYOUT_HALF, 8},
                 {"interleaved_odd7", LAYOUT_INTERLEAVED, 7}};
    for (int64_t n = 0; n < LENGTH(cases); n++) {
        int64_t d = cases[n].d, row = 0;
        double table[64], frequencies[4];
        position_sinusoidal_frequencies(d, 1e4, cases[n].layout, frequencies);
        for (const cJSON *m = positions->child; m; m = m->next, row++)
            position_sinusoidal_row(m->valuedouble, d, cases[n].layout, frequencies,
                                    table + row * d);
        assert_values(item(group, cases[n].name), table, row * d);
    }
}

CASES_TEST(reference_stretch) {
    load_vectors();
    double stretched[15 * 8];
    for (int64_t row = 0; row < 15; row++) {
        PositionBlend blend = position_stretch(row, 8, 15);
        for (int64_t c = 0; c < 8; c++) {
            double low = vector_input("tab", blend.low * 8 + c);
            double high = vector_input("tab", blend.low * 8 + 8 + c);
            stretched[row * 8 + c] = (1 - blend.fraction) * low + blend.fraction * high;
        }
    }
    assert_values(item(item(vectors, "learned"), "stretched_to_15"), stretched, 15 * 8);
}

static void assert_rope_values(const cJSON *expected, PositionConfig config, int64_t d,
                               int64_t length, double magnitude) {
    double frequencies[64], actual_magnitude;
    position_rope_frequencies(&config, d, 64, length, frequencies, &actual_magnitude);
    assert_values(expected, frequencies, d / 2);
    assert_near(actual_magnitude, magnitude, 6e-9);
}

CASES_TEST(reference_rope_scaling) {
    load_vectors();
    const cJSON *group = item(vectors, "rope_scaling");
    assert_rope_values(item(group, "dim64_default"), rope_config(1e4), 64, 64, 1);
    assert_rope_values(item(group, "linear_dim8_f4"),
                       scaled_config(1e4, ROPE_SCALING_LINEAR, 4, 64), 8, 64, 1);
    for (const cJSON *c = item(group, "ntk_static")->child; c; c = c->next)
        assert_rope_values(item(c, "inv_freq"),
                           scaled_config(1e4, ROPE_SCALING_NTK, number(c, "factor"), 64),
                           (int64_t)number(c, "dim"), 64, 1);
    assert_rope_values(item(group, "ntk_dynamic_inv_f4_L1024_dim64"),
                       scaled_config(1e4, ROPE_SCALING_DYNAMIC_NTK, 4, 256), 64, 1024, 1);
    assert_rope_values(item(group, "ntk_dynamic_inv_f2_L64_T16_dim8"),
                       scaled_config(1e4, ROPE_SCALING_DYNAMIC_NTK, 2, 16), 8, 64, 1);
    for (const cJSON *c = item(group, "ntk_dynamic")->child; c; c = c->next) {
        PositionConfig config =
            scaled_config(1e4, ROPE_SCALING_DYNAMIC_NTK, number(c, "factor"), 256);
        double frequencies[32], magnitude;
        position_rope_frequencies(&config, 64, 256, (int64_t)number(c, "seq_len"), frequencies,
                                  &magnitude);
        assert_near(pow(frequencies[1], -32) / number(c, "new_base"), 1, 1e-8);
    }
    int64_t yarns = 0;
    for (const cJSON *c = group->child; c; c = c->next) {
        if (!cJSON_IsObject(c) || !cJSON_IsTrue(cJSON_GetObjectItem(c, "truncate"))) continue;
        PositionConfig config = scaled_config(number(c, "base"), ROPE_SCALING_YARN,
                                              number(c, "factor"), (int64_t)number(c, "trained"));
        assert_rope_values(item(c, "inv_freq"), config, (int64_t)number(c, "dim"), 64,
                           number(c, "attention_factor"));
        yarns++;
    }
    assert_true(yarns >= 5);
    assert_rope_values(item(group, "llama3_dim128_b5e5_f8_1_4_8192"),
                       scaled_config(5e5, ROPE_SCALING_LLAMA3, 8, 8192), 128, 64, 1);
    assert_rope_values(item(group, "llama3_dim64_b1e4_f4_1_4_256"),
                       scaled_config(1e4, ROPE_SCALING_LLAMA3, 4, 256), 64, 64, 1);
}

CASES_TEST(reference_biases) {
    load_vectors();
    double values[201];
    for (const cJSON *c = item(vectors, "alibi_slopes")->child; c; c = c->next) {
        int64_t heads = atoi(c->string);
        position_alibi_slopes(heads, values);
        assert_values(c, values, heads);
    }
    static const struct {
        const char *name;
        int64_t buckets, max_distance, count;
    } cases[] = {{"causal_32_128_distance_0_200", 32, 128, 201},
                 {"causal_8_16_distance_0_32", 8, 16, 33},
                 {"causal_16_64_distance_0_80", 16, 64, 81}};
    for (int64_t n = 0; n < LENGTH(cases); n++) {
        for (int64_t distance = 0; distance < cases[n].count; distance++)
            values[distance] =
                (double)position_t5_bucket(distance, cases[n].buckets, cases[n].max_distance);
        assert_values(item(item(vectors, "t5_buckets"), cases[n].name), values, cases[n].count);
    }
}

CASES_TEST(reference_curves) {
    load_vectors();
    const cJSON *group = item(vectors, "curves"), *distances = item(group, "k");
    double frequencies[64], d64[16], d768[16], integral[16], bound[16];
    position_sinusoidal_frequencies(128, 1e4, LAYOUT_HALF, frequencies);
    int64_t n = 0;
    for (const cJSON *k = distances->child; k; k = k->next, n++) {
        d64[n] = position_sinusoidal_product(k->valuedouble, 64, 1e4);
        d768[n] = position_sinusoidal_product(k->valuedouble, 768, 1e4);
        integral[n] = position_sinusoidal_integral(k->valuedouble, 768, 1e4);
        bound[n] = position_rope_decay_bound(k->valuedouble, 64, frequencies);
    }
    assert_values(item(group, "sinusoid_dot_d64"), d64, n);
    assert_values(item(group, "sinusoid_dot_d768"), d768, n);
    assert_values(item(group, "rope_decay_bound_d128"), bound, n);
    const cJSON *expected = item(item(group, "integral_d768"), "data");
    for (n = 0; n < 16; n++)
        assert_near(integral[n], cJSON_GetArrayItem(expected, (int)n)->valuedouble, 1e-7);
}

int main(void) {
    return run_all_tests(NULL, free_vectors);
}
