/* Stochastic gradient descent with momentum:  m ← μ·m + g;  θ ← θ − α·m  (no weight decay).
 * Without momentum m is g, and there is no state. */
#include "training/optimizer.h"

static int sgd_states(const OptimizerConfig *config) {
    return config->momentum != 0;
}

static void sgd_update(const Optimizer *o, UpdateSpan span, real *theta, const real *gradient,
                       double clip, double rate) {
    real scale = (real)clip, step = (real)rate, momentum = (real)o->config.momentum;
    real *m = o->state[0];
    for (int64_t i = span.offset; i < span.offset + span.size; i++) {
        real g = gradient[i] * scale;
        if (m) g = m[i] = momentum * m[i] + g;
        theta[i] -= step * g;
    }
}

const UpdateRule update_sgd = {
    .states = {"m"}, .state_count = sgd_states, .elementwise = true, .update = sgd_update};
