#define _GNU_SOURCE
#include "base/parallel.h"

#include <omp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "base/cgroup.h"

/* Declared here because the header of a reference CBLAS does not have them. */
void openblas_set_num_threads(int);
char *openblas_get_corename(void);
/* Ends the threads that the pthread build starts while it is being loaded: they are never given work
 * here, but spin for a while before they sleep. Other builds do not have the function. */
int blas_thread_shutdown_(void) __attribute__((weak));

int parallel_available(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) count = CPU_COUNT(&set);
#endif
    int limit = cgroup_processors("");
    return count < 1 ? 1 : count < limit ? (int)count : limit;
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

#if defined(__linux__) && defined(__x86_64__)
/* The kernels OpenBLAS should have taken, or NULL if its choice is fine. */
static const char *better_kernel(void) {
    static const char *const old[] = {"Prescott",   "Core2",   "Penryn",
                                      "Dunnington", "Nehalem", "Atom"};
    bool is_old = false;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        is_old = is_old || strcmp(openblas_get_corename(), old[i]) == 0;
    __builtin_cpu_init();
    if (!is_old || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NULL;
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return avx512 ? "SkylakeX" : "Haswell";
}

/* Starts this program again, with the same arguments, if that gives it better kernels. Returns if it does not, or if exec fails: a slow program is better than none. */
static void restart_with_better_kernel(void) {
    const char *kernel = getenv("OPENBLAS_CORETYPE") ? NULL : better_kernel();
    FILE *file = kernel ? fopen("/proc/self/cmdline", "rbe") : NULL;
    if (!file) return;
    static char text[1 << 21]; /* the kernel's own limit on arguments */
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    size_t count = 0;
    for (size_t i = 0; i < size; i++) count += text[i] == '\0';
    char **argv = calloc(count + 1, sizeof *argv);
    if (argv && size < sizeof text && setenv("OPENBLAS_CORETYPE", kernel, 1) == 0) {
        char *next = text;
        for (size_t i = 0; i < count; i++, next += strlen(next) + 1) argv[i] = next;
        execv("/proc/self/exe", argv);
        unsetenv("OPENBLAS_CORETYPE");
    }
    free(argv);
}
#else
static void restart_with_better_kernel(void) {}
#endif

int parallel_start(int threads) {
    restart_with_better_kernel();
    openblas_set_num_threads(1);
    if (blas_thread_shutdown_) blas_thread_shutdown_();
    if (threads <= 0) threads = parallel_available();
    omp_set_dynamic(0); /* an explicit number is obeyed, also on a busy machine */
    omp_set_max_active_levels(1);
    omp_set_num_threads(threads);
    int team = 0;
#pragma omp parallel reduction(+ : team)
    {
        parallel_flush_denormals();
        team++;
    }
    /* OMP_THREAD_LIMIT may give fewer than asked for. Work is shared out by the team's size, and a share
     * without a thread would never be done. */
    if (team < threads) omp_set_num_threads(team);
    return team;
}

int parallel_threads(void) {
    return omp_get_max_threads();
}

void parallel_resize(int threads) {
    omp_set_num_threads(threads);
}

/* Of this thread; 0: not set. */
static _Thread_local int share = 0;

int parallel_share(void) {
    if (share) return share;
    return omp_in_parallel() ? 1 : omp_get_max_threads();
}

/* Of work for a part: about 10 µs, of which waking a thread takes a small part. */
static const int64_t GRAIN = 1 << 20;

int parallel_parts(int64_t most, int64_t work) {
    if (work / GRAIN < most) most = work / GRAIN;
    return most < 2 ? 1 : most < parallel_share() ? (int)most : parallel_share();
}

void parallel_set_share(int threads) {
    share = threads;
}

/* What runs inside of a part is not cut again. */
static void run_part(void (*function)(void *, int), void *context, int part) {
    int before = share;
    share = 1;
    function(context, part);
    share = before;
}

void parallel_run(int parts, void (*function)(void *context, int part), void *context) {
    if (parts > 1 && !omp_in_parallel()) {
#pragma omp parallel for schedule(static, 1) num_threads(parts)
        for (int part = 0; part < parts; part++) run_part(function, context, part);
        return;
    }
    for (int part = 1; part < parts; part++) {
#pragma omp task firstprivate(part)
        run_part(function, context, part);
    }
    run_part(function, context, 0);
#pragma omp taskwait
}

const char *parallel_blas_kernel(void) {
    return openblas_get_corename();
}
