#include "tensor/plain/plain.h"

void plain_embedding(const Node *node) {
    const int32_t *ids = node->options;    /* (N) */
    const real *W = node->inputs[0]->data; /* (V, C) */
    real *Y = node->output->data;          /* (N, C) */
    int64_t N = tensor_rows(node->output), C = tensor_columns(node->output);
    for (int64_t n = 0; n < N; n++)
        for (int64_t c = 0; c < C; c++) Y[n * C + c] = W[ids[n] * C + c];
}

void plain_embedding_backward(const Node *node) {
    const int32_t *ids = node->options;
    const real *dY = node->output_gradient;
    real *dW = node->input_gradients[0];
    int64_t N = tensor_rows(node->output), C = tensor_columns(node->output);
    for (int64_t n = 0; dW && n < N; n++)
        for (int64_t c = 0; c < C; c++) dW[ids[n] * C + c] += dY[n * C + c];
}

/* Y = X Wᵀ + R */
void plain_linear(const Node *node) {
    const real *X = node->inputs[0]->data;                                /* (N, I) */
    const real *W = node->inputs[1]->data;                                /* (O, I) */
    const real *R = node->input_count > 2 ? node->inputs[2]->data : NULL; /* (N, O) */
    real *Y = node->output->data;                                         /* (N, O) */
    int64_t N = tensor_rows(node->output), O = tensor_columns(node->output);
    int64_t I = tensor_columns(node->inputs[0]);
    for (int64_t n = 0; n < N; n++)
        for (int64_t o = 0; o < O; o++) {
            double sum = R ? (double)R[n * O + o] : 0;
            for (int64_t i = 0; i < I; i++) sum += (double)X[n * I + i] * (double)W[o * I + i];
            Y[n * O + o] = (real)sum;
        }
}

/* dX = dY W,  dW = dYᵀ X;  dR = dY is added by the tape */
void plain_linear_backward(const Node *node) {
    const real *X = node->inputs[0]->data, *W = node->inputs[1]->data;
    const real *dY = node->output_gradient;
    real *dX = node->input_gradients[0], *dW = node->input_gradients[1];
    int64_t N = tensor_rows(node->output), O = tensor_columns(node->output);
    int64_t I = tensor_columns(node->inputs[0]);
    for (int64_t n = 0; n < N; n++)
        for (int64_t o = 0; o < O; o++)
            for (int64_t i = 0; i < I; i++) {
                if (dX) dX[n * I + i] += dY[n * O + o] * W[o * I + i];
                if (dW) dW[o * I + i] += dY[n * O + o] * X[n * I + i];
            }
}

/* Y = X + Z;  dX = dZ = dY is added by the tape */
void plain_add(const Node *node) {
    const real *X = node->inputs[0]->data, *Z = node->inputs[1]->data;
    for (int64_t i = 0; i < tensor_size(node->output); i++) node->output->data[i] = X[i] + Z[i];
}
