/* The head and the loss as one operation. Its gradients arise in forward, chunk by chunk, because the
 * logits are then in cache, and are never stored whole.                            [handout §4.1]
 *
 *   z = W x_n (logits, V of them);  loss_n = log Σ_j exp(z_j) − z_target   (largest z subtracted first)
 *   dz = w_n · scale · (softmax(z) − onehot(target));  dx_n = Wᵀ dz;  dW += dz x_nᵀ
 *
 * They may: nothing computed later changes them, since the loss is where backward starts. The node's
 * output is scale · Σ w_n loss_n. */
#ifndef TINYLM_TENSOR_CROSS_ENTROPY_H
#define TINYLM_TENSOR_CROSS_ENTROPY_H

#include "tensor/tape.h"

typedef struct HeadLoss {
    const int32_t *targets; /* (N), each below V */
    const real *weights;    /* (N) weight of each position in the loss; NULL: 1 */
    double scale;           /* 1 / (sum of weights over the whole batch) */
    real *losses;           /* out (N): loss of each position, unweighted, in nats */
    int32_t *predictions;   /* out (N) or NULL: the id with the largest logit (lowest on ties) */
} HeadLoss;

/* X (…, C), weight (V, C). While recording it writes the gradients that tape_backward starts from.
 * The arrays must live until it returns. */
void head_loss(Tape *tape, Tensor *x, Tensor *weight, const HeadLoss *loss);

/* dloss/dloss_n: w_n · scale. */
real head_loss_factor(const HeadLoss *loss, int64_t n);

/* One row of logits: returns the loss and turns the row into dz = factor · (softmax − onehot) in place.
 * For the tests. */
real cross_entropy_row(real *logits, int64_t V, int32_t target, real factor);

#endif
