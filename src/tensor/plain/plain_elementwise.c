#include "tensor/elementwise.h"
#include "tensor/plain/plain.h"

/* y_c = x_c r g_c, r = 1/√(mean(x²) + ε), for each token */
void plain_rmsnorm(const Node *node) {
    const real *g = node->inputs[1]->data; /* (C) */
    double eps = *(const double *)node->options;
    int64_t N = tensor_rows(node->output), C = tensor_columns(node->output);
    for (int64_t n = 0; n < N; n++) {
        const real *x = node->inputs[0]->data + n * C; /* of X (N, C) */
        real *y = node->output->data + n * C;          /* of Y (N, C) */
        double sum = 0;
        for (int64_t c = 0; c < C; c++) sum += (double)x[c] * (double)x[c];
        real r = (real)(1 / sqrt(sum / (double)C + eps));
        for (int64_t c = 0; c < C; c++) y[c] = x[c] * r * g[c];
        node->saved[n] = r;
    }
}

/* With s = Σ_c dy_c g_c x_c: r depends on every x_c as ∂r/∂x_c = −r³ x_c / C. */
void plain_rmsnorm_backward(const Node *node) {
    const real *g = node->inputs[1]->data;
    real *dX = node->input_gradients[0], *dg = node->input_gradients[1];
    int64_t N = tensor_rows(node->output), C = tensor_columns(node->output);
    for (int64_t n = 0; n < N; n++) {
        const real *x = node->inputs[0]->data + n * C, *dy = node->output_gradient + n * C;
        real r = node->saved[n];
        double s = 0;
        for (int64_t c = 0; c < C; c++) s += (double)dy[c] * (double)g[c] * (double)x[c];
        for (int64_t c = 0; c < C; c++) {
            if (dX) dX[n * C + c] += dy[c] * g[c] * r - (real)(s / (double)C) * r * r * r * x[c];
            if (dg) dg[c] += dy[c] * x[c] * r;
        }
    }
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* y_f = SiLU(a_f) g_f, [a | g] one token of X (N, 2F) */
void plain_swiglu(const Node *node) {
    int64_t N = tensor_rows(node->output), F = tensor_columns(node->output);
    for (int64_t n = 0; n < N; n++) {
        const real *a = node->inputs[0]->data + n * 2 * F, *g = a + F;
        real *y = node->output->data + n * F; /* of Y (N, F) */
        for (int64_t f = 0; f < F; f++) y[f] = a[f] * (real)sigmoid((double)a[f]) * g[f];
    }
}

void plain_swiglu_backward(const Node *node) {
    int64_t N = tensor_rows(node->output), F = tensor_columns(node->output);
    for (int64_t n = 0; n < N; n++) {
        const real *a = node->inputs[0]->data + n * 2 * F, *g = a + F;
        const real *dy = node->output_gradient + n * F;
        real *da = node->input_gradients[0] + n * 2 * F, *dg = da + F;
        for (int64_t f = 0; f < F; f++) {
            double s = sigmoid((double)a[f]);
            da[f] += dy[f] * g[f] * (real)(s + (double)a[f] * s * (1 - s));
            dg[f] += dy[f] * a[f] * (real)s;
        }
    }
}

/* f(x) and f'(x) */
static double activation_of(Activation function, double x, double *slope) {
    double s = sigmoid(x), cdf = 0.5 * (1 + erf(x / sqrt(2.0)));
    switch (function) {
    case ACTIVATION_SILU:
        *slope = s + x * s * (1 - s);
        return x * s;
    case ACTIVATION_RELU:
        *slope = x > 0 ? 1 : 0;
        return x > 0 ? x : 0 * x; /* NaN stays NaN */
    case ACTIVATION_GELU:
        *slope = cdf + x * exp(-x * x / 2) / sqrt(2 * M_PI);
        return x * cdf;
    }
    return NAN;
}

void plain_activation(const Node *node) {
    const real *X = node->inputs[0]->data;
    double ignored;
    for (int64_t i = 0; i < tensor_size(node->output); i++)
        node->output->data[i] =
            (real)activation_of(*(const Activation *)node->options, (double)X[i], &ignored);
}

void plain_activation_backward(const Node *node) {
    const real *X = node->inputs[0]->data, *dY = node->output_gradient;
    double slope = 0;
    for (int64_t i = 0; i < tensor_size(node->output); i++) {
        activation_of(*(const Activation *)node->options, (double)X[i], &slope);
        node->input_gradients[0][i] += dY[i] * (real)slope;
    }
}
