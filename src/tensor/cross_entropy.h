/* The head and the loss as one operation, over chunks of rows, so that the logits of a step are never
 * stored whole.                                                                   [handout §4.1]
 *
 *   z = W x_n (logits, V of them);  loss_n = log Σ_j exp(z_j) − z_target   (largest z subtracted first)
 *   dz = w_n · scale · (softmax(z) − onehot(target));  dx_n = Wᵀ dz;  dW += dz x_nᵀ
 *
 * The gradients do not depend on anything computed later, so forward forms them at once while the
 * chunk of logits is in cache. The node's output, scale · Σ w_n loss_n, is there for the search for what
 * is not finite; everybody else reads the losses. */
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

/* X (…, C), weight (V, C). While recording it starts backward: tape_backward then needs no seed.
 * The arrays must live until it returns. */
void head_loss(Tape *tape, Tensor *x, Tensor *weight, const HeadLoss *loss);

/* One row of logits: returns the loss and turns the row into dz = factor · (softmax − onehot) in place.
 * For the tests. */
real cross_entropy_row(real *logits, int64_t V, int32_t target, real factor);

#endif
