#include "training/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/vector_math.h"

/* Elements of a chunk: the unit of work and of the partial sums. */
enum { CHUNK = 1 << 14 };

static int64_t chunks(int64_t size) {
    return (size + CHUNK - 1) / CHUNK;
}
static int64_t chunk_end(int64_t begin, int64_t size) {
    return size - begin < CHUNK ? size : begin + CHUNK;
}

static real *zeros(int64_t size, Error *error) {
    real *buffer = aligned_alloc(64, ((size_t)size * sizeof(real) + 63) / 64 * 64);
    if (buffer)
        memset(buffer, 0, (size_t)size * sizeof(real));
    else
        error_set(error,
                  "the optimizer needs %.1f GB of memory, which cannot be had; make the model "
                  "smaller",
                  (double)size * sizeof(real) / 1e9);
    return buffer;
}

bool optimizer_create(Optimizer *optimizer, const OptimizerConfig *config, int64_t size,
                      Error *error) {
    *optimizer = (Optimizer){.config = *config, .size = size};
    bool adamw = config->type == OPTIMIZER_ADAMW;
    if (adamw || config->momentum != 0) optimizer->m = zeros(size, error);
    if (adamw && optimizer->m) optimizer->v = zeros(size, error);
    if ((adamw && !optimizer->v) || (!adamw && config->momentum != 0 && !optimizer->m)) {
        optimizer_free(optimizer);
        return false;
    }
    optimizer->partial = allocate((size_t)chunks(size), sizeof *optimizer->partial);
    return true;
}

void optimizer_free(Optimizer *optimizer) {
    free(optimizer->m);
    free(optimizer->v);
    free(optimizer->partial);
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

static void adamw_range(const Optimizer *o, real *theta, const real *gradient, double clip,
                        double rate, int64_t begin, int64_t end) {
    double t = (double)o->step;
    real b1 = (real)o->config.beta1, b2 = (real)o->config.beta2;
    real c1 = (real)(1 - o->config.beta1), c2 = (real)(1 - o->config.beta2);
    real eps = (real)o->config.eps, scale = (real)clip;
    real step = (real)(rate * sqrt(1 - pow(o->config.beta2, t)) / (1 - pow(o->config.beta1, t)));
    real decay = (real)(rate * o->config.weight_decay);
    real *m = o->m, *v = o->v;
#pragma omp simd
    for (int64_t i = begin; i < end; i++) {
        real g = gradient[i] * scale;
        m[i] = b1 * m[i] + c1 * g;
        v[i] = b2 * v[i] + c2 * g * g;
        real moved = theta[i] - step * m[i] / (real_sqrt(v[i]) + eps);
        theta[i] = moved - decay * moved;
    }
}

static void sgd_range(const Optimizer *o, real *theta, const real *gradient, double clip,
                      double rate, int64_t begin, int64_t end) {
    real scale = (real)clip, step = (real)rate, momentum = (real)o->config.momentum;
    for (int64_t i = begin; i < end; i++) {
        real g = gradient[i] * scale;
        if (o->m) g = o->m[i] = momentum * o->m[i] + g;
        theta[i] -= step * g;
    }
}

void optimizer_update(Optimizer *optimizer, real *values, const real *gradient, double clip,
                      double rate) {
    optimizer->step++;
    int64_t size = optimizer->size;
#pragma omp parallel for schedule(static)
    for (int64_t begin = 0; begin < size; begin += CHUNK) {
        (optimizer->config.type == OPTIMIZER_ADAMW ? adamw_range : sgd_range)(
            optimizer, values, gradient, clip, rate, begin, chunk_end(begin, size));
    }
}
