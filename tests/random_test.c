/* Random numbers: the known answers of Philox, ranges and moments of what is made of it, and the initial
 * weights. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "generation_helpers.h"

/* From kat_vectors of the Random123 library (philox4x32, 10 rounds). */
TEST(philox_gives_the_known_answers) {
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } rows[] = {
        {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t out[4];
        random_philox(rows[i].counter, rows[i].key, out);
        assert_memory_equal(out, rows[i].out, sizeof out);
    }
}

TEST(every_argument_counts) {
    uint64_t x = random_u64(1, RANDOM_TEST, 1);
    assert_true(x == random_u64(1, RANDOM_TEST, 1));
    assert_true(x != random_u64(2, RANDOM_TEST, 1));
    assert_true(x != random_u64(1 + (UINT64_C(1) << 32), RANDOM_TEST, 1));
    assert_true(x != random_u64(1, RANDOM_TASK, 1));
    assert_true(x != random_u64(1, RANDOM_TEST, 2));
    assert_true(x != random_u64(1, RANDOM_TEST, 1 + (UINT64_C(1) << 32)));
}

enum { DRAWS = 200000 };

TEST(numbers_below_a_limit) {
    int counts[7] = {0};
    double sum = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint64_t x = random_below(3, RANDOM_TEST, i, 7);
        assert_true(x < 7);
        counts[x]++;
        assert_true(random_below(3, RANDOM_TEST, i, 1) == 0);
        double u = random_uniform(3, RANDOM_TEST, i);
        assert_true(u >= 0 && u < 1);
        sum += u;
        /* the high half of the product with any n: the same fraction of it */
        uint64_t n = UINT64_MAX - i, y = random_below(3, RANDOM_TEST, i, n);
        assert_true(y < n && fabs((double)y / (double)n - u) < 1e-9);
    }
    for (int k = 0; k < 7; k++) assert_in_range(counts[k], DRAWS / 7 - 700, DRAWS / 7 + 700);
    assert_true(fabs(sum / DRAWS - 0.5) < 0.003);
}

/* A standard normal cut at 3: its deviation is 0.98658, and 0.31546 of it is beyond 1. */
static void assert_cut_normal(int64_t count, const double *values) {
    double sum = 0, squares = 0, largest = 0;
    int64_t beyond = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += values[i];
        squares += values[i] * values[i];
        largest = fmax(largest, fabs(values[i]));
        beyond += fabs(values[i]) > 1;
    }
    double n = (double)count, error = 4 / sqrt(n);
    assert_true(largest <= 3.000001 && largest > 2);
    assert_true(fabs(sum / n) < error);
    assert_true(fabs(sqrt(squares / n) - 0.98658) < error);
    assert_true(fabs((double)beyond / n - 0.31546) < error);
}

TEST(a_normal_number_is_cut) {
    double *values = allocate(DRAWS, sizeof *values);
    for (uint64_t i = 0; i < DRAWS; i++) values[i] = random_truncated_normal(3, RANDOM_TEST, i, 3);
    assert_cut_normal(DRAWS, values);
    free(values);
}

/* In units of the deviation that each kind of weight has; no two tensors hold the same numbers. */
TEST(initial_weights) {
    for (int tied = 0; tied < 2; tied++) {
        ModelConfig config = tiny_config();
        config.d_model = 64, config.d_ff = 96, config.vocab_size = 200;
        config.tie_embeddings = tied;
        config.position = (PositionConfig){.type = POSITION_LEARNED};
        Model *model = tiny_model(&config);
        const Parameters *p = &model->parameters;
        double first[64];
        for (int64_t i = 0; i < p->part_count; i++) {
            const Parameter *part = &p->parts[i];
            int64_t size = parameter_size(part);
            const real *weights = p->values + part->offset;
            double sigma = sqrt(2.0 / (double)(part->shape[0] + part->shape[1]));
            if (strcmp(part->name, "token_embeddings.weight") == 0) sigma = tied ? 1 / sqrt(64) : 1;
            if (strcmp(part->name, "position_embeddings.weight") == 0) sigma = 0.02;
            for (int64_t k = 0; part->rank == 1 && k < size; k++) assert_true(weights[k] == 1);
            if (part->rank == 1) sigma = 1;
            double *values = allocate((size_t)size, sizeof *values);
            for (int64_t k = 0; k < size; k++) values[k] = (double)weights[k] / sigma;
            if (part->rank == 2) assert_cut_normal(size, values);
            first[i] = values[0];
            for (int64_t j = 0; part->rank == 2 && j < i; j++)
                assert_true(fabs(first[i] - first[j]) > 1e-6 || first[j] == 1);
            free(values);
        }
        Model *other = tiny_model(&config);
        assert_memory_equal(p->values, other->parameters.values, (size_t)p->size * sizeof(real));
        model_initialize(other, 8);
        assert_true(other->parameters.values[0] != p->values[0]);
        model_free(other);
        model_free(model);
    }
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
