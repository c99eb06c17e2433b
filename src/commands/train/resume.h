/* What may change between a run and its continuation. */
#ifndef TINYLM_COMMANDS_TRAIN_RESUME_H
#define TINYLM_COMMANDS_TRAIN_RESUME_H

#include "training/run_directory.h"
#include "training/train_config.h"

/* Compares `config`, as it was read, with the one in the run's checkpoint. A change of the seed, the
 * task, the optimizer's type or anything under "model" or "tokenizer" is an error: it could not take
 * effect, or the weights would not mean the same. Other changes are printed. What is left out keeps the
 * value it had when the run began where that is not a fixed default: model.vocab_size,
 * training.learning_rate.cosine_steps, and which files of the lists under "data" were taken. */
bool resume_check(TrainConfig *config, const RunDirectory *run, Error *error);

#endif
