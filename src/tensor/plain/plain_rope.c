#include <stdlib.h>

#include "base/error.h"
#include "tensor/plain/plain.h"

void plain_rope(int64_t D, int64_t rotated, bool halves, double m, const double *theta,
                const real *x, real *y) {
    double *R = allocate_zeroed((size_t)(D * D), sizeof *R);
    for (int64_t d = rotated; d < D; d++) R[d * D + d] = 1;
    for (int64_t i = 0; i < rotated / 2; i++) {
        int64_t a = halves ? i : 2 * i, b = halves ? i + rotated / 2 : 2 * i + 1;
        R[a * D + a] = R[b * D + b] = cos(m * theta[i]);
        R[a * D + b] = -sin(m * theta[i]);
        R[b * D + a] = sin(m * theta[i]);
    }
    for (int64_t r = 0; r < D; r++) {
        double sum = 0;
        for (int64_t c = 0; c < D; c++) sum += R[r * D + c] * (double)x[c];
        y[r] = (real)sum;
    }
    free(R);
}
