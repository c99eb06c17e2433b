/* AdamW [handout §4.3], with t the number of the update from 1:
 *   m ← β1·m + (1−β1)g;  v ← β2·v + (1−β2)g²;  α_t = α·√(1−β2^t)/(1−β1^t)
 *   θ ← θ − α_t·m/(√v + ε);  θ ← θ − α·λ·θ */
#include <math.h>

#include "tensor/vector_math.h"
#include "training/optimizer.h"

static int adamw_states(const OptimizerConfig *config) {
    (void)config;
    return 2;
}

static void adamw_update(const Optimizer *o, UpdateSpan span, real *theta, const real *gradient,
                         double clip, double rate) {
    double t = (double)o->step;
    real b1 = (real)o->config.beta1, b2 = (real)o->config.beta2;
    real c1 = (real)(1 - o->config.beta1), c2 = (real)(1 - o->config.beta2);
    real eps = (real)o->config.eps, scale = (real)clip;
    real step = (real)(rate * sqrt(1 - pow(o->config.beta2, t)) / (1 - pow(o->config.beta1, t)));
    real decay = span.decays ? (real)(rate * o->config.weight_decay) : 0;
    real *m = o->state[0], *v = o->state[1];
#pragma omp simd
    for (int64_t i = span.offset; i < span.offset + span.size; i++) {
        real g = gradient[i] * scale;
        m[i] = b1 * m[i] + c1 * g;
        v[i] = b2 * v[i] + c2 * g * g;
        real moved = theta[i] - step * m[i] / (real_sqrt(v[i]) + eps);
        theta[i] = moved - decay * moved;
    }
}

const UpdateRule update_adamw = {
    .states = {"m", "v"}, .state_count = adamw_states, .elementwise = true, .update = adamw_update};
