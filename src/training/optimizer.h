/* From gradients to new weights: summing over workers, the global norm, and the update. Flat buffers, in
 * parallel over fixed chunks, so that the result does not depend on the thread count.
 *
 * An optimizer is one value, an UpdateRule in a file of its own (adamw.c, sgd.c): what state it needs
 * and how it updates a span. */
#ifndef TINYLM_TRAINING_OPTIMIZER_H
#define TINYLM_TRAINING_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/real.h"
#include "model/parameters.h"
#include "training/train_config.h"

typedef struct Optimizer Optimizer;

/* A parameter in the flat buffers; or, for an elementwise rule, several that lie side by side. */
typedef struct UpdateSpan {
    int64_t offset, size;
    int64_t rows, columns; /* of a matrix; a vector has columns 0; of several: 0, 0 */
    bool decays;           /* weight decay applies (here to all parameters, as in the handout) */
} UpdateSpan;

enum { UPDATE_MOST_STATES = 2 };

typedef struct UpdateRule {
    const char *states[UPDATE_MOST_STATES];            /* names of its state buffers: "m", "v" */
    int (*state_count)(const OptimizerConfig *config); /* how many of them this config needs */
    bool elementwise; /* each weight by itself: spans are merged, and cut at any element */
    /* Updates elements [offset, offset + size) of theta and of the states with g = clip · gradient. A
     * rule that is not elementwise gets one whole parameter. Spans run in parallel. */
    void (*update)(const Optimizer *optimizer, UpdateSpan span, real *theta, const real *gradient,
                   double clip, double rate);
} UpdateRule;

extern const UpdateRule update_adamw, update_sgd;

struct Optimizer {
    OptimizerConfig config;
    const UpdateRule *rule;
    int64_t size;                    /* elements of the flat buffers */
    real *state[UPDATE_MOST_STATES]; /* flat; the first state_count of them */
    int state_count;
    UpdateSpan *spans; /* what one call of `update` gets */
    int64_t span_count;
    double *partial; /* sums of squares per chunk */
    int64_t step;    /* updates done so far */
};

/* How many state buffers the optimizer of this config has. */
int optimizer_state_count(const OptimizerConfig *config);
/* States of 0 for these parameters. Error: memory. */
bool optimizer_create(Optimizer *optimizer, const OptimizerConfig *config,
                      const Parameters *parameters, Error *error);
void optimizer_free(Optimizer *optimizer);

/* Adds gradients[1] … gradients[count − 1] to gradients[0], in this order, and returns the L2 norm
 * of the sum, formed in double. Inf or NaN when any element is. */
double optimizer_sum_gradients(Optimizer *optimizer, real *const *gradients, int count);

/* The factor of global norm clipping: max/(norm + 1e-6) when norm > max, else 1; max 0 is off.
 *                                                                                  [handout §4.5] */
double gradient_clip_factor(double norm, double max);

/* One update with gradient g = clip · gradient, at rate α; optimizer->step counts updates from 1. */
void optimizer_update(Optimizer *optimizer, real *values, const real *gradient, double clip,
                      double rate);

#endif
