/* A story now and then while ./train works: for samples.txt and for the person who watches. */
#ifndef TINYLM_COMMANDS_TRAIN_SAMPLE_H
#define TINYLM_COMMANDS_TRAIN_SAMPLE_H

#include <stdio.h>

#include "model/transformer.h"
#include "tokenizer/tokenizer.h"

/* Writes a story of up to a few hundred tokens, ended by a line end. It begins after the separator
 * (an id), or with a line end where there is none; the same weights and seed give the same story. */
bool train_sample_write(const Model *model, Tokenizer *tokenizer, int64_t separator, uint64_t seed,
                        FILE *out, Error *error);

#endif
