#include "tensor/rmsnorm.h"

#include "tensor/plain/plain.h"

static int64_t rows_of_output(const Node *node) { return tensor_rows(node->output); }

static void rmsnorm_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)scratch;
    int64_t C = tensor_columns(node->output);
    const real *gain = node->inputs[1]->data;
    double eps = *(const double *)node->options;
    for (int64_t n = begin; n < end; n++) {
        const real *x = node->inputs[0]->data + n * C;
        real *y = node->output->data + n * C;
        if (tape->plain) {
            node->kept[n] = plain_rmsnorm(C, x, gain, eps, y);
            continue;
        }
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < C; c++) sum += x[c] * x[c];
        real r = node->kept[n] = (real)(1 / sqrt((double)sum / (double)C + eps));
#pragma omp simd
        for (int64_t c = 0; c < C; c++) y[c] = x[c] * r * gain[c];
    }
}

static void rmsnorm_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)scratch;
    int64_t C = tensor_columns(node->output);
    const real *gain = node->inputs[1]->data;
    real *dgain = node->input_gradients[1];
    if (dgain && node->accumulate[1] == 0) memset(dgain, 0, (size_t)C * sizeof(real));
    for (int64_t n = begin; n < end; n++) {
        const real *x = node->inputs[0]->data + n * C, *dy = node->output_gradient + n * C;
        real *dx = node->input_gradients[0] ? node->input_gradients[0] + n * C : NULL;
        real r = node->kept[n], keep = node->accumulate[0];
        if (dx && keep == 0) memset(dx, 0, (size_t)C * sizeof(real));
        if (tape->plain) {
            plain_rmsnorm_backward(C, x, gain, r, dy, dx, dgain);
            continue;
        }
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < C; c++) sum += dy[c] * gain[c] * x[c];
        real shrink = sum * r * r * r / (real)C;
        if (dx) {
#pragma omp simd
            for (int64_t c = 0; c < C; c++) dx[c] += dy[c] * gain[c] * r - x[c] * shrink;
        }
        if (dgain) {
#pragma omp simd
            for (int64_t c = 0; c < C; c++) dgain[c] += dy[c] * x[c] * r;
        }
    }
}

static const Operation rmsnorm_operation = {
    .name = "rmsnorm",
    .kind = KIND_NORM,
    .backward_reads = 1u << 0 | 1u << 1,
    .units = rows_of_output,
    .forward = rmsnorm_forward,
    .backward = rmsnorm_backward,
};

Tensor *rmsnorm(Tape *tape, Tensor *x, Tensor *gain, double eps, bool transient) {
    OperationCall call = {.operation = &rmsnorm_operation,
                          .name = gain->name,
                          .inputs = {x, gain},
                          .rank = x->rank,
                          .options = &eps,
                          .options_size = sizeof eps,
                          .kept_size = tensor_rows(x),
                          .transient = transient};
    memcpy(call.shape, x->shape, sizeof call.shape);
    return tape_apply(tape, &call);
}
