#include "tensor/plain/plain.h"

real plain_rmsnorm(int64_t C, const real *x, const real *gain, double eps, real *y) {
    double sum = 0;
    for (int64_t c = 0; c < C; c++) sum += (double)x[c] * (double)x[c];
    real r = (real)(1 / sqrt(sum / (double)C + eps));
    for (int64_t c = 0; c < C; c++) y[c] = x[c] * r * gain[c];
    return r;
}

/* With s = Σ_c dy_c g_c x_c: r depends on every x_c as ∂r/∂x_c = −r³ x_c / C. */
void plain_rmsnorm_backward(int64_t C, const real *x, const real *gain, real r, const real *dy,
                            real *dx, real *dgain) {
    double s = 0;
    for (int64_t c = 0; c < C; c++) s += (double)dy[c] * (double)gain[c] * (double)x[c];
    for (int64_t c = 0; c < C; c++) {
        if (dx) dx[c] += dy[c] * gain[c] * r - (real)(s / (double)C) * r * r * r * x[c];
        if (dgain) dgain[c] += dy[c] * x[c] * r;
    }
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

void plain_swiglu(int64_t F, const real *a, const real *g, real *y) {
    for (int64_t f = 0; f < F; f++) y[f] = a[f] * (real)sigmoid((double)a[f]) * g[f];
}

void plain_swiglu_backward(int64_t F, const real *a, const real *g, const real *dy, real *da,
                           real *dg) {
    for (int64_t f = 0; f < F; f++) {
        double s = sigmoid((double)a[f]);
        da[f] += dy[f] * g[f] * (real)(s + (double)a[f] * s * (1 - s));
        dg[f] += dy[f] * a[f] * (real)s;
    }
}

static double normal_cdf(double x) {
    return 0.5 * (1 + erf(x / sqrt(2.0)));
}
static double normal_density(double x) {
    return exp(-x * x / 2) / sqrt(2 * 3.14159265358979323846);
}

void plain_activation(Activation function, int64_t n, const real *x, real *y) {
    for (int64_t i = 0; i < n; i++) {
        double v = (double)x[i];
        switch (function) {
        case ACTIVATION_SILU:
            v = v * sigmoid(v);
            break;
        case ACTIVATION_RELU:
            v = v > 0 ? v : 0 * v;
            break;
        case ACTIVATION_GELU:
            v = v * normal_cdf(v);
            break;
        }
        y[i] = (real)v;
    }
}

void plain_activation_backward(Activation function, int64_t n, const real *x, const real *dy,
                               real *dx) {
    for (int64_t i = 0; i < n; i++) {
        double v = (double)x[i], s = sigmoid(v), slope = 0;
        switch (function) {
        case ACTIVATION_SILU:
            slope = s + v * s * (1 - s);
            break;
        case ACTIVATION_RELU:
            slope = v > 0 ? 1 : 0;
            break;
        case ACTIVATION_GELU:
            slope = normal_cdf(v) + v * normal_density(v);
            break;
        }
        dx[i] += dy[i] * (real)slope;
    }
}

real plain_cross_entropy_row(real *logits, int64_t V, int32_t target, real factor) {
    double largest = (double)logits[0], sum = 0, at_target = (double)logits[target];
    for (int64_t j = 1; j < V; j++) largest = fmax(largest, (double)logits[j]);
    for (int64_t j = 0; j < V; j++) sum += exp((double)logits[j] - largest);
    for (int64_t j = 0; j < V; j++) {
        double p = exp((double)logits[j] - largest) / sum;
        logits[j] = (real)((p - (j == target)) * (double)factor);
    }
    return (real)(log(sum) + (largest - at_target));
}
