#include "tensor/panel_product.h"

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
} Task;

/* R rows by V vectors of C. R and V are constants where it is called. */
static inline __attribute__((always_inline)) void tile(const int R, const int V, const Task *t,
                                                       const real *a, const real *b, real *c) {
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
            Vector *to = (Vector *)(c + r * t->ldc + v * LANES), sum = t->alpha * sums[r][v];
            if (t->beta != 0) sum += t->beta * *to;
            *to = sum;
        }
}

static inline __attribute__((always_inline)) void columns(const int V, int64_t m, const Task *t,
                                                          const real *a, const real *b, real *c) {
    int64_t i = 0;
    for (; i + ROWS <= m; i += ROWS) tile(ROWS, V, t, a + i * t->down, b, c + i * t->ldc);
    for (; i + 4 <= m; i += 4) tile(4, V, t, a + i * t->down, b, c + i * t->ldc);
    for (; i < m; i++) tile(1, V, t, a + i * t->down, b, c + i * t->ldc);
}

void panel_product(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a, Panels b,
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
        if (n - j > LANES)
            columns(2, m, &task, a.data, panel, c + j);
        else
            columns(1, m, &task, a.data, panel, c + j);
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

Panels pack_transposed(int64_t rows, int64_t D, const real *from, real *to) {
    for (int64_t r = 0; r < rows; r += PANEL)
        for (int64_t d = 0; d < D; d += LANES) {
            real buffers[2][SQUARE], *square = buffers[0], *next = buffers[1];
            for (int64_t i = 0; i < PANEL; i++)
                if (r + i < rows)
                    memcpy(square + i * LANES, from + (r + i) * D + d, VECTOR_BYTES);
                else
                    memset(square + i * LANES, 0, VECTOR_BYTES);
            for (int left = PANEL; left > 2; left /= 2) {
                real *other = square;
                shuffle(square, next);
                square = next;
                next = other;
            }
            shuffle(square, to + r * D + d * PANEL);
        }
    return (Panels){to, PANEL, PANEL * D};
}

int64_t panels_size(int64_t rows, int64_t D) {
    return (rows + PANEL - 1) / PANEL * PANEL * D;
}
