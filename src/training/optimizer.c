#include "training/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const UpdateRule *const rules[] = {
    [OPTIMIZER_ADAMW] = &update_adamw,
    [OPTIMIZER_SGD] = &update_sgd,
};

/* Elements of a chunk: the unit of work and of the partial sums. */
enum { CHUNK = 1 << 14 };

static int64_t chunks(int64_t size) {
    return (size + CHUNK - 1) / CHUNK;
}
static int64_t chunk_end(int64_t begin, int64_t size) {
    return size - begin < CHUNK ? size : begin + CHUNK;
}

int optimizer_state_count(const OptimizerConfig *config) {
    return rules[config->type]->state_count(config);
}

static real *zeros(int64_t size, Error *error) {
    real *buffer = aligned_alloc(64, ((size_t)size * sizeof(real) + 63) / 64 * 64);
    if (buffer)
        memset(buffer, 0, (size_t)size * sizeof(real));
    else
        error_set(error,
                  "cannot allocate %.1f GB for the state of the optimizer; make the model smaller",
                  (double)size * sizeof(real) / 1e9);
    return buffer;
}

/* One span per parameter; or one per chunk of an elementwise rule. */
static void plan_spans(Optimizer *o, const Parameters *parameters) {
    if (o->rule->elementwise) {
        o->span_count = chunks(o->size);
        o->spans = allocate((size_t)o->span_count, sizeof *o->spans);
        for (int64_t i = 0; i < o->span_count; i++)
            o->spans[i] = (UpdateSpan){.offset = i * CHUNK,
                                       .size = chunk_end(i * CHUNK, o->size) - i * CHUNK,
                                       .decays = true};
        return;
    }
    o->span_count = parameters->part_count;
    o->spans = allocate((size_t)o->span_count, sizeof *o->spans);
    for (int64_t i = 0; i < o->span_count; i++) {
        const Parameter *part = &parameters->parts[i];
        o->spans[i] = (UpdateSpan){part->offset, parameter_size(part), part->shape[0],
                                   part->rank == 2 ? part->shape[1] : 0, true};
    }
}

bool optimizer_create(Optimizer *optimizer, const OptimizerConfig *config,
                      const Parameters *parameters, Error *error) {
    *optimizer = (Optimizer){.config = *config,
                             .rule = rules[config->type],
                             .size = parameters->size,
                             .state_count = optimizer_state_count(config)};
    for (int i = 0; i < optimizer->state_count; i++)
        if (!(optimizer->state[i] = zeros(optimizer->size, error))) {
            optimizer_free(optimizer);
            return false;
        }
    optimizer->partial = allocate((size_t)chunks(optimizer->size), sizeof *optimizer->partial);
    plan_spans(optimizer, parameters);
    return true;
}

void optimizer_free(Optimizer *optimizer) {
    for (int i = 0; i < UPDATE_MOST_STATES; i++) free(optimizer->state[i]);
    free(optimizer->partial);
    free(optimizer->spans);
    *optimizer = (Optimizer){0};
}

double optimizer_sum_gradients(Optimizer *optimizer, real *const *gradients, int count) {
    int64_t size = optimizer->size;
#pragma omp parallel for schedule(static)
    for (int64_t begin = 0; begin < size; begin += CHUNK) {
        int64_t end = chunk_end(begin, size);
        real *sum = gradients[0];
        for (int k = 1; k < count; k++) {
            const real *other = gradients[k];
#pragma omp simd
            for (int64_t i = begin; i < end; i++) sum[i] += other[i];
        }
        double squares = 0;
#pragma omp simd reduction(+ : squares)
        for (int64_t i = begin; i < end; i++) squares += (double)sum[i] * (double)sum[i];
        optimizer->partial[begin / CHUNK] = squares;
    }
    double total = 0;
    for (int64_t i = 0; i < chunks(size); i++) total += optimizer->partial[i];
    return sqrt(total);
}

double gradient_clip_factor(double norm, double max) {
    return max > 0 && norm > max ? max / (norm + 1e-6) : 1;
}

void optimizer_update(Optimizer *optimizer, real *values, const real *gradient, double clip,
                      double rate) {
    optimizer->step++;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < optimizer->span_count; i++)
        optimizer->rule->update(optimizer, optimizer->spans[i], values, gradient, clip, rate);
}
