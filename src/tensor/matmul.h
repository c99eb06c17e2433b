/* Matrix products, row-major. The only caller of OpenBLAS for products in the program. */
#ifndef TINYLM_TENSOR_MATMUL_H
#define TINYLM_TENSOR_MATMUL_H

#include <stdbool.h>

#include "tensor/tape.h"

/* C = alpha · op(A) · op(B) + beta · C, with op(A) of m × k, op(B) of k × n, C of m × n.
 * op(X) is X, or Xᵀ when transposed; lda, ldb, ldc are the row lengths in memory of A, B, C as stored.
 * With beta 0 the old contents of C are not read (NaN there does not matter). Inside a parallel region
 * it runs on the calling thread, outside of one it is split over the team. */
typedef struct MatmulOperand {
    const real *data;
    int64_t stride;
    bool transposed;
} MatmulOperand;
void matmul(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a, MatmulOperand b,
            real beta, real *c, int64_t ldc);

/* Y = X · Wᵀ + R: X (N, in), W (out, in), residual R (N, out) or NULL, Y (N, out).
 *   dX = dY · W,  dW = dYᵀ · X,  dR = dY.                                     [handout §3.4.2] */
Tensor *linear(Tape *tape, Tensor *x, Tensor *weight, Tensor *residual);

#endif
