/* The sampler against the table of edges, against what its header promises, and against the
 * probabilities themselves. */
#include "formats_helpers.h"

#include <math.h>

#include "base/random.h"
#include "generation/sampler.h"

static real logits[64];

static int64_t read_logits(const cJSON *list) {
    int64_t count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) logits[count++] = (real)item->valuedouble;
    return count;
}

/* The candidates of the logits in `logits`; the caller frees the sampler. */
static int64_t candidates(Sampler *sampler, const SamplerConfig *config, int64_t V,
                          SamplerMasks masks) {
    Error error;
    sampler_init(sampler, config, V);
    int64_t count = sampler_candidates(sampler, logits, masks, &error);
    if (count == 0) fail_msg("%s", error.message);
    return count;
}

static void assert_kept(const SamplerConfig *config, int64_t V, const int *kept, int64_t count) {
    Sampler sampler;
    assert_int_equal(candidates(&sampler, config, V, (SamplerMasks){0}), count);
    for (int64_t i = 0; i < count; i++) assert_int_equal(sampler.candidates[i].id, kept[i]);
    sampler_free(&sampler);
}

static void assert_kept_json(const SamplerConfig *config, int64_t V, const cJSON *keep) {
    int kept[64], count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, keep) kept[count++] = item->valueint;
    assert_kept(config, V, kept, count);
}

CASES_TEST(the_table_of_edges_holds) {
    const char *path = need_case("cases/num/g_sampler.json");
    cJSON *json = read_json(path);
    const cJSON *item, *value;
    int cases = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "top_k")) {
        SamplerConfig config = sampler_config_default();
        config.top_k = (int64_t)cJSON_GetObjectItem(item, "top_k")->valuedouble;
        int64_t V = read_logits(cJSON_GetObjectItem(item, "logits"));
        if (config.top_k == 0 || config.top_k >= V) { /* off: all are kept, in order of ids */
            int all[64];
            for (int i = 0; i < V; i++) all[i] = i;
            assert_kept(&config, V, all, cJSON_GetArraySize(cJSON_GetObjectItem(item, "keep")));
        } else {
            assert_kept_json(&config, V, cJSON_GetObjectItem(item, "keep"));
        }
        cases++;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "draw")) {
        Candidate list[64];
        int64_t count = 0;
        cJSON_ArrayForEach(value, cJSON_GetObjectItem(item, "probs")) {
            list[count] = (Candidate){value->valuedouble, (int32_t)count};
            count++;
        }
        double u = cJSON_GetObjectItem(item, "u")->valuedouble;
        assert_int_equal(sampler_draw(list, count, u), cJSON_GetObjectItem(item, "pick")->valueint);
        cases++;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "greedy")) {
        SamplerConfig config = sampler_config_default();
        config.temperature = cJSON_GetObjectItem(item, "temperature")->valuedouble;
        int64_t V = read_logits(cJSON_GetObjectItem(item, "logits"));
        Sampler sampler;
        Error error;
        sampler_init(&sampler, &config, V);
        for (double u = 0; u < 1; u += 0.0625)
            assert_int_equal(sampler_pick(&sampler, logits, (SamplerMasks){0}, u, &error),
                             cJSON_GetObjectItem(item, "pick")->valueint);
        sampler_free(&sampler);
        cases++;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "combined")) {
        SamplerConfig config = sampler_config_default();
        config.top_k = (int64_t)cJSON_GetObjectItem(item, "top_k")->valuedouble;
        config.top_p = cJSON_GetObjectItem(item, "top_p")->valuedouble;
        int64_t V = 0;
        cJSON_ArrayForEach(value, cJSON_GetObjectItem(item, "probs")) logits[V++] =
            (real)log(value->valuedouble);
        assert_kept_json(&config, V, cJSON_GetObjectItem(item, "keep"));
        cases++;
    }
    assert_true(cases > 20);
    cJSON_Delete(json);
}

/* Logits of the probabilities .5 .25 .125 .0625 .0625, out of order. */
static void set_halves(void) {
    const double p[5] = {0.125, 0.5, 0.0625, 0.0625, 0.25};
    for (int i = 0; i < 5; i++) logits[i] = (real)log(p[i]);
}

TEST(top_p_keeps_the_smallest_set_that_reaches_it) {
    static const int order[5] = {1, 4, 0, 2, 3};
    const double p[] = {1e-9, 0.49, 0.5, 0.51, 0.75, 0.76, 0.875, 0.88, 0.9375, 0.94, 0.9999};
    const int kept[] = {1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
    set_halves();
    for (int i = 0; i < 11; i++) {
        SamplerConfig config = sampler_config_default();
        config.top_p = p[i];
        assert_kept(&config, 5, order, kept[i]);
        config.top_k = 4; /* of 15/16 of the mass */
        assert_kept(&config, 5, order,
                    p[i] * 0.9375 <= 0.5     ? 1
                    : p[i] * 0.9375 <= 0.75  ? 2
                    : p[i] * 0.9375 <= 0.875 ? 3
                                             : 4);
    }
    for (int i = 0; i < 5; i++) logits[i] = 3; /* ties: lower ids first */
    SamplerConfig config = sampler_config_default();
    config.top_p = 0.6;
    assert_kept(&config, 5, (int[]){0, 1, 2}, 3);
}

TEST(min_p_is_relative_to_the_likeliest) {
    set_halves();
    SamplerConfig config = sampler_config_default();
    config.min_p = 0.24;
    assert_kept(&config, 5, (int[]){0, 1, 4}, 3);
    config.min_p = 1;
    assert_kept(&config, 5, (int[]){1}, 1);
    config.min_p = 0.24, config.top_p = 0.7;
    assert_kept(&config, 5, (int[]){1, 4}, 2);
    config.temperature = 0.5; /* .25 : 1 becomes .0625 : 1 */
    config.top_p = 1;
    assert_kept(&config, 5, (int[]){1, 4}, 2);
}

TEST(penalty_pulls_logits_down) {
    const uint8_t occurred[5] = {1, 1, 0, 0, 1};
    SamplerConfig config = sampler_config_default();
    config.repetition_penalty = 2;
    Sampler sampler;
    logits[0] = 4, logits[1] = -1, logits[2] = 3, logits[3] = -1, logits[4] = (real)0.5;
    assert_int_equal(candidates(&sampler, &config, 5, (SamplerMasks){.occurred = occurred}), 5);
    const double expected[5] = {exp(-1), exp(-5), 1, exp(-4), exp(-2.75)}; /* 2, −2, 3, −1, 1/4 */
    for (int i = 0; i < 5; i++)
        assert_true(fabs(sampler.candidates[i].weight - expected[i]) < 1e-6);
    sampler_free(&sampler);
    config.repetition_penalty = 1e-300; /* nothing overflows */
    candidates(&sampler, &config, 5, (SamplerMasks){.occurred = occurred});
    for (int i = 0; i < 5; i++) assert_true(isfinite(sampler.candidates[i].weight));
    sampler_free(&sampler);
}

/* The sum of all weights and the running sum may round differently. */
TEST(a_weight_of_zero_is_never_drawn) {
    enum { COUNT = 1000 };
    Candidate list[COUNT];
    for (int positive = 1; positive < COUNT; positive += 37)
        for (int front = 0; front < 2; front++) {
            for (int i = 0; i < COUNT; i++) {
                bool zero = front ? i < COUNT - positive : i >= positive;
                list[i] = (Candidate){zero ? 0 : 0.1, i};
            }
            assert_true(list[sampler_draw(list, COUNT, 0)].weight > 0);
            assert_true(list[sampler_draw(list, COUNT, nextafter(1, 0))].weight > 0);
        }
}

TEST(excluded_and_impossible_ids_are_never_drawn) {
    const uint8_t excluded[6] = {0, 0, 1, 0, 1, 0};
    const SamplerConfig configs[] = {
        {.temperature = 0, .top_p = 1, .repetition_penalty = 1},
        {.temperature = 1, .top_p = 1, .repetition_penalty = 1},
        {.temperature = 1e300, .top_p = 1, .repetition_penalty = 1},
        {.temperature = 1, .top_p = 0.999, .repetition_penalty = 1},
        {.temperature = 1, .top_k = 5, .top_p = 0.999, .repetition_penalty = 1.5},
    };
    for (int c = 0; c < 5; c++) {
        const real values[6] = {1, -HUGE_VALF, 50, 0, 60, (real)0.5};
        Sampler sampler;
        Error error;
        sampler_init(&sampler, &configs[c], 6);
        bool seen[6] = {false};
        for (uint64_t i = 0; i < 2000; i++) {
            double u = random_uniform(5, RANDOM_TEST, i);
            seen[sampler_pick(&sampler, values, (SamplerMasks){.excluded = excluded}, u, &error)] =
                true;
        }
        assert_true(seen[0] && !seen[1] && !seen[2] && !seen[4]);
        assert_true(c == 0 || (seen[3] && seen[5]));
        sampler_free(&sampler);
    }
}

TEST(impossible_logits_are_an_error) {
    const real bad[3] = {NAN, HUGE_VALF, -HUGE_VALF};
    const char *const message[3] = {"token 1", "token 1", "-infinity"};
    for (int k = 0; k < 3; k++)
        for (int greedy = 0; greedy < 2; greedy++) {
            SamplerConfig config = sampler_config_default();
            if (greedy) config.temperature = 0;
            Sampler sampler;
            Error error;
            sampler_init(&sampler, &config, 3);
            for (int i = 0; i < 3; i++) logits[i] = k == 2 || i == 1 ? bad[k] : 1;
            assert_int_equal(sampler_pick(&sampler, logits, (SamplerMasks){0}, 0.5, &error), -1);
            assert_non_null(strstr(error.message, message[k]));
            sampler_free(&sampler);
        }
}

TEST(settings_out_of_range_are_refused) {
    Error error;
    SamplerConfig config = sampler_config_default();
    assert_true(sampler_config_check(&config, &error));
#define REFUSED(...)                                                                               \
    config = sampler_config_default(), __VA_ARGS__,                                                \
    assert_false(sampler_config_check(&config, &error))
    REFUSED(config.temperature = -1);
    REFUSED(config.temperature = NAN);
    REFUSED(config.temperature = HUGE_VAL);
    REFUSED(config.top_k = -1);
    REFUSED(config.top_p = 0);
    REFUSED(config.top_p = 1.01);
    REFUSED(config.top_p = NAN);
    REFUSED(config.min_p = -0.1);
    REFUSED(config.min_p = 1.1);
    REFUSED(config.repetition_penalty = 0);
    REFUSED(config.repetition_penalty = NAN);
#undef REFUSED
}

/* 200,000 draws from 50 ids fall on each as often as softmax says, within 5 standard deviations. */
TEST(draws_follow_the_probabilities) {
    enum { V = 50, DRAWS = 200000 };
    double p[V], sum = 0;
    int counts[V] = {0};
    for (int i = 0; i < V; i++) {
        logits[i] = (real)(4 * random_uniform(1, RANDOM_TEST, (uint64_t)i));
        sum += p[i] = exp((double)logits[i] / 0.7);
    }
    SamplerConfig config = sampler_config_default();
    config.temperature = 0.7;
    Sampler sampler;
    Error error;
    sampler_init(&sampler, &config, V);
    for (uint64_t i = 0; i < DRAWS; i++)
        counts[sampler_pick(&sampler, logits, (SamplerMasks){0}, random_uniform(2, RANDOM_TEST, i),
                            &error)]++;
    for (int i = 0; i < V; i++) {
        double expected = DRAWS * p[i] / sum;
        assert_true(fabs(counts[i] - expected) < 5 * sqrt(expected) + 1);
    }
    sampler_free(&sampler);
}

/* Random logits with ties: the sets are those of a plain sort. */
TEST(filters_agree_with_a_sort) {
    enum { V = 64 };
    for (uint64_t round = 0; round < 500; round++) {
        int order[V];
        for (int i = 0; i < V; i++) {
            logits[i] = (real)random_below(round, RANDOM_TEST, (uint64_t)i, 12) / 2;
            order[i] = i;
        }
        for (int i = 1; i < V; i++) /* insertion sort is stable: ties stay in order of ids */
            for (int j = i; j > 0 && logits[order[j]] > logits[order[j - 1]]; j--) {
                int kept = order[j];
                order[j] = order[j - 1], order[j - 1] = kept;
            }
        SamplerConfig config = sampler_config_default();
        config.top_k = 1 + (int64_t)random_below(round, RANDOM_TEST, 100, V - 1);
        assert_kept(&config, V, order, config.top_k);
        config.top_k = 0;
        config.top_p = 0.05 + 0.9 * random_uniform(round, RANDOM_TEST, 101);
        double all = 0, share = 0;
        for (int i = 0; i < V; i++) all += exp((double)logits[i]);
        int64_t kept = 0;
        while (share < config.top_p * all) share += exp((double)logits[order[kept++]]);
        assert_kept(&config, V, order, kept);
    }
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
