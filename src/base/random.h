/* Counter-based random numbers: every number is a pure function of (seed, stream, index), so that
 * no state has to be saved, and the order of computation cannot change what is drawn.
 * Generator: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). */
#ifndef TINYLM_BASE_RANDOM_H
#define TINYLM_BASE_RANDOM_H

#include <stdint.h>

/* One stream per use, so that no two uses see the same numbers. */
typedef enum RandomStream {
    RANDOM_INIT = 1,     /* index: (parameter number << 40) + element */
    RANDOM_WINDOWS = 2,  /* index: step · rows per step + row (training windows) */
    RANDOM_SAMPLING = 3, /* index: (sequence << 32) + token position */
    RANDOM_TASK = 4,     /* training sequences of the built-in tasks */
    RANDOM_TASK_VALID = 5,
    RANDOM_TALES = 6,
    RANDOM_TEST = 7,
} RandomStream;

/* The raw block: 10 rounds on a 128-bit counter with a 64-bit key (checked in the tests against the
 * known answers of the Random123 library). */
void random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

uint64_t random_u64(uint64_t seed, RandomStream stream, uint64_t index);
/* Uniform in [0, 1), 53 bits. */
double random_uniform(uint64_t seed, RandomStream stream, uint64_t index);
/* Uniform whole number in [0, n), n >= 1. */
uint64_t random_below(uint64_t seed, RandomStream stream, uint64_t index, uint64_t n);
/* Standard normal, truncated to [-limit, limit] by drawing again (Box-Muller in double). */
double random_truncated_normal(uint64_t seed, RandomStream stream, uint64_t index, double limit);

#endif
