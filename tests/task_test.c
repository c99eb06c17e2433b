/* The built-in tasks: what a sequence looks like, and what it depends on. */
#include "helpers.h"

#include <string.h>

#include "training/task.h"

enum { LENGTH = 5, SYMBOLS = 7, T = 13 };

typedef struct Sequence {
    int32_t ids[T], targets[T];
    real weights[T];
} Sequence;

static DataConfig data_of(TaskType type) {
    return (DataConfig){.task = type, .task_length = LENGTH, .task_symbols = SYMBOLS};
}

static Sequence training_row(TaskType type, uint64_t seed, int64_t step, int64_t row) {
    DataConfig data = data_of(type);
    TaskSource task = {.data = &data, .seed = seed, .rows_per_step = 8, .T = T};
    BatchSource source = task_training(&task);
    Sequence s;
    source.fill(source.context, step, row, s.ids, s.targets, s.weights);
    return s;
}

TEST(only_the_answer_counts) {
    for (TaskType type = TASK_COPY; type <= TASK_SORT; type++)
        for (int64_t row = 0; row < 50; row++) {
            Sequence s = training_row(type, 1, 3, row);
            int counted[SYMBOLS] = {0};
            for (int t = 0; t < LENGTH; t++) {
                assert_in_range(s.ids[t], 0, SYMBOLS - 1);
                counted[s.ids[t]]++;
                int32_t expected = type == TASK_COPY      ? s.ids[t]
                                   : type == TASK_REVERSE ? s.ids[LENGTH - 1 - t]
                                   : t > 0                ? s.targets[LENGTH + t]
                                                          : s.targets[LENGTH];
                assert_int_equal(s.targets[LENGTH + t], expected);
                if (type == TASK_SORT && t > 0)
                    assert_true(s.targets[LENGTH + t - 1] <= s.targets[LENGTH + t]);
                counted[s.targets[LENGTH + t]]--;
            }
            for (int k = 0; k < SYMBOLS; k++) assert_int_equal(counted[k], 0);
            assert_int_equal(s.ids[LENGTH], SYMBOLS); /* the separator */
            for (int t = 0; t < T; t++) {
                assert_true(s.weights[t] == (t >= LENGTH && t < 2 * LENGTH));
                if (t < 2 * LENGTH - 1) assert_int_equal(s.targets[t], s.ids[t + 1]);
                if (t >= 2 * LENGTH) assert_int_equal(s.ids[t], SYMBOLS + 1); /* padding */
            }
        }
}

static bool same(Sequence a, Sequence b) {
    return memcmp(a.ids, b.ids, sizeof a.ids) == 0;
}

TEST(a_sequence_is_a_function_of_seed_step_and_row) {
    Sequence s = training_row(TASK_COPY, 1, 3, 4);
    training_row(TASK_COPY, 1, 9, 2);
    assert_true(same(s, training_row(TASK_COPY, 1, 3, 4)));
    assert_false(same(s, training_row(TASK_COPY, 2, 3, 4)));
    assert_false(same(s, training_row(TASK_COPY, 1, 4, 4)));
    assert_false(same(s, training_row(TASK_COPY, 1, 3, 5)));
}

TEST(validation_has_a_stream_of_its_own) {
    DataConfig data = data_of(TASK_REVERSE);
    TaskSource task = {.data = &data, .seed = 1, .rows_per_step = 8, .T = T, .count = 20};
    EvaluationSource source = task_validation(&task);
    assert_int_equal(source.count, 20);
    assert_int_equal(source.T, T);
    for (int64_t i = 0; i < source.count; i++) {
        Sequence s;
        int32_t starts[T] = {0};
        EvaluationRow row = {s.ids, s.targets, s.weights, starts, T};
        source.fill(source.context, i, &row);
        assert_int_equal(row.length, T);
        assert_int_equal(s.targets[LENGTH], s.ids[LENGTH - 1]);
        for (int64_t k = 0; k < 40; k++)
            assert_false(same(s, training_row(TASK_REVERSE, 1, k / 8, k % 8)));
    }
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
