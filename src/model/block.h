/* One layer of the Transformer: attention and feed-forward network, each with its norm and its
 * residual connection. */
#ifndef TINYLM_MODEL_BLOCK_H
#define TINYLM_MODEL_BLOCK_H

#include "model/transformer.h"

/* Declares the parameters of layer i. */
void layer_declare(Model *model, int64_t i);
/* x (B, T, C) -> x (B, T, C). */
Tensor *layer_forward(const Model *model, int64_t i, Tape *tape, Tensor *x,
                      const ModelInput *input);

#endif
