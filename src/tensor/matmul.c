#include "tensor/matmul.h"

#include <cblas.h>

#include "base/parallel.h"
#include "tensor/plain/plain.h"

#ifdef REAL_IS_double
#define cblas_gemm cblas_dgemm
#else
#define cblas_gemm cblas_sgemm
#endif

static void library_product(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a,
                            MatmulOperand b, real beta, real *c, int64_t ldc) {
    cblas_gemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
               b.transposed ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, alpha,
               a.data, (blasint)a.stride, b.data, (blasint)b.stride, beta, c, (blasint)ldc);
}

enum { PREFETCH = 1024 / sizeof(real) };

/* R · C dot products: of R rows of A and C rows of B, `apart` rows from each other,
 * c[r][q · apart] = alpha · a[r] · b[q · apart] + beta · c[r][q · apart].
 * R and C are constants where it is called, and all R · C sums stay in registers. */
static inline __attribute__((always_inline)) void dots(const int R, const int C, int64_t apart,
                                                       int64_t k, real alpha, const real *a,
                                                       int64_t lda, const real *b, int64_t ldb,
                                                       real beta, real *c, int64_t ldc) {
    real sums[4][4][LANES] = {0};
    int64_t whole = k / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int q = 0; q < C; q++) {
            const real *row = b + q * apart * ldb + i;
            __builtin_prefetch(address_of(row, PREFETCH));
            for (int r = 0; r < R; r++) {
#pragma omp simd
                for (int l = 0; l < LANES; l++) sums[r][q][l] += a[r * lda + i + l] * row[l];
            }
        }
    for (int r = 0; r < R; r++)
        for (int q = 0; q < C; q++) {
            real sum = 0;
            for (int l = 0; l < LANES; l++) sum += sums[r][q][l];
            for (int64_t i = whole; i < k; i++) sum += a[r * lda + i] * b[q * apart * ldb + i];
            real *to = c + r * ldc + q * apart;
            *to = alpha * sum + (beta != 0 ? beta * *to : 0);
        }
}

/* Few rows: C = alpha · A Bᵀ + beta · C reads B once, at the speed of memory: as four long streams,
 * each a quarter of it, which reach 0.95 to 1 of the bandwidth (four neighbouring rows at a time:
 * 0.75). gemm would first put all of B into another order, which takes longer than the product. */
enum { FEW_ROWS = 20 };
static void few_rows_product(int64_t m, int64_t n, int64_t k, real alpha, const real *a,
                             int64_t lda, const real *b, int64_t ldb, real beta, real *c,
                             int64_t ldc) {
#define DOTS(R, C)                                                                                 \
    dots(R, C, quarter, k, alpha, a + i * lda, lda, b + j * ldb, ldb, beta, c + i * ldc + j, ldc)
    int64_t quarter = n / 4;
    for (int64_t j = 0; j < quarter; j++) {
        int64_t i = 0;
        for (; i + 4 <= m; i += 4) DOTS(4, 4);
        for (; i + 2 <= m; i += 2) DOTS(2, 4);
        for (; i < m; i++) DOTS(1, 4);
    }
    for (int64_t j = 4 * quarter; j < n; j++)
        for (int64_t i = 0; i < m; i++) DOTS(1, 1);
#undef DOTS
}

/* One row of A, B as it is: c = alpha · a B + beta · c, four rows of B at a time. (Attention of a
 * token that is generated: B are the values of one head.) */
static void row_product(int64_t n, int64_t k, real alpha, const real *a, const real *b, int64_t ldb,
                        real beta, real *c) {
    for (int64_t i = 0; i < n; i++) c[i] = beta != 0 ? beta * c[i] : 0;
    int64_t j = 0;
    for (; j + 4 <= k; j += 4) {
        const real *b0 = b + j * ldb, *b1 = b0 + ldb, *b2 = b1 + ldb, *b3 = b2 + ldb;
        real a0 = alpha * a[j], a1 = alpha * a[j + 1], a2 = alpha * a[j + 2], a3 = alpha * a[j + 3];
#pragma omp simd
        for (int64_t i = 0; i < n; i++) c[i] += a0 * b0[i] + a1 * b1[i] + a2 * b2[i] + a3 * b3[i];
    }
    for (; j < k; j++)
        for (int64_t i = 0; i < n; i++) c[i] += alpha * a[j] * b[j * ldb + i];
}

/* One thread's share of the product. */
static void product(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a, MatmulOperand b,
                    real beta, real *c, int64_t ldc) {
    if (m == 0 || n == 0) return;
    if (m <= FEW_ROWS && !a.transposed && b.transposed)
        few_rows_product(m, n, k, alpha, a.data, a.stride, b.data, b.stride, beta, c, ldc);
    else if (m == 1 && !a.transposed && !b.transposed)
        row_product(n, k, alpha, a.data, b.data, b.stride, beta, c);
    else
        library_product(m, n, k, alpha, a, b, beta, c, ldc);
}

static const real *advance(MatmulOperand x, int64_t rows, int64_t columns) {
    return x.data + (x.transposed ? columns * x.stride + rows : rows * x.stride + columns);
}

/* A product cut along the longer side of C, in whole vectors; each part writes its own. */
typedef struct Cut {
    int64_t m, n, k, units;
    real alpha, beta;
    MatmulOperand a, b;
    real *c;
    int64_t ldc;
    int parts;
} Cut;
enum { UNIT = 16 };

static void product_part(void *context, int part) {
    const Cut *x = context;
    int64_t length = x->m >= x->n ? x->m : x->n;
    int64_t begin = x->units * part / x->parts * UNIT;
    int64_t end = x->units * (part + 1) / x->parts * UNIT;
    if (end > length) end = length;
    MatmulOperand a = x->a, b = x->b;
    if (x->m >= x->n) {
        a.data = advance(a, begin, 0);
        product(end - begin, x->n, x->k, x->alpha, a, b, x->beta, x->c + begin * x->ldc, x->ldc);
    } else {
        b.data = advance(b, 0, begin);
        product(x->m, end - begin, x->k, x->alpha, a, b, x->beta, x->c + begin, x->ldc);
    }
}

void matmul(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a, MatmulOperand b,
            real beta, real *c, int64_t ldc) {
    Cut cut = {m, n, k, ((m >= n ? m : n) + UNIT - 1) / UNIT, alpha, beta, a, b, c, ldc, 1};
    /* Reading B takes as long as multiplying it by 16 rows. */
    cut.parts = parallel_parts(cut.units, (m + 16) * n * k);
    if (cut.parts <= 1)
        product(m, n, k, alpha, a, b, beta, c, ldc);
    else
        parallel_run(cut.parts, product_part, &cut);
}

/* ---- Y = X · Wᵀ + R ---- */

static void linear_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)begin, (void)end, (void)scratch;
    const Tensor *x = node->inputs[0], *w = node->inputs[1];
    const Tensor *residual = node->input_count > 2 ? node->inputs[2] : NULL;
    real *y = node->output->data;
    int64_t rows = tensor_rows(x), in = tensor_columns(x), out = w->shape[0];
    if (residual) memcpy(y, residual->data, (size_t)(rows * out) * sizeof(real));
    matmul(rows, out, in, 1, (MatmulOperand){x->data, in, false},
           (MatmulOperand){w->data, in, true}, residual ? 1 : 0, y, out);
}

static void linear_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)begin, (void)end, (void)scratch;
    const Tensor *x = node->inputs[0], *w = node->inputs[1];
    int64_t rows = tensor_rows(x), in = tensor_columns(x), out = w->shape[0];
    const real *dy = node->output_gradient;
    real *dx = node->input_gradients[0], *dw = node->input_gradients[1];
    if (dx)
        matmul(rows, in, out, 1, (MatmulOperand){dy, out, false},
               (MatmulOperand){w->data, in, false}, node->accumulate[0], dx, in);
    if (dw)
        matmul(out, in, rows, 1, (MatmulOperand){dy, out, true},
               (MatmulOperand){x->data, in, false}, node->accumulate[1], dw, in);
}

static int64_t linear_flops(const Node *node) {
    return 2 * tensor_size(node->inputs[1]) * tensor_rows(node->inputs[0]);
}

static const Operation linear_operation = {
    .name = "linear",
    .kind = KIND_MATMUL,
    .backward_reads = 1u << 0 | 1u << 1,
    .passes_gradient = 1u << 2,
    .flops = linear_flops,
    .forward = linear_forward,
    .backward = linear_backward,
    .plain_forward = plain_linear,
    .plain_backward = plain_linear_backward,
};

Tensor *linear(Tape *tape, Tensor *x, Tensor *weight, Tensor *residual) {
    OperationCall call = {.operation = &linear_operation,
                          .name = weight->name,
                          .inputs = {x, weight, residual},
                          .rank = x->rank};
    memcpy(call.shape, x->shape, sizeof call.shape);
    call.shape[x->rank - 1] = weight->shape[0];
    return tape_apply(tape, &call);
}
