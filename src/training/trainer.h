/* The training loop: steps, log, validation, samples, checkpoints.
 *
 * It knows neither the terminal nor how stories are generated: what a person sees goes through the
 * events. Everything it writes is in the run directory. */
#ifndef TINYLM_TRAINING_TRAINER_H
#define TINYLM_TRAINING_TRAINER_H

#include <signal.h>

#include "training/checkpoint.h"
#include "training/evaluation.h"
#include "training/run_directory.h"
#include "training/train_config.h"
#include "training/train_step.h"

typedef struct TrainerReport {
    int64_t step, max_steps;
    double learning_rate, train_loss, grad_norm;
    double tokens_per_second;     /* of the last steps, without validation and the like */
    double seconds_left;          /* estimated for the rest, all included */
    const Evaluation *validation; /* of this step, or NULL */
    bool row;                     /* a row of the log was written for this step */
} TrainerReport;

typedef struct TrainerEvents {
    void *context;
    void (*step)(void *context, const TrainerReport *report);             /* after every step */
    bool (*sample)(void *context, int64_t step, FILE *out, Error *error); /* text for samples.txt */
    void (*saved)(void *context, int64_t step); /* after every checkpoint */
    void (*other_data)(void *context); /* the checkpoint was trained on other ids than these */
    const volatile sig_atomic_t *stop; /* not 0: finish the step, save, return */
} TrainerEvents;

typedef struct TrainerSetup {
    const TrainConfig *config; /* resolved */
    const char *config_json;   /* the same as text, for the checkpoint */
    const RunDirectory *run;
    Model *model;
    BatchSource source;          /* of training */
    EvaluationSource validation; /* fixed sequences; count 0: none */
    const uint32_t *token_bytes; /* for bits per byte, or NULL */
    int64_t separator;           /* id between documents, for document_mask; −1: none */
    uint64_t tokenizer;          /* its fingerprint, or 0 */
    uint64_t data;               /* fingerprint of the ids, or 0 */
    bool resume;                 /* go on from the checkpoint, when there is one */
    bool plain;                  /* compute with the definitions in tensor/plain/ */
} TrainerSetup;

typedef struct TrainerResult {
    RunState state;
    int64_t first_step;    /* the step it started after */
    bool stopped;          /* by events.stop, before max_steps */
    Evaluation validation; /* of the last step; tokens 0 when there was none */
} TrainerResult;

/* Trains from the model's present weights, or from the checkpoint, up to max_steps. When the
 * checkpoint is there already, only the model is written. On an error the last good checkpoint is
 * what it was. */
bool trainer_run(const TrainerSetup *setup, const TrainerEvents *events, TrainerResult *result,
                 Error *error);

/* The step configuration a train config comes to (for planning). */
TrainStepConfig trainer_step_config(const TrainerSetup *setup);

#endif
