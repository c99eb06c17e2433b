/* Products of blocks that stay in the first-level cache: what attention multiplies. gemm first puts its
 * operands into another order, which takes as long as such a product; here B lies in that order
 * already, and the loops are compiled for the machine's own vectors. */
#ifndef TINYLM_TENSOR_PACKED_PRODUCT_H
#define TINYLM_TENSOR_PACKED_PRODUCT_H

#include "tensor/matmul.h"

enum { PANEL = 2 * LANES };

/* A matrix cut into panels of PANEL columns: element (p, j) is
 * data[j / PANEL · distance + p · stride + j % PANEL]. A row-major one has distance PANEL. */
typedef struct PackedMatrix {
    const real *data;
    int64_t stride, distance;
} PackedMatrix;

/* C = alpha · op(A) · B + beta · C, op(A) of m × k, B of k × n; with beta 0 the old C is not read.
 * B is read in whole vectors: up to LANES − 1 reals after column n, which must be readable, and are
 * thrown away. A whole number of vectors is faster. Runs on the calling thread. */
void packed_product(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a, PackedMatrix b,
                    real beta, real *c, int64_t ldc);

/* from (rows, D) transposed to panels of D rows; columns beyond `rows` are 0. Takes
 * packed_size(rows, D) reals at `to`. */
PackedMatrix pack_transposed(int64_t rows, int64_t D, const real *from, real *to);
int64_t packed_size(int64_t rows, int64_t D);

#endif
