/* RMSNorm: y_c = x_c · g_c / √(mean(x²) + ε), row by row.                        [handout §3.5.1]
 * With r = 1/√(mean(x²) + ε), saved per row:
 *   dg_c = Σ_rows dy_c x_c r
 *   dx_c = r (dy_c g_c − x_c r² · mean(dy ⊙ g ⊙ x))
 * Transient output when it only feeds products (pre-norm): recomputed in backward, not stored. */
#ifndef TINYLM_TENSOR_RMSNORM_H
#define TINYLM_TENSOR_RMSNORM_H

#include <stdbool.h>

#include "tensor/tape.h"

/* X (…, C), gain (C) -> Y (…, C). */
Tensor *rmsnorm(Tape *tape, Tensor *x, Tensor *gain, double eps, bool transient);

#endif
