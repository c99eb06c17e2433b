/* Where a new run's first weights come from when they are not drawn. */
#ifndef TINYLM_COMMANDS_TRAIN_START_H
#define TINYLM_COMMANDS_TRAIN_START_H

#include "model/transformer.h"
#include "tokenizer/tokenizer.h"

/* --init-from: fills the model with the weights of another run (its folder, or a .safetensors file).
 * Context length, position scaling and the rows of a learned table may differ; every other tensor must
 * be there in this model's shape. `tokenizer` (or NULL) is this run's. Errors name the file and the
 * tensor; a run with another tokenizer is refused, since its ids mean something else. */
bool start_from_run(Model *model, const Tokenizer *tokenizer, const char *run, Error *error);

#endif
