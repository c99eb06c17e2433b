#include "tensor/packed_product.h"

/* Rows of a tile. Its sums must stay in registers (32 with AVX-512, else 16), and there must be enough
 * of them for the next multiply-add not to wait for the last one. */
#ifdef __AVX512F__
enum { ROWS = 8 };
#else
enum { ROWS = 6 };
#endif

/* One product; element (i, p) of op(A) is a[i · down + p · along]. */
typedef struct Task {
    int64_t k, down, along, ldb, ldc;
    real alpha, beta;
    int64_t last; /* columns of the last vector that there are in C */
} Task;

/* R rows by V vectors of C, the last of them `whole` or not. R, V and whole are constants where it is
 * called. */
static inline __attribute__((always_inline)) void tile(const int R, const int V, const bool whole,
                                                       const Task *t, const real *a, const real *b,
                                                       real *c) {
    Vector sums[ROWS][2] = {0};
    int64_t down = t->down;
    for (int64_t p = 0; p < t->k; p++, a += t->along, b += t->ldb) {
        Vector row[2];
        for (int v = 0; v < V; v++) row[v] = *(const Vector *)(b + v * LANES);
        for (int r = 0; r < R; r++)
            for (int v = 0; v < V; v++) sums[r][v] += a[r * down] * row[v];
    }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) {
            real *to = c + r * t->ldc + v * LANES;
            Vector sum = t->alpha * sums[r][v];
            if (whole || v < V - 1) {
                if (t->beta != 0) sum += t->beta * *(const Vector *)to;
                *(Vector *)to = sum;
                continue;
            }
            real lanes[LANES];
            memcpy(lanes, &sum, sizeof lanes);
            for (int64_t l = 0; l < t->last; l++)
                to[l] = t->beta != 0 ? lanes[l] + t->beta * to[l] : lanes[l];
        }
}

static inline __attribute__((always_inline)) void columns(const int V, const bool whole, int64_t m,
                                                          const Task *t, const real *a,
                                                          const real *b, real *c) {
    int64_t i = 0;
    for (; i + ROWS <= m; i += ROWS) tile(ROWS, V, whole, t, a + i * t->down, b, c + i * t->ldc);
    for (; i + 4 <= m; i += 4) tile(4, V, whole, t, a + i * t->down, b, c + i * t->ldc);
    for (; i < m; i++) tile(1, V, whole, t, a + i * t->down, b, c + i * t->ldc);
}

void packed_product(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a, PackedMatrix b,
                    real beta, real *c, int64_t ldc) {
    Task task = {.k = k,
                 .down = a.transposed ? 1 : a.stride,
                 .along = a.transposed ? a.stride : 1,
                 .ldb = b.stride,
                 .ldc = ldc,
                 .alpha = alpha,
                 .beta = beta};
    const real *panel = b.data;
    for (int64_t j = 0; j < n; j += PANEL, panel += b.distance) {
        int64_t left = n - j < PANEL ? n - j : PANEL;
        task.last = left > LANES ? left - LANES : left;
        if (left == PANEL)
            columns(2, true, m, &task, a.data, panel, c + j);
        else if (left > LANES)
            columns(2, false, m, &task, a.data, panel, c + j);
        else if (left == LANES)
            columns(1, true, m, &task, a.data, panel, c + j);
        else
            columns(1, false, m, &task, a.data, panel, c + j);
    }
}

/* A perfect shuffle of rows that lie one after the other: elements of the upper half of the rows and of
 * the lower one by turns. That leaves half as many rows of twice the length; when one is left, it
 * has all first elements, then all second ones, …: the transpose. (The compiler has instructions for
 * a shuffle; taking the elements one by one took three times as long.) */
enum { SQUARE = PANEL * LANES };
static inline void shuffle(const real *from, real *to) {
#pragma omp simd
    for (int i = 0; i < SQUARE / 2; i++) {
        to[2 * i] = from[i];
        to[2 * i + 1] = from[SQUARE / 2 + i];
    }
}

/* Up to PANEL rows of `from`, of which `width` elements count, to a square; 0 where nothing is. */
static void load_square(int64_t rows, int64_t width, const real *from, int64_t stride,
                        real *square) {
    for (int64_t i = 0; i < PANEL; i++, from += stride, square += LANES) {
        if (i < rows && width == LANES) {
            memcpy(square, from, VECTOR_BYTES);
            continue;
        }
        for (int64_t l = 0; l < LANES; l++) square[l] = i < rows && l < width ? from[l] : 0;
    }
}

PackedMatrix pack_transposed(int64_t rows, int64_t D, const real *from, real *to) {
    for (int64_t r = 0; r < rows; r += PANEL)
        for (int64_t d = 0; d < D; d += LANES) {
            real buffers[2][SQUARE], *square = buffers[0], *next = buffers[1];
            int64_t width = D - d < LANES ? D - d : LANES;
            load_square(rows - r, width, from + r * D + d, D, square);
            for (int left = PANEL; left > 2; left /= 2) {
                real *other = square;
                shuffle(square, next);
                square = next;
                next = other;
            }
            real *place = to + r * D + d * PANEL;
            if (width == LANES) {
                shuffle(square, place);
                continue;
            }
            shuffle(square, next);
            memcpy(place, next, (size_t)(width * PANEL) * sizeof(real));
        }
    return (PackedMatrix){to, PANEL, PANEL * D};
}

int64_t packed_size(int64_t rows, int64_t D) {
    return (rows + PANEL - 1) / PANEL * PANEL * D;
}
