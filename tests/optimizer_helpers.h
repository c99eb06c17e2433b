/* An optimizer for one vector of any length. */
#ifndef TINYLM_TESTS_OPTIMIZER_HELPERS_H
#define TINYLM_TESTS_OPTIMIZER_HELPERS_H

#include "training/optimizer.h"

static inline void optimizer_create_flat(Optimizer *optimizer, const OptimizerConfig *config,
                                         int64_t size) {
    Parameters parameters = {0};
    Error error;
    parameters_declare_one(&parameters, "theta", size, 0, INIT_ZEROS);
    parameters.size = size; /* without the padding */
    assert_true(optimizer_create(optimizer, config, &parameters, &error));
    parameters_free(&parameters);
}

#endif
