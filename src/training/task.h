/* Built-in tasks that need nothing but positions: sequences made by rule, so that a scheme can be
 * tested in seconds, without text or tokenizer.
 *
 *   copy     7 2 9 | 7 2 9        each symbol of the answer is the one `length` + 1 ids before it
 *   reverse  7 2 9 | 9 2 7        the distance grows by two from symbol to symbol
 *   sort     7 2 9 | 2 7 9        counting suffices: where a symbol stood does not matter
 *
 * A sequence has `length` symbols, the separator and the answer; only the answer counts in the loss.
 * The rest of a window is padding. A sequence depends on (seed, step, row) and on nothing else. */
#ifndef TINYLM_TRAINING_TASK_H
#define TINYLM_TRAINING_TASK_H

#include "base/random.h"
#include "training/batches.h"
#include "training/evaluation.h"
#include "training/train_config.h"

typedef struct TaskSource {
    const DataConfig *data;
    uint64_t seed;
    int64_t rows_per_step;
    int64_t T;     /* positions of a window: at least 2·task_length */
    int64_t count; /* sequences of the validation */
} TaskSource;

/* Ids, targets and weights (T each) of sequence number `index` of a stream: RANDOM_TASK for training,
 * with index = step · rows_per_step + row, RANDOM_TASK_VALID for validation. */
void task_fill(const TaskSource *task, RandomStream stream, uint64_t index, int32_t *ids,
               int32_t *targets, real *weights);

/* `task` must outlive the results. */
BatchSource task_training(const TaskSource *task);
EvaluationSource task_validation(const TaskSource *task);

#endif
