#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "tensor/plain/plain.h"

void plain_attention_head(int64_t T, int64_t K, int64_t D, bool causal, const int32_t *first,
                          const real *q, const real *k, const real *v, const real *bias,
                          real *weights, real *out) {
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

void plain_attention_head_backward(int64_t T, int64_t K, int64_t D, const real *q, const real *k,
                                   const real *v, const real *weights, const real *dout, real *dq,
                                   real *dk, real *dv, real *dscores) {
    double scale = 1 / sqrt((double)D);
    for (int64_t i = 0; i < T; i++) {
        const real *p = weights + i * K;
        real *ds = dscores + i * K;
        double mean = 0; /* Σ_j p_j dp_j */
        for (int64_t j = 0; j < K; j++) {
            double dp = (double)ds[j];
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

/* ---- all heads ---- */

/* One head of one sequence, in memory of its own. */
typedef struct Head {
    AttentionHooks hooks;
    int64_t T, D, at[3], stride; /* its q, k, v begin at `at` in qkv (B, T, (H + 2G)·D) */
    real *memory, *qkv[3], *out; /* q, k, v, out (T, D) */
    real *weights, *other;       /* (T, T): softmax; bias in forward, dscores in backward */
    real *row;                   /* (D) */
    AttentionTile tile;          /* all of the above as a position scheme sees it */
} Head;

/* to (T, D) += from (T, D), each position turned by the scheme if it turns that part. */
static void turn(const Head *x, int part, const real *from, int64_t from_stride, real *to,
                 int64_t to_stride, bool inverse) {
    AttentionTransform *transform =
        x->hooks.plain_transform ? x->hooks.plain_transform : x->hooks.transform;
    for (int64_t t = 0; t < x->T; t++) {
        const real *row = from + t * from_stride;
        if (transform && x->hooks.transforms[part]) {
            transform(x->hooks.context, t, 1, x->D, row, x->D, x->row, x->D, inverse);
            row = x->row;
        }
        for (int64_t d = 0; d < x->D; d++) to[t * to_stride + d] += row[d];
    }
}

/* Takes the head out of qkv and computes its weights and output. */
static Head head_open(const Node *node, int64_t b, int64_t h) {
    const AttentionOptions *options = node->options;
    int64_t T = node->output->shape[1], H = options->num_heads, G = options->num_kv_heads;
    int64_t D = node->output->shape[2] / H, g = h * G / H;
    Head x = {.T = T, .D = D, .stride = (H + 2 * G) * D};
    if (options->hooks) x.hooks = *options->hooks;
    int64_t scratch = x.hooks.scratch ? x.hooks.scratch(x.hooks.context, T, T, D) : 0;
    x.memory = allocate_zeroed((size_t)(4 * T * D + 2 * T * T + D + scratch), sizeof(real));
    x.out = x.memory + 3 * T * D;
    x.weights = x.out + T * D;
    x.other = x.weights + T * T;
    x.row = x.other + T * T;
    const int64_t heads[3] = {h, H + g, H + G + g};
    for (int part = 0; part < 3; part++) {
        x.at[part] = b * T * x.stride + heads[part] * D;
        x.qkv[part] = x.memory + part * T * D;
        turn(&x, part, node->inputs[0]->data + x.at[part], x.stride, x.qkv[part], D, false);
    }
    real *q = x.qkv[PART_QUERY], *k = x.qkv[PART_KEY], *v = x.qkv[PART_VALUE];
    x.tile = (AttentionTile){.head = h, .d_head = D, .causal = options->causal, .q = q, .k = k};
    x.tile.rows = x.tile.columns = x.tile.keys = x.tile.stride = T;
    x.tile.scale = (real)(1 / sqrt((double)D));
    x.tile.scores = x.other;
    x.tile.scratch = x.row + D;
    for (int i = 1; i < node->input_count; i++) {
        x.tile.tables[i - 1] = node->inputs[i]->data;
        x.tile.table_gradients[i - 1] = node->input_gradients[i];
    }
    const int32_t *first = options->document_start ? options->document_start + b * T : NULL;
    if (x.hooks.score) x.hooks.score(x.hooks.context, &x.tile); /* to 0: the bias */
    plain_attention_head(T, T, D, options->causal, first, q, k, v, x.other, x.weights, x.out);
    x.tile.scores = x.weights;
    if (x.hooks.value) x.hooks.value(x.hooks.context, &x.tile, x.out, D);
    return x;
}

void plain_attention(const Node *node) {
    const AttentionOptions *options = node->options;
    int64_t B = node->output->shape[0], T = node->output->shape[1], H = options->num_heads;
    assert(!options->cache);
    for (int64_t n = 0; n < B * H; n++) {
        int64_t b = n / H, h = n % H;
        Head x = head_open(node, b, h);
        real *Y = node->output->data + (b * T * H + h) * x.D; /* of (B, T, H·D) */
        for (int64_t t = 0; t < T; t++)
            for (int64_t d = 0; d < x.D; d++) Y[t * H * x.D + d] = x.out[t * x.D + d];
        for (int64_t i = 0; options->weights && i < T * T; i++)
            options->weights[n * T * T + i] = x.weights[i];
        free(x.memory);
    }
}

void plain_attention_backward(const Node *node) {
    const AttentionOptions *options = node->options;
    int64_t B = node->output->shape[0], T = node->output->shape[1], H = options->num_heads;
    for (int64_t n = 0; n < B * H; n++) {
        int64_t b = n / H, h = n % H;
        Head x = head_open(node, b, h);
        const real *dY = node->output_gradient + (b * T * H + h) * x.D;
        real *gradients = allocate_zeroed((size_t)(4 * T * x.D), sizeof(real));
        real *d[3] = {gradients, gradients + T * x.D, gradients + 2 * T * x.D}; /* dq, dk, dv */
        real *dout = gradients + 3 * T * x.D;
        for (int64_t t = 0; t < T; t++)
            for (int64_t i = 0; i < x.D; i++) dout[t * x.D + i] = dY[t * H * x.D + i];
        for (int64_t i = 0; i < T * T; i++) x.other[i] = 0;
        if (x.hooks.value_backward)
            x.hooks.value_backward(x.hooks.context, &x.tile, dout, x.D, x.other);
        plain_attention_head_backward(T, T, x.D, x.qkv[0], x.qkv[1], x.qkv[2], x.weights, dout,
                                      d[0], d[1], d[2], x.other);
        x.tile.scores = x.other;
        if (x.hooks.score_backward)
            x.hooks.score_backward(x.hooks.context, &x.tile, d[PART_QUERY], d[PART_KEY]);
        for (int part = 0; part < 3; part++)
            turn(&x, part, d[part], x.D, node->input_gradients[0] + x.at[part], x.stride, true);
        free(gradients);
        free(x.memory);
    }
}
