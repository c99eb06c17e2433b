#include "tensor/plain/plain.h"

void plain_attention(int64_t T, int64_t K, int64_t D, bool causal, const int32_t *first,
                     const real *q, const real *k, const real *v, const real *bias, real *weights,
                     real *out) {
    for (int64_t i = 0; i < T; i++) {
        real *p = weights + i * K;
        int64_t begin = first ? first[i] : 0, end = causal ? K - T + i + 1 : K;
        double largest = -INFINITY, sum = 0;
        for (int64_t j = begin; j < end; j++) {
            double s = 0;
            for (int64_t d = 0; d < D; d++) s += (double)q[i * D + d] * (double)k[j * D + d];
            s = s / sqrt((double)D) + (bias ? (double)bias[i * K + j] : 0);
            p[j] = (real)s;
            largest = fmax(largest, s);
        }
        for (int64_t j = begin; j < end; j++) sum += exp((double)p[j] - largest);
        for (int64_t j = 0; j < K; j++) {
            bool allowed = j >= begin && j < end && largest > -INFINITY;
            p[j] = allowed ? (real)(exp((double)p[j] - largest) / sum) : 0;
        }
        for (int64_t d = 0; d < D; d++) {
            double o = 0;
            for (int64_t j = begin; j < end; j++) o += (double)p[j] * (double)v[j * D + d];
            out[i * D + d] = (real)o;
        }
    }
}

void plain_attention_backward(int64_t T, int64_t K, int64_t D, const real *q, const real *k,
                              const real *v, const real *weights, const real *dout, real *dq,
                              real *dk, real *dv, real *dscores) {
    double scale = 1 / sqrt((double)D);
    for (int64_t i = 0; i < T; i++) {
        const real *p = weights + i * K;
        real *ds = dscores + i * K;
        double mean = 0; /* Σ_j p_j dp_j */
        for (int64_t j = 0; j < K; j++) {
            double dp = 0;
            for (int64_t d = 0; d < D; d++) {
                dp += (double)dout[i * D + d] * (double)v[j * D + d];
                dv[j * D + d] += p[j] * dout[i * D + d];
            }
            ds[j] = (real)dp;
            mean += (double)p[j] * dp;
        }
        for (int64_t j = 0; j < K; j++) {
            ds[j] = (real)((double)p[j] * ((double)ds[j] - mean));
            for (int64_t d = 0; d < D; d++) {
                dq[i * D + d] += (real)((double)ds[j] * (double)k[j * D + d] * scale);
                dk[j * D + d] += (real)((double)ds[j] * (double)q[i * D + d] * scale);
            }
        }
    }
}
