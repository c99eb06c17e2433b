/* Threads: one OpenMP team for everything; OpenBLAS never starts threads of its own. */
#ifndef TINYLM_BASE_PARALLEL_H
#define TINYLM_BASE_PARALLEL_H

#include <stdint.h>

/* The number of processors this process may use (its affinity mask and the quota of its
 * container, base/cgroup.h; not the machine's total). */
int parallel_available(void);

/* Sets the team's size (0: all available processors), makes OpenBLAS single-threaded and flushes
 * denormals to zero in every thread. Call first thing in a program; whatever OMP_NUM_THREADS or
 * OPENBLAS_NUM_THREADS say, the result is the same. Returns the size, which is smaller than asked for
 * where the environment has an OMP_THREAD_LIMIT below it.
 *
 * An OpenBLAS older than the processor (Debian 12's, on processors from 2023 on) does not recognise it
 * and falls back to kernels of 2004, ten times slower. Then, and only when the user has not set
 * OPENBLAS_CORETYPE, the program starts itself again with the right one named there: the library
 * chooses while it is being loaded, so it is too late for this process. Nothing may have been printed
 * or opened before the call. */
int parallel_start(int threads);
/* The size of the team, as parallel_start set it. */
int parallel_threads(void);
/* Makes the team smaller for all that follows. (Regions of alternating sizes are slow: OpenMP ends the
 * threads that a smaller team has no use for and starts them again for a larger one.) */
void parallel_resize(int threads);

/* How many threads may share an operation that the calling thread runs: outside of a parallel region
 * the team's size; inside, 1 or the value set by parallel_set_share. */
int parallel_share(void);
/* The number of parts to cut work into, at most `most`: one for each thread that may share it, but none
 * that takes less than about 10 µs. `work` is counted in multiply-adds of a large product. */
int parallel_parts(int64_t most, int64_t work);
/* Sets the calling thread's share; 0: back to the default. */
void parallel_set_share(int threads);
/* Calls function(context, part) for each part in [0, parts) and returns when all are done. Outside of a
 * parallel region each part has a thread of the team. Inside, the parts are OpenMP tasks: threads that
 * wait at the end of the region take them, and the caller does those that nobody takes. A part runs
 * with a share of 1. The number of parts alone decides how the work is cut, so the result does not
 * depend on who does it. */
void parallel_run(int parts, void (*function)(void *context, int part), void *context);

/* Turns on flush-to-zero and denormals-are-zero in the calling thread (no-op where the processor has
 * no such mode). Moments that decay below 1e-38 would otherwise make every step slower. */
void parallel_flush_denormals(void);

/* Name of the kernels OpenBLAS picked ("SkylakeX", "Haswell", …). */
const char *parallel_blas_kernel(void);

#endif
