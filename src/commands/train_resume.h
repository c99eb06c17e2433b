/* What may change between a run and its continuation. */
#ifndef TINYLM_COMMANDS_TRAIN_RESUME_H
#define TINYLM_COMMANDS_TRAIN_RESUME_H

#include "training/run_directory.h"
#include "training/train_config.h"

/* Compares `config` with the one in the run's checkpoint, when resuming and there is one. A change
 * under "model", "tokenizer" or "training.optimizer.type" is an error: the weights would not mean
 * the same. Other changes are printed. training.learning_rate.cosine_steps that merely followed
 * max_steps keeps the value it had when the run began. */
bool resume_check(TrainConfig *config, const RunDirectory *run, bool resume, Error *error);

#endif
