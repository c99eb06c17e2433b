/* e^x and what is made of it, as plain inline functions that the compiler turns into vector code
 * inside a simd loop. */
#ifndef TINYLM_TENSOR_VECTOR_MATH_H
#define TINYLM_TENSOR_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/real.h"

/* e^x. In float a polynomial that the compiler turns into vector code inside a simd loop; its
 * relative error is below 2e-7 and results under 1e-38 come out as 0. Half of a training step was
 * spent in libm's exp before this. NaN stays NaN: the clamps are written so that it passes through.
 *
 *   x = n·ln 2 + r, |r| <= ln 2 / 2;  e^x = 2^n · e^r;  e^r by its Taylor polynomial of degree 7 */
static inline real real_exp(real x) {
#ifdef REAL_IS_double
    return exp(x);
#else
    float clamped = x > 88.7f ? 88.7f : x;
    clamped = clamped < -87.3f ? -87.3f : clamped;
    /* Adding 1.5 · 2^23 rounds to a whole number and leaves it in the low bits. */
    float shifted = clamped * 1.44269504f + 12582912.0f;
    float n = shifted - 12582912.0f;
    float r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;
    float p = 1.98412698e-4f;
    p = p * r + 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int32_t bits, power;
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&power, &p, sizeof power);
    power += (int32_t)((uint32_t)bits << 23); /* multiply by 2^n: add n to the exponent field */
    memcpy(&p, &power, sizeof p);
    float result = x < -87.3f ? 0.0f : p;
    return x > 88.72f ? HUGE_VALF : result;
#endif
}

static inline real real_sqrt(real x) {
#ifdef REAL_IS_double
    return sqrt(x);
#else
    return sqrtf(x);
#endif
}

static inline real real_log(real x) {
#ifdef REAL_IS_double
    return log(x);
#else
    return logf(x);
#endif
}

/* The largest of n numbers, −∞ for none; NaN is passed over. Sixteen maxima side by side, because a
 * single one is a chain that clang does not turn into vector code. */
static inline real real_max(int64_t n, const real *x) {
    enum { LANES = 16 };
    real lanes[LANES], largest = -HUGE_VALF;
    for (int64_t l = 0; l < LANES; l++) lanes[l] = -HUGE_VALF;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
#pragma omp simd
        for (int64_t l = 0; l < LANES; l++) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
    }
    for (; i < n; i++) largest = x[i] > largest ? x[i] : largest;
    for (int64_t l = 0; l < LANES; l++) largest = lanes[l] > largest ? lanes[l] : largest;
    return largest;
}

/* Σ a_i b_i. */
static inline real real_dot(int64_t n, const real *a, const real *b) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static inline real real_sigmoid(real x) {
    return 1 / (1 + real_exp(-x));
}

#endif
