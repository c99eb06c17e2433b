/* `--ids "1 2 3"` and `--logits`: what a model says at every position, for comparing with other
 * programs. */
#ifndef TINYLM_COMMANDS_LOGITS_H
#define TINYLM_COMMANDS_LOGITS_H

#include <stdio.h>

#include "model/transformer.h"

/* Ids from text, separated by blanks, commas or line ends; for the caller to free. Errors: none at
 * all, something that is no number, an id that the model does not have. */
bool ids_parse(const char *text, int64_t vocab_size, int32_t **ids, int64_t *count, Error *error);

/* One line per position with all vocab_size logits, separated by a blank, 9 significant digits. The
 * ids go through the model in one pass. `separator`: the id between documents, for models whose
 * attention stays inside one; −1: none. Error: more ids than the model has positions. */
bool logits_print(const Model *model, const int32_t *ids, int64_t count, int64_t separator,
                  FILE *stream, Error *error);

#endif
