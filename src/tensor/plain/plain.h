/* Every operation once more, as its definition in loops: no blocks, no vector code, no library.
 * The tests compare the fast kernels with these, and a student who wants to change one operation starts
 * here. `./train --plain` trains on them; only attention and rope keep their blocks and tables there, and
 * multiply by plain_matmul. Same conventions as the fast ones: backward
 * functions add to the gradients they are given. */
#ifndef TINYLM_TENSOR_PLAIN_PLAIN_H
#define TINYLM_TENSOR_PLAIN_PLAIN_H

#include "tensor/elementwise.h"
#include "tensor/matmul.h"

/* C = alpha · op(A) · op(B) + beta · C; see matmul.h. */
void plain_matmul(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a, MatmulOperand b,
                  real beta, real *c, int64_t ldc);

/* One row of C elements; forward returns r = 1/√(mean(x²) + eps). dx and dgain may be NULL. */
real plain_rmsnorm(int64_t C, const real *x, const real *gain, double eps, real *y);
void plain_rmsnorm_backward(int64_t C, const real *x, const real *gain, real r, const real *dy,
                            real *dx, real *dgain);

/* One row of F elements: y = SiLU(a) ⊙ g. */
void plain_swiglu(int64_t F, const real *a, const real *g, real *y);
void plain_swiglu_backward(int64_t F, const real *a, const real *g, const real *dy, real *da,
                           real *dg);

void plain_activation(Activation function, int64_t n, const real *x, real *y);
void plain_activation_backward(Activation function, int64_t n, const real *x, const real *dy,
                               real *dx);

/* See cross_entropy.h. */
real plain_cross_entropy_row(real *logits, int64_t V, int32_t target, real factor);

/* One head: q, out (T, D), k, v (K, D), K >= T; row i sits at position K − T + i and attends to
 * first[i] <= j <= its position (to all j when not causal; first may be NULL). bias (T, K) is added
 * to the scores, may be NULL. weights (T, K) gets the softmax. */
void plain_attention(int64_t T, int64_t K, int64_t D, bool causal, const int32_t *first,
                     const real *q, const real *k, const real *v, const real *bias, real *weights,
                     real *out);
/* Given weights from the forward pass and dout (T, D): adds to dq, dk, dv; dscores (T, K) is written. */
void plain_attention_backward(int64_t T, int64_t K, int64_t D, const real *q, const real *k,
                              const real *v, const real *weights, const real *dout, real *dq,
                              real *dk, real *dv, real *dscores);

/* y = R_m x for one head: the D × D matrix written out, a rotation by m·theta[i] for each of the
 * rotated/2 pairs (2i, 2i + 1), or (i, i + rotated/2) in halves, and 1 on the rest of the diagonal.
 * x and y must not overlap. */
void plain_rope(int64_t D, int64_t rotated, bool halves, double m, const double *theta,
                const real *x, real *y);

#endif
