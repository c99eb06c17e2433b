#include "training/task.h"

#include <stdlib.h>

static int compare_ids(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* n symbols -> n symbols */
static void answer(TaskType type, int64_t n, const int32_t *symbols, int32_t *to) {
    for (int64_t i = 0; i < n; i++) to[i] = symbols[type == TASK_REVERSE ? n - 1 - i : i];
    if (type == TASK_SORT) qsort(to, (size_t)n, sizeof *to, compare_ids);
}

void task_fill(const TaskSource *task, RandomStream stream, uint64_t index, int32_t *ids,
               int32_t *targets, real *weights) {
    int64_t n = task->data->task_length, T = task->T;
    uint64_t symbols = (uint64_t)task->data->task_symbols;
    int32_t padding = (int32_t)task_padding(task->data);
    for (int64_t t = 0; t < T; t++) {
        ids[t] = targets[t] = padding;
        weights[t] = t >= n && t < 2 * n;
    }
    /* The whole sequence has 2n + 1 ids: the inputs are all but the last, the targets all but the
     * first. */
    for (int64_t i = 0; i < n; i++)
        ids[i] =
            (int32_t)random_below(task->seed, stream, index * (uint64_t)n + (uint64_t)i, symbols);
    ids[n] = (int32_t)task_separator(task->data);
    answer(task->data->task, n, ids, targets + n);
    for (int64_t t = 0; t < n; t++) targets[t] = ids[t + 1];
    for (int64_t t = n + 1; t < 2 * n; t++) ids[t] = targets[t - 1];
}

static void fill_training(const void *context, int64_t step, int64_t row, int32_t *ids,
                          int32_t *targets, real *weights) {
    const TaskSource *task = context;
    uint64_t index = (uint64_t)step * (uint64_t)task->rows_per_step + (uint64_t)row;
    task_fill(task, RANDOM_TASK, index, ids, targets, weights);
}

static void fill_validation(const void *context, int64_t index, EvaluationRow *row) {
    task_fill(context, RANDOM_TASK_VALID, (uint64_t)index, row->ids, row->targets, row->weights);
}

BatchSource task_training(const TaskSource *task) {
    return (BatchSource){.fill = fill_training, .context = task};
}

EvaluationSource task_validation(const TaskSource *task) {
    return (EvaluationSource){task->count, task->T, fill_validation, task};
}
