/* checkpoint.safetensors: everything a run needs to go on as if it had never stopped.
 *
 * Tensors: the weights under their names, and the optimizer's moments as optimizer.m.NAME and
 * optimizer.v.NAME. Metadata: format, step, seconds, best_valid_loss, tokenizer and data (fingerprints),
 * config (the resolved JSON), and a checksum over the whole file. No state of random numbers: they
 * are functions of seed and step (base/random.h). Written to a temporary file, flushed, the previous
 * one kept as checkpoint.previous.safetensors by a hard link, renamed: the final name is never absent. */
#ifndef TINYLM_TRAINING_CHECKPOINT_H
#define TINYLM_TRAINING_CHECKPOINT_H

#include "model/transformer.h"
#include "training/optimizer.h"

typedef struct RunState {
    int64_t step;           /* optimizer steps done */
    double seconds;         /* of training so far, over all resumes */
    double best_valid_loss; /* HUGE_VAL before the first evaluation */
    uint64_t tokenizer;     /* fingerprint of the run's tokenizer, 0 without */
    uint64_t data;          /* of the ids trained and validated on, 0 for a task, or not known */
} RunState;

/* Errors: the file cannot be written (the old one is then untouched). */
bool checkpoint_save(const char *path, const char *previous_path, const Model *model,
                     const Optimizer *optimizer, const RunState *state, const char *config_json,
                     Error *error);

/* Fills model, optimizer and state. Errors: damaged (checksum), not a checkpoint, of another model or
 * optimizer (they name the file and the tensor), another tokenizer than state->tokenizer says. After an
 * error the weights and moments may be partly those of the file. */
bool checkpoint_load(const char *path, Model *model, Optimizer *optimizer, RunState *state,
                     Error *error);

/* The config a checkpoint was written with, as JSON that the caller frees; NULL on error. */
char *checkpoint_config(const char *path, Error *error);

#endif
