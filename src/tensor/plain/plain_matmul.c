#include "tensor/plain/plain.h"

static real element(MatmulOperand x, int64_t row, int64_t column) {
    return x.data[x.transposed ? column * x.stride + row : row * x.stride + column];
}

void plain_matmul(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a, MatmulOperand b,
                  real beta, real *c, int64_t ldc) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += (double)element(a, i, l) * (double)element(b, l, j);
            real *to = &c[i * ldc + j];
            *to = (real)((double)alpha * sum) + (beta == 0 ? 0 : beta * *to);
        }
}
