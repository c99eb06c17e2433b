/* Threads: one OpenMP team for everything; OpenBLAS never starts threads of its own. */
#ifndef TINYLM_BASE_PARALLEL_H
#define TINYLM_BASE_PARALLEL_H

#include <stdbool.h>

/* The number of processors this process may use (its affinity mask and the quota of its
 * container, base/cgroup.h; not the machine's total). */
int parallel_available(void);

/* Sets the team's size (0: all available processors), makes OpenBLAS single-threaded and flushes
 * denormals to zero in every thread. Call first thing in a program; whatever OMP_NUM_THREADS or
 * OPENBLAS_NUM_THREADS say, the result is the same. Returns the size, which is smaller than asked for
 * where the environment has an OMP_THREAD_LIMIT below it.
 *
 * An OpenBLAS older than the processor (Debian 12's, on processors from 2023 on) does not recognise it
 * and takes kernels of 2004, ten times slower than what it has. Then, and only when the user has not
 * set OPENBLAS_CORETYPE, the program starts itself again with the right one named there: the library
 * chooses while it is being loaded, so it is too late for this process. Nothing may have been printed
 * or opened before the call. */
int parallel_start(int threads);
/* The size of the team, as parallel_start set it. */
int parallel_threads(void);

/* True inside a parallel region, where operations must not start another one. */
bool parallel_active(void);

/* Turns on flush-to-zero and denormals-are-zero in the calling thread (no-op where the processor has
 * no such mode). Moments that decay below 1e-38 would otherwise make every step slower. */
void parallel_flush_denormals(void);

/* Name of the kernels OpenBLAS picked ("SkylakeX", "Haswell", …). */
const char *parallel_blas_kernel(void);

#endif
