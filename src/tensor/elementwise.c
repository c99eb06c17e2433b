#include "tensor/elementwise.h"

#include "tensor/plain/plain.h"

static int64_t rows_of_output(const Node *node) {
    return tensor_rows(node->output);
}

/* ---- embedding ---- */

static void embedding_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    const int32_t *ids = node->options;
    int64_t C = tensor_columns(node->output);
    for (int64_t n = begin; n < end; n++)
        memcpy(node->output->data + n * C, node->inputs[0]->data + ids[n] * C,
               (size_t)C * sizeof(real));
}

/* Two rows may have the same id, so this is one serial loop, in row order. */
static void embedding_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    const int32_t *ids = node->options;
    int64_t C = tensor_columns(node->output);
    real *dw = node->input_gradients[0];
    if (!dw) return;
    for (int64_t n = begin; n < end; n++) {
        real *to = dw + ids[n] * C;
        const real *from = node->output_gradient + n * C;
#pragma omp simd
        for (int64_t c = 0; c < C; c++) to[c] += from[c];
    }
}

static const Operation embedding_operation = {
    .name = "embedding",
    .kind = KIND_OTHER,
    .adds_gradient = 1u << 0,
    .units = rows_of_output,
    .forward = embedding_forward,
    .backward = embedding_backward,
    .plain_forward = plain_embedding,
    .plain_backward = plain_embedding_backward,
};

Tensor *embedding(Tape *tape, Tensor *weight, const int32_t *ids, int64_t B, int64_t T) {
    return tape_apply(tape, &(OperationCall){.operation = &embedding_operation,
                                             .name = "embedding",
                                             .inputs = {weight},
                                             .rank = 3,
                                             .shape = {B, T, weight->shape[1]},
                                             .options = ids,
                                             .options_size = (size_t)(B * T) * sizeof *ids});
}

/* ---- SwiGLU ---- */

static void swiglu_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t F = tensor_columns(node->output);
    for (int64_t n = begin; n < end; n++) {
        const real *a = node->inputs[0]->data + n * 2 * F, *g = a + F;
        real *y = node->output->data + n * F;
#pragma omp simd
        for (int64_t f = 0; f < F; f++) y[f] = a[f] * real_sigmoid(a[f]) * g[f];
    }
}

/* `add` is a constant where it is called, so that each loop is compiled without a test. */
static inline void swiglu_backward_row(bool add, int64_t F, const real *a, const real *g,
                                       const real *dy, real *da, real *dg) {
#pragma omp simd
    for (int64_t f = 0; f < F; f++) {
        real s = real_sigmoid(a[f]);
        real slope_a = dy[f] * g[f] * s * (1 + a[f] * (1 - s)), slope_g = dy[f] * a[f] * s;
        da[f] = add ? da[f] + slope_a : slope_a;
        dg[f] = add ? dg[f] + slope_g : slope_g;
    }
}

static void swiglu_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t F = tensor_columns(node->output);
    bool add = node->accumulate[0] != 0;
    for (int64_t n = begin; n < end; n++) {
        const real *a = node->inputs[0]->data + n * 2 * F, *g = a + F;
        const real *dy = node->output_gradient + n * F;
        real *da = node->input_gradients[0] + n * 2 * F, *dg = da + F;
        if (add)
            swiglu_backward_row(true, F, a, g, dy, da, dg);
        else
            swiglu_backward_row(false, F, a, g, dy, da, dg);
    }
}

static const Operation swiglu_operation = {
    .name = "swiglu",
    .kind = KIND_ACTIVATION,
    .backward_reads = 1u << 0,
    .units = rows_of_output,
    .forward = swiglu_forward,
    .backward = swiglu_backward,
    .plain_forward = plain_swiglu,
    .plain_backward = plain_swiglu_backward,
    .backward_splits = true,
};

Tensor *swiglu(Tape *tape, Tensor *x) {
    OperationCall call = {
        .operation = &swiglu_operation, .name = "swiglu", .inputs = {x}, .rank = x->rank};
    memcpy(call.shape, x->shape, sizeof call.shape);
    call.shape[x->rank - 1] /= 2;
    return tape_apply(tape, &call);
}

/* ---- SiLU, ReLU, GELU ---- */

static real gelu(real x) {
    return (real)(0.5 * x * (1 + erf(x * 0.70710678118654752440)));
}

static real gelu_slope(real x) {
    double cdf = 0.5 * (1 + erf(x * 0.70710678118654752440));
    double density = 0.39894228040143267794 * exp(-0.5 * x * x);
    return (real)(cdf + x * density);
}

static void activation_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t F = tensor_columns(node->output);
    const real *x = node->inputs[0]->data;
    real *y = node->output->data;
    Activation function = *(const Activation *)node->options;
    if (function == ACTIVATION_SILU) {
#pragma omp simd
        for (int64_t i = begin * F; i < end * F; i++) y[i] = x[i] * real_sigmoid(x[i]);
    } else if (function == ACTIVATION_RELU) {
#pragma omp simd
        for (int64_t i = begin * F; i < end * F; i++) y[i] = x[i] > 0 ? x[i] : 0 * x[i];
    } else {
        for (int64_t i = begin * F; i < end * F; i++) y[i] = gelu(x[i]);
    }
}

static void activation_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t F = tensor_columns(node->output);
    const real *x = node->inputs[0]->data, *dy = node->output_gradient;
    real *dx = node->input_gradients[0];
    Activation function = *(const Activation *)node->options;
    if (function == ACTIVATION_SILU) {
#pragma omp simd
        for (int64_t i = begin * F; i < end * F; i++) {
            real s = real_sigmoid(x[i]);
            dx[i] += dy[i] * s * (1 + x[i] * (1 - s));
        }
    } else if (function == ACTIVATION_RELU) {
#pragma omp simd
        for (int64_t i = begin * F; i < end * F; i++) dx[i] += x[i] > 0 ? dy[i] : 0;
    } else {
        for (int64_t i = begin * F; i < end * F; i++) dx[i] += dy[i] * gelu_slope(x[i]);
    }
}

static const Operation activation_operation = {
    .name = "activation",
    .kind = KIND_ACTIVATION,
    .backward_reads = 1u << 0,
    .adds_gradient = 1u << 0,
    .units = rows_of_output,
    .forward = activation_forward,
    .backward = activation_backward,
    .plain_forward = plain_activation,
    .plain_backward = plain_activation_backward,
    .backward_splits = true,
};

Tensor *activation(Tape *tape, Tensor *x, Activation function) {
    OperationCall call = {.operation = &activation_operation,
                          .name = "activation",
                          .inputs = {x},
                          .rank = x->rank,
                          .options = &function,
                          .options_size = sizeof function};
    memcpy(call.shape, x->shape, sizeof call.shape);
    return tape_apply(tape, &call);
}

/* ---- sum ---- */

static void add_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t C = tensor_columns(node->output);
    const real *x = node->inputs[0]->data, *z = node->inputs[1]->data;
    real *y = node->output->data;
#pragma omp simd
    for (int64_t i = begin * C; i < end * C; i++) y[i] = x[i] + z[i];
}

static const Operation add_operation = {
    .name = "add",
    .kind = KIND_OTHER,
    .passes_gradient = 1u << 0 | 1u << 1,
    .units = rows_of_output,
    .forward = add_forward,
    .plain_forward = plain_add,
};

Tensor *add(Tape *tape, Tensor *x, Tensor *z) {
    OperationCall call = {
        .operation = &add_operation, .name = "sum", .inputs = {x, z}, .rank = x->rank};
    memcpy(call.shape, x->shape, sizeof call.shape);
    return tape_apply(tape, &call);
}
