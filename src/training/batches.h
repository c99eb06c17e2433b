/* Where the sequences of a step come from: windows over token ids, or a built-in task. */
#ifndef TINYLM_TRAINING_BATCHES_H
#define TINYLM_TRAINING_BATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/real.h"
#include "formats/npy.h"

/* First index of the window for (seed, step, row): uniform over all places where T inputs and their
 * T targets fit, 0 … n − T − 1, so the last id is the target of some window. A pure function of its
 * arguments: resuming, accumulating and sharing a batch out see the same data. `step` counts from 0;
 * rows are numbered through a step, rows_per_step of them. */
int64_t window_start(uint64_t seed, int64_t step, int64_t row, int64_t rows_per_step, int64_t n,
                     int64_t T);

/* A source fills one row: ids and targets (T each) and the weight of each position in the loss. */
typedef struct BatchSource {
    void (*fill)(const void *context, int64_t step, int64_t row, int32_t *ids, int32_t *targets,
                 real *weights);
    const void *context;
} BatchSource;

/* The source that draws windows from ids. */
typedef struct WindowSource {
    const NpyArray *ids;
    uint64_t seed;
    int64_t rows_per_step, T;
} WindowSource;
BatchSource window_source(const WindowSource *source); /* `source` must outlive the result */

/* document_start[t] = index of the first position of the document that position t belongs to: a
 * document begins after each separator. For a mask that keeps attention inside a document. */
void document_starts(const int32_t *ids, int64_t T, int64_t separator, int32_t *starts);

#endif
