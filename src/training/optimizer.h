/* From gradients to new weights: summing over threads, the global norm, AdamW and SGD, all on flat
 * buffers, in parallel over fixed chunks, so that the result does not depend on the thread count. */
#ifndef TINYLM_TRAINING_OPTIMIZER_H
#define TINYLM_TRAINING_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/real.h"
#include "training/train_config.h"

typedef struct Optimizer {
    OptimizerConfig config;
    int64_t size;    /* elements of the flat buffers */
    real *m;         /* AdamW: first moment; SGD: momentum; NULL for SGD without momentum */
    real *v;         /* AdamW: second moment, else NULL */
    double *partial; /* sums of squares per chunk */
    int64_t step;    /* updates done so far */
} Optimizer;

/* Moments of 0, for flat buffers of `size` elements. Error: memory. */
bool optimizer_create(Optimizer *optimizer, const OptimizerConfig *config, int64_t size,
                      Error *error);
void optimizer_free(Optimizer *optimizer);

/* Adds gradients[1] … gradients[count − 1] to gradients[0], in this order, and returns the L2 norm
 * of the sum, formed in double. Inf or NaN when any element is. */
double optimizer_sum_gradients(Optimizer *optimizer, real *const *gradients, int count);

/* The factor of global norm clipping: max/(norm + 1e-6) when norm > max, else 1; max 0 is off.
 *                                                                                  [handout §4.5] */
double gradient_clip_factor(double norm, double max);

/* One update with gradient g = clip · gradient, at rate α; t counts updates from 1.
 * AdamW [handout §4.3]: m ← β1·m + (1−β1)g;  v ← β2·v + (1−β2)g²;
 *   α_t = α·√(1−β2^t)/(1−β1^t);  θ ← θ − α_t·m/(√v + ε);  θ ← θ − α·λ·θ
 * SGD: m ← μ·m + g;  θ ← θ − α·m */
void optimizer_update(Optimizer *optimizer, real *values, const real *gradient, double clip,
                      double rate);

#endif
