/* The whole model as its definition in loops: no blocks, no vector code, no library. Read this first;
 * `./train --plain` trains on it, gradcheck checks its gradients, and the tests hold the fast
 * operations against it. A student who wants to change one operation starts here.
 *
 * A function named in an Operation works on a whole node: its inputs, output, options, and in backward
 * output_gradient (dY) and input_gradients (dX), to which it adds; a gradient that is not required is
 * NULL. Formulas: the headers in tensor/. Letters for dimensions: tensor.h; N = B·T tokens. */
#ifndef TINYLM_TENSOR_PLAIN_PLAIN_H
#define TINYLM_TENSOR_PLAIN_PLAIN_H

#include "tensor/attention.h"
#include "tensor/cross_entropy.h"
#include "tensor/matmul.h"

/* plain_linear.c */
void plain_embedding(const Node *node);
void plain_embedding_backward(const Node *node);
void plain_linear(const Node *node);
void plain_linear_backward(const Node *node);
void plain_add(const Node *node);

/* plain_elementwise.c */
void plain_rmsnorm(const Node *node);
void plain_rmsnorm_backward(const Node *node);
void plain_swiglu(const Node *node);
void plain_swiglu_backward(const Node *node);
void plain_activation(const Node *node);
void plain_activation_backward(const Node *node);

/* plain_attention.c. A key/value cache is not supported. */
void plain_attention(const Node *node);
void plain_attention_backward(const Node *node);

/* plain_cross_entropy.c */
void plain_head_loss(const Node *node);

/* ---- the parts of which they are made, for the tests and for other rooms ---- */

/* See cross_entropy_row. */
real plain_cross_entropy_row(real *logits, int64_t V, int32_t target, real factor);

/* Attention of one head: q, out (T, D), k, v (K, D), K >= T; query i sits at position K − T + i and
 * attends to first[i] <= j <= its position (to all j when not causal; first may be NULL). bias (T, K)
 * is added to the scores, may be NULL. weights (T, K) gets the softmax. */
void plain_attention_head(int64_t T, int64_t K, int64_t D, bool causal, const int32_t *first,
                          const real *q, const real *k, const real *v, const real *bias,
                          real *weights, real *out);
/* Given weights from the forward pass and dout (T, D): adds to dq, dk, dv. dscores (T, K): on entry
 * what a position scheme adds to d/dweights (or 0), on return d/dscores. */
void plain_attention_head_backward(int64_t T, int64_t K, int64_t D, const real *q, const real *k,
                                   const real *v, const real *weights, const real *dout, real *dq,
                                   real *dk, real *dv, real *dscores);

/* y = R_m x for one head: the D × D matrix written out, a rotation by m·theta[i] for each of the
 * rotated/2 pairs (2i, 2i + 1), or (i, i + rotated/2) in halves, and 1 on the rest of the diagonal.
 * R_mᵀ = R_{−m}. x and y must not overlap. */
void plain_rope(int64_t D, int64_t rotated, bool halves, double m, const double *theta,
                const real *x, real *y);

#endif
