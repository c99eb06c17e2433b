#include "tensor/matmul.h"

#include <cblas.h>
#include <omp.h>

#include "base/parallel.h"
#include "tensor/plain/plain.h"

#ifdef REAL_IS_double
#define cblas_gemm cblas_dgemm
#define cblas_gemv cblas_dgemv
#else
#define cblas_gemm cblas_sgemm
#define cblas_gemv cblas_sgemv
#endif

/* One thread's share of the product. */
static void product(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a, MatmulOperand b,
                    real beta, real *c, int64_t ldc) {
    if (m == 0 || n == 0) return;
    cblas_gemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
               b.transposed ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, alpha,
               a.data, (blasint)a.stride, b.data, (blasint)b.stride, beta, c, (blasint)ldc);
}

/* A single row times a matrix: y = x · Wᵀ streams W once, at the speed of memory. */
static void row_product(int64_t n, int64_t k, real alpha, MatmulOperand a, MatmulOperand b,
                        real beta, real *c) {
    if (n == 0) return;
    int64_t step = a.transposed ? a.stride : 1;
    cblas_gemv(CblasRowMajor, b.transposed ? CblasNoTrans : CblasTrans,
               (blasint)(b.transposed ? n : k), (blasint)(b.transposed ? k : n), alpha, b.data,
               (blasint)b.stride, a.data, (blasint)step, beta, c, 1);
}

static const real *advance(MatmulOperand x, int64_t rows, int64_t columns) {
    return x.data + (x.transposed ? columns * x.stride + rows : rows * x.stride + columns);
}

/* Below this many multiply-adds starting the team costs more than it saves. */
enum { WORTH_A_TEAM = 1 << 15 };

void matmul(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a, MatmulOperand b,
            real beta, real *c, int64_t ldc) {
    int team = parallel_active() || m * n * k < WORTH_A_TEAM ? 1 : parallel_threads();
    /* Cut the longer side of C, in whole vectors; each thread writes its own part. */
    bool by_rows = m >= n;
    int64_t length = by_rows ? m : n, unit = 16;
    if (team > (length + unit - 1) / unit) team = (int)((length + unit - 1) / unit);
    if (team <= 1) {
        if (m == 1)
            row_product(n, k, alpha, a, b, beta, c);
        else
            product(m, n, k, alpha, a, b, beta, c, ldc);
        return;
    }
#pragma omp parallel num_threads(team)
    {
        int64_t thread = omp_get_thread_num(), units = (length + unit - 1) / unit;
        int64_t begin = units * thread / team * unit, end = units * (thread + 1) / team * unit;
        if (end > length) end = length;
        if (by_rows) {
            MatmulOperand part = {advance(a, begin, 0), a.stride, a.transposed};
            product(end - begin, n, k, alpha, part, b, beta, c + begin * ldc, ldc);
        } else {
            MatmulOperand part = {advance(b, 0, begin), b.stride, b.transposed};
            if (m == 1)
                row_product(end - begin, k, alpha, a, part, beta, c + begin);
            else
                product(m, end - begin, k, alpha, a, part, beta, c + begin, ldc);
        }
    }
}

/* ---- Y = X · Wᵀ + R ---- */

static void multiply(const Tape *tape, int64_t m, int64_t n, int64_t k, MatmulOperand a,
                     MatmulOperand b, real beta, real *c) {
    (tape->plain ? plain_matmul : matmul)(m, n, k, 1, a, b, beta, c, n);
}

static void linear_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)begin, (void)end, (void)scratch;
    const Tensor *x = node->inputs[0], *w = node->inputs[1];
    const Tensor *residual = node->input_count > 2 ? node->inputs[2] : NULL;
    real *y = node->output->data;
    int64_t rows = tensor_rows(x), in = tensor_columns(x), out = w->shape[0];
    if (residual) memcpy(y, residual->data, (size_t)(rows * out) * sizeof(real));
    multiply(tape, rows, out, in, (MatmulOperand){x->data, in, false},
             (MatmulOperand){w->data, in, true}, residual ? 1 : 0, y);
}

static void linear_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)begin, (void)end, (void)scratch;
    const Tensor *x = node->inputs[0], *w = node->inputs[1];
    int64_t rows = tensor_rows(x), in = tensor_columns(x), out = w->shape[0];
    const real *dy = node->output_gradient;
    real *dx = node->input_gradients[0], *dw = node->input_gradients[1];
    if (dx)
        multiply(tape, rows, in, out, (MatmulOperand){dy, out, false},
                 (MatmulOperand){w->data, in, false}, node->accumulate[0], dx);
    if (dw)
        multiply(tape, out, in, rows, (MatmulOperand){dy, out, true},
                 (MatmulOperand){x->data, in, false}, node->accumulate[1], dw);
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
