/* e^x and what is made of it, sums and maxima, as inline functions: the compiler turns them into vector
 * code where they are used, inside a simd loop. */
#ifndef TINYLM_TENSOR_VECTOR_MATH_H
#define TINYLM_TENSOR_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/real.h"

/* e^x. In float a polynomial that the compiler turns into vector code inside a simd loop; its
 * relative error is below 2e-7 and results under 1e-38 come out as 0. Half of a training step was
 * spent in libm's exp before this. NaN stays NaN.
 *
 *   x = n·ln 2 + r, |r| <= ln 2 / 2;  e^x = 2^n · e^r;  e^r by its Taylor polynomial of degree 7
 *
 * What x out of range makes of that is thrown away at the end; clamping x first costs more, because
 * gcc then follows the clamped constants through all of it. */
static inline real real_exp(real x) {
#ifdef REAL_IS_double
    return exp(x);
#else
    /* Adding 1.5 · 2^23 rounds to a whole number and leaves it in the low bits. */
    float shifted = x * 1.44269504f + 12582912.0f;
    float n = shifted - 12582912.0f;
    float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
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
    power =
        (int32_t)((uint32_t)power + ((uint32_t)bits << 23)); /* 2^n: n into the exponent field */
    memcpy(&p, &power, sizeof p);
    p = x < -87.3f ? 0.0f : p;
    /* Infinity; and a NaN stays one, whose bits n has spoilt. */
    return x <= 88.72f ? p : x + HUGE_VALF;
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

/* ---- vectors as wide as the machine's, for what the compiler does not make of a plain loop ---- */

#ifdef __AVX512F__
enum { VECTOR_BYTES = 64 };
#elif defined __AVX__
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif
enum { LANES = VECTOR_BYTES / sizeof(real) };

/* At any address that a real may have. */
typedef real Vector __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));

/* The sum of the elements, halves at a time. (gcc adds those of a simd reduction one after the other,
 * which takes longer than a short row.) */
static inline real vector_sum(Vector v) {
    enum { HALF = LANES / 2, FEW = LANES > 4 ? LANES / 4 : HALF };
    real x[LANES];
    memcpy(x, &v, sizeof x);
    for (int l = 0; l < HALF; l++) x[l] += x[l + HALF];
    for (int l = 0; FEW < HALF && l < FEW; l++) x[l] += x[l + FEW];
    for (int l = 1; l < FEW; l++) x[0] += x[l];
    return x[0];
}

/* Σ a_i b_i. */
static inline real real_dot(int64_t n, const real *a, const real *b) {
    Vector sums = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) sums += *(const Vector *)(a + i) * *(const Vector *)(b + i);
    real sum = vector_sum(sums);
    for (; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static inline real real_larger(real a, real b) {
    return a > b ? a : b;
}

/* The larger of each two elements; where one of them is NaN that of b. */
static inline Vector vector_larger(Vector a, Vector b) {
    real x[LANES], y[LANES];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
#pragma omp simd
    for (int l = 0; l < LANES; l++) y[l] = real_larger(x[l], y[l]);
    memcpy(&b, y, sizeof y);
    return b;
}

/* The largest of n numbers, −∞ for none; NaN is passed over. */
static inline real real_max(int64_t n, const real *x) {
    enum { HALF = LANES / 2 };
    Vector largest = (Vector){0} - HUGE_VALF;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) largest = vector_larger(*(const Vector *)(x + i), largest);
    real y[LANES];
    memcpy(y, &largest, sizeof y);
    for (int l = 0; l < HALF; l++) y[l] = real_larger(y[l + HALF], y[l]);
    for (int l = 1; l < HALF; l++) y[0] = real_larger(y[l], y[0]);
    for (; i < n; i++) y[0] = real_larger(x[i], y[0]);
    return y[0];
}

static inline real real_sigmoid(real x) {
    return 1 / (1 + real_exp(-x));
}

/* Where x[i] would be, for prefetching: i may lie outside of the array x points into. */
static inline const void *address_of(const real *x, int64_t i) {
    return (const void *)((uintptr_t)x + (uintptr_t)i * sizeof(real));
}

#endif
