/* One optimizer step: forward and backward over all rows of a batch, spread over the threads, and the
 * update.
 *
 * min(rows, threads, 16) workers each take their own rows, a micro-batch of a few sequences at a time,
 * forward and backward through the whole network, on their own tape and gradient buffer; then the
 * buffers are summed in a fixed order: a fixed thread count gives the same bits every time. Threads meet
 * once a step, not once an operation. Gradient accumulation is nothing but more rows.
 *
 * Threads left over (more threads than rows, more than 16, or a round of micro-batches in which some workers
 * have none) take parts of the workers' operations, as long as there are processors for them: in each
 * round an operation is cut into ⌈threads / busy workers⌉ parts. The limit of 16 bounds the memory,
 * since each worker has a whole gradient and a chunk of logits of its own. */
#ifndef TINYLM_TRAINING_TRAIN_STEP_H
#define TINYLM_TRAINING_TRAIN_STEP_H

#include "base/error.h"
#include "model/transformer.h"
#include "training/batches.h"
#include "training/optimizer.h"

enum { TRAIN_MOST_WORKERS = 16 };

typedef struct TrainStep {
    Model *model;
    Optimizer optimizer;
    BatchSource source;
    int64_t rows, T;     /* sequences of a step (batch_size · gradient_accumulation), positions */
    int64_t micro_batch; /* sequences a worker takes at a time */
    int64_t separator;   /* id between documents, for document_mask; −1: none */
    double grad_clip;
    int threads, workers;
    Tape *tapes;                                             /* [workers] */
    real **gradients;                                        /* [workers] flat buffers */
    int32_t *ids, *targets, *document_start;                 /* (rows, T) */
    real *weights, *losses;                                  /* (rows, T) */
    double seconds_data, seconds_optimizer, seconds_waiting; /* for the benchmark's table */
} TrainStep;

/* What a training step needs, from a tape in TAPE_PLAN: bytes in all, and FLOPs of forward a token. */
typedef struct TrainPlan {
    int64_t parameter_bytes;  /* weights, moments, gradients */
    int64_t activation_bytes; /* of all workers together */
    double batch_bytes;       /* ids, targets, weights and losses of a step's rows */
    double flops_per_token;   /* forward and backward */
} TrainPlan;
typedef struct TrainStepConfig {
    const OptimizerConfig *optimizer;
    BatchSource source;
    int64_t rows, T, separator;
    double grad_clip;
    bool recompute, plain;
    int processors; /* for tests: the number to assume; 0: parallel_available() */
} TrainStepConfig;
/* Plans without taking memory; `model` may be dry. */
TrainPlan train_step_plan(Model *model, const TrainStepConfig *config, int threads);

/* `model` must outlive it. Reduces the team (base/parallel.h) to the threads that a step can use. Errors:
 * T beyond what the model's positions reach, memory for the moments. */
bool train_step_create(TrainStep *step, Model *model, const TrainStepConfig *config, Error *error);
void train_step_free(TrainStep *step);

typedef struct StepResult {
    double loss;      /* mean over the counted tokens, of this batch, before the update */
    double grad_norm; /* before clipping */
} StepResult;
/* Runs iteration t (from 0) at the given learning rate. A loss or norm that is not finite is an error
 * that names step, rate and the place in the model where it arose; the weights and the optimizer
 * are then as they were before. */
bool train_step_run(TrainStep *step, int64_t t, double rate, StepResult *result, Error *error);

#endif
