/* Operations on each element or row independently: the activations of the feed-forward network,
 * the embedding look-up, sums. */
#ifndef TINYLM_TENSOR_ELEMENTWISE_H
#define TINYLM_TENSOR_ELEMENTWISE_H

#include "tensor/tape.h"

/* Y[n][:] = W[ids[n]][:]. W (V, C), ids (B, T) -> Y (B, T, C); dW[ids[n]] += dY[n].
 * The ids are copied to the tape; they must be below V (the caller has checked).   [handout §3.4.3] */
Tensor *embedding(Tape *tape, Tensor *weight, const int32_t *ids, int64_t B, int64_t T);

/* Y = SiLU(A) ⊙ G for X = [A | G], rows of 2F elements -> rows of F.  SiLU(a) = a·σ(a).
 *   dA = dY ⊙ G ⊙ σ(A)(1 + A(1 − σ(A))),  dG = dY ⊙ SiLU(A)          [handout §3.5.2] */
Tensor *swiglu(Tape *tape, Tensor *x);

/* Y = f(X). SiLU x·σ(x); ReLU max(x, 0); GELU x·Φ(x) = ½x(1 + erf(x/√2)), the exact one. */
typedef enum Activation { ACTIVATION_SILU, ACTIVATION_RELU, ACTIVATION_GELU } Activation;
Tensor *activation(Tape *tape, Tensor *x, Activation function);

/* Y = X + Z (equal shapes). Both gradients are dY itself. */
Tensor *add(Tape *tape, Tensor *x, Tensor *z);

#endif
