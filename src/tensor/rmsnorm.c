#include "tensor/rmsnorm.h"

#include "tensor/plain/plain.h"

static int64_t rows_of_output(const Node *node) {
    return tensor_rows(node->output);
}

/* One row; returns r. (Rows are functions of their own, since a simd sum inside a loop with other
 * branches is one that gcc 12 fails to vectorise.) */
static real forward_row(int64_t C, const real *x, const real *gain, double eps, real *y) {
    real r = (real)(1 / sqrt((double)real_dot(C, x, x) / (double)C + eps));
#pragma omp simd
    for (int64_t c = 0; c < C; c++) y[c] = x[c] * r * gain[c];
    return r;
}

static void rmsnorm_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t C = tensor_columns(node->output);
    double eps = *(const double *)node->options;
    for (int64_t n = begin; n < end; n++)
        node->saved[n] = forward_row(C, node->inputs[0]->data + n * C, node->inputs[1]->data, eps,
                                     node->output->data + n * C);
}

/* Adds to dx and dgain, each of which may be NULL. */
static void backward_row(int64_t C, const real *x, const real *gain, real r, const real *dy,
                         real *dx, real *dgain) {
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

static void rmsnorm_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t C = tensor_columns(node->output);
    real *dx = node->input_gradients[0], *dgain = node->input_gradients[1];
    for (int64_t n = begin; n < end; n++)
        backward_row(C, node->inputs[0]->data + n * C, node->inputs[1]->data, node->saved[n],
                     node->output_gradient + n * C, dx ? dx + n * C : NULL, dgain);
}

static const Operation rmsnorm_operation = {
    .name = "rmsnorm",
    .kind = KIND_NORM,
    .backward_reads = 1u << 0 | 1u << 1,
    .adds_gradient = 1u << 0 | 1u << 1,
    .units = rows_of_output,
    .forward = rmsnorm_forward,
    .backward = rmsnorm_backward,
    .plain_forward = plain_rmsnorm,
    .plain_backward = plain_rmsnorm_backward,
};

Tensor *rmsnorm(Tape *tape, Tensor *x, Tensor *gain, double eps, bool transient) {
    OperationCall call = {.operation = &rmsnorm_operation,
                          .name = gain->name,
                          .inputs = {x, gain},
                          .rank = x->rank,
                          .options = &eps,
                          .options_size = sizeof eps,
                          .saved_size = tensor_rows(x),
                          .transient = transient};
    memcpy(call.shape, x->shape, sizeof call.shape);
    return tape_apply(tape, &call);
}
