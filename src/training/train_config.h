/* The settings of a training run: the JSON config with all defaults filled in. The keys are the tables in
 * train_config.c and model/model_config.c. */
#ifndef TINYLM_TRAINING_TRAIN_CONFIG_H
#define TINYLM_TRAINING_TRAIN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model_config.h"

/* ---- what it holds ---- */

typedef enum OptimizerType { OPTIMIZER_ADAMW, OPTIMIZER_SGD } OptimizerType;
typedef struct OptimizerConfig {
    OptimizerType type;
    double beta1, beta2, eps, weight_decay; /* adamw: 0.9, 0.95, 1e-8, 0.1 */
    double momentum;                        /* sgd: 0 */
} OptimizerConfig;

typedef enum ScheduleType { SCHEDULE_COSINE, SCHEDULE_CONSTANT } ScheduleType;
typedef struct ScheduleConfig {
    ScheduleType type;
    double max, min;      /* 1e-3, max/10 */
    int64_t warmup_steps; /* 0 */
    bool cosine_left_out; /* in the config: cosine_steps is its default */
    int64_t cosine_steps; /* max_steps, or warmup_steps when that is more: a run that is cut short
                              to fewer steps than its warm-up stays in the warm-up */
} ScheduleConfig;

/* The built-in tasks. Ids: 0 … task_symbols−1 are the symbols, then the separator, then the padding;
 * so the vocabulary has task_symbols + 2. A sequence is task_length symbols, the separator and the
 * answer: 2·task_length + 1 ids of the context_length + 1 that a window has, the rest is padding. */
typedef enum TaskType { TASK_NONE, TASK_COPY, TASK_REVERSE, TASK_SORT } TaskType;

typedef struct DataConfig {
    /* Candidates as written; train.items[i] goes with valid.items[i], which is NULL (null in the list)
     * where the held-out part is cut from the training ids. valid.count is train.count, or 0 when
     * "valid" is left out altogether. Both are 0 for a task. */
    TextList train, valid;
    TaskType task;
    int64_t task_length, task_symbols; /* 32, 32; 0 without a task */
} DataConfig;

typedef struct TokenizerConfig {
    bool present;
    int64_t vocab_size; /* to train up to (a text may have fewer merges), or 0 with `load` */
    /* None unless given; new ones get ids in this order, and the first one separates documents.
     * With `load`: the ones to use, or to add. */
    TextList special_tokens;
    char *load; /* directory of a trained tokenizer, or NULL */
} TokenizerConfig;

typedef struct TrainConfig {
    char *name;    /* of the run's folder; left out: the config's file name without .json */
    uint64_t seed; /* 0 … 2^53−1 */
    DataConfig data;
    TokenizerConfig tokenizer;
    ModelConfig
        model; /* vocab_size 0 until the tokenizer is known, unless given; known for tasks */
    int64_t batch_size, gradient_accumulation, max_steps;
    double grad_clip;
    OptimizerConfig optimizer;
    ScheduleConfig learning_rate;
    /* 0 is "never", but for log_every and eval_batches, which are at least 1 */
    int64_t log_every, eval_every, eval_batches, checkpoint_every, sample_every, keep_every;
    bool recompute;
} TrainConfig;

/* The name as in configs: "copy". */
const char *task_name(TaskType task);

/* Leaves only the pair of files at this index. */
void data_config_choose(DataConfig *data, int64_t index);

/* Ids of a task, as told at TaskType. */
int64_t task_separator(const DataConfig *data);
int64_t task_padding(const DataConfig *data);

/* ---- reading and writing ---- */

/* Reads a config file, applies the `--set key=value` overrides in order, checks every key and every
 * range, and fills in the defaults. Errors name the file, the key and its value, and for an unknown
 * key the nearest known one. NULL on error; free with train_config_free. */
TrainConfig *train_config_read(const char *path, const char *const *overrides, int override_count,
                               Error *error);
/* The same from text; `name` stands for the file in messages. */
TrainConfig *train_config_parse(const char *text, size_t length, const char *name,
                                const char *const *overrides, int override_count, Error *error);
void train_config_free(TrainConfig *config);

/* Prints all keys with default, range and meaning. */
void train_config_print_keys(FILE *stream);

/* The resolved config as JSON with every default written out (config.json of a run). Reading it
 * back gives the same config, and writing that the same bytes. The caller frees it. */
char *train_config_to_json(const TrainConfig *config);

#endif
