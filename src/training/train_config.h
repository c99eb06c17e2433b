/* Everything a training run is told: the JSON config with all defaults filled in. */
#ifndef TINYLM_TRAINING_TRAIN_CONFIG_H
#define TINYLM_TRAINING_TRAIN_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model_config.h"

typedef enum OptimizerType { OPTIMIZER_ADAMW, OPTIMIZER_SGD } OptimizerType;
typedef struct OptimizerConfig {
    OptimizerType type;
    double beta1, beta2, eps, weight_decay; /* adamw: 0.9, 0.95, 1e-8, 0.1 */
    double momentum;                        /* sgd: 0 */
} OptimizerConfig;

typedef enum ScheduleType { SCHEDULE_COSINE, SCHEDULE_CONSTANT } ScheduleType;
typedef struct ScheduleConfig {
    ScheduleType type;
    double max, min;       /* 1e-3, max/10 */
    int64_t warmup_steps;  /* 0 */
    int64_t cosine_steps;  /* max_steps */
} ScheduleConfig;

typedef enum TaskType { TASK_NONE, TASK_COPY, TASK_REVERSE, TASK_SORT } TaskType;

typedef struct DataConfig {
    /* Candidates as written, NULL where absent; train[i] goes with valid[i]. */
    char **train, **valid;
    int64_t train_count, valid_count;
    TaskType task;
    int64_t task_length, task_symbols;
} DataConfig;

typedef struct TokenizerConfig {
    bool present;
    int64_t vocab_size;
    char **special_tokens;
    int64_t special_token_count;
    char *load; /* directory of a trained tokenizer, or NULL */
} TokenizerConfig;

typedef struct TrainConfig {
    char *name;
    uint64_t seed;
    DataConfig data;
    TokenizerConfig tokenizer;
    ModelConfig model; /* vocab_size 0 until the tokenizer is known, unless given */
    int64_t batch_size, gradient_accumulation, max_steps;
    double grad_clip;
    OptimizerConfig optimizer;
    ScheduleConfig learning_rate;
    int64_t log_every, eval_every, eval_batches, checkpoint_every, sample_every, keep_every;
    bool recompute;
} TrainConfig;

/* Reads a config file, applies the `--set key=value` overrides in order, checks every key and every
 * range, and fills in the defaults. Errors name the file, the key and its value, and for an unknown
 * key the nearest known one. NULL on error; free with train_config_free. */
TrainConfig *train_config_read(const char *path, const char *const *overrides, int override_count,
                               Error *error);
/* The same from text; `name` stands for the file in messages. */
TrainConfig *train_config_parse(const char *text, uint64_t length, const char *name,
                                const char *const *overrides, int override_count, Error *error);
void train_config_free(TrainConfig *config);

/* The resolved config as JSON with every default written out (config.json of a run). Reading it
 * back gives the same config, and writing that the same bytes. The caller frees it. */
char *train_config_to_json(const TrainConfig *config);

#endif
