#define _GNU_SOURCE
#include "base/parallel.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* Declared here because the header of a reference CBLAS does not have them. */
void openblas_set_num_threads(int);
char *openblas_get_corename(void);

int parallel_available(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

void parallel_flush_denormals(void) {
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | 0x8040); /* FTZ and DAZ */
#elif defined(__aarch64__)
    unsigned long fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" ::"r"(fpcr | 1ul << 24));
#endif
}

int parallel_start(int threads) {
    openblas_set_num_threads(1);
    if (threads <= 0) threads = parallel_available();
    omp_set_dynamic(0); /* an explicit number is obeyed, also on a busy machine */
    omp_set_max_active_levels(1);
    omp_set_num_threads(threads);
#pragma omp parallel
    parallel_flush_denormals();
    return threads;
}

int parallel_threads(void) {
    return omp_get_max_threads();
}

bool parallel_active(void) {
    return omp_in_parallel();
}

const char *parallel_blas_kernel(void) {
    return openblas_get_corename();
}
