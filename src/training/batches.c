#include "training/batches.h"

#include "base/random.h"

int64_t window_start(uint64_t seed, int64_t step, int64_t row, int64_t rows_per_step, int64_t n,
                     int64_t T) {
    uint64_t index = (uint64_t)step * (uint64_t)rows_per_step + (uint64_t)row;
    return (int64_t)random_below(seed, RANDOM_WINDOWS, index, (uint64_t)(n - T));
}

static void fill_window(const void *context, int64_t step, int64_t row, int32_t *ids,
                        int32_t *targets, real *weights) {
    const WindowSource *s = context;
    int64_t start = window_start(s->seed, step, row, s->rows_per_step, s->ids->count, s->T);
    for (int64_t t = 0; t < s->T; t++) {
        ids[t] = (int32_t)npy_get(s->ids, start + t);
        targets[t] = (int32_t)npy_get(s->ids, start + t + 1);
        weights[t] = 1;
    }
}

BatchSource window_source(const WindowSource *source) {
    return (BatchSource){.fill = fill_window, .context = source};
}

void document_starts(const int32_t *ids, int64_t T, int64_t separator, int32_t *starts) {
    int32_t start = 0;
    for (int64_t t = 0; t < T; t++) {
        starts[t] = start;
        if (ids[t] == separator) start = (int32_t)t + 1;
    }
}
