#include "tensor/attention.h"

#include "tensor/packed_product.h"
#include "tensor/plain/plain.h"

/* Rows of a block of scores: large enough for the product, small enough that little of the upper
 * triangle is wasted and the block stays in the first-level cache. */
enum { BLOCK = 16, LARGE_BLOCK = 64 };

/* The sizes of one call, read off its node. */
typedef struct Layout {
    int64_t B, T, H, G, D;
    int64_t past;       /* positions already in the cache */
    int64_t keys;       /* past + T */
    int64_t stride;     /* of a row of qkv: (H + 2G)·D */
    int64_t out_stride; /* of a row of the output: H·D */
    int64_t block;
    int64_t width; /* of a block of scores in memory: keys in whole vectors */
    bool packed;   /* products by packed_product */
    real scale;
    const AttentionOptions *options;
    const AttentionHooks *hooks;
} Layout;

static int64_t whole_vectors(int64_t n) {
    return (n + LANES - 1) / LANES * LANES;
}

static Layout layout_of(const Node *node) {
    const AttentionOptions *options = node->options;
    const Tensor *qkv = node->inputs[0];
    Layout s = {.B = qkv->shape[0],
                .T = qkv->shape[1],
                .H = options->num_heads,
                .G = options->num_kv_heads,
                .stride = qkv->shape[2],
                .options = options,
                .hooks = options->hooks};
    s.D = s.stride / (s.H + 2 * s.G);
    s.past = options->cache ? options->cache->length : 0;
    s.keys = s.past + s.T;
    s.out_stride = s.H * s.D;
    s.block = s.hooks && s.hooks->large_tiles ? LARGE_BLOCK : BLOCK;
    if (s.block > s.T) s.block = s.T;
    s.width = whole_vectors(s.keys);
    s.packed = s.T >= LANES;
    s.scale = (real)(1 / sqrt((double)s.D));
    return s;
}

static bool transforms(const Layout *s, AttentionPart part) {
    return s->hooks && s->hooks->transform && s->hooks->transforms[part];
}

static void copy_strided(int64_t rows, int64_t D, const real *from, int64_t from_stride, real *to,
                         int64_t to_stride) {
    for (int64_t r = 0; r < rows; r++, from += from_stride, to += to_stride) {
#pragma omp simd
        for (int64_t d = 0; d < D; d++) to[d] = from[d];
    }
}

/* Asks for the same rows of the next head: they lie a whole d_model apart, where the processor does not
 * look ahead by itself, and are wanted when this head is done. */
static void fetch_next_head(int64_t rows, int64_t D, const real *from, int64_t stride) {
    enum { LINE = 64 / sizeof(real), SECOND_LEVEL_CACHE = 2 };
    for (int64_t r = 0; r < rows; r++)
        for (int64_t d = D; d < 2 * D; d += LINE)
            __builtin_prefetch(address_of(from, r * stride + d), 0, SECOND_LEVEL_CACHE);
}

/* Copies rows of one head, transformed when the scheme transforms that part. */
static void copy_rows(const Layout *s, AttentionPart part, int64_t position, int64_t rows,
                      const real *from, int64_t from_stride, real *to, int64_t to_stride,
                      bool inverse) {
    fetch_next_head(rows, s->D, inverse ? to : from, inverse ? to_stride : from_stride);
    if (transforms(s, part)) {
        s->hooks->transform(s->hooks->context, position, rows, s->D, from, from_stride, to,
                            to_stride, inverse);
        return;
    }
    copy_strided(rows, s->D, from, from_stride, to, to_stride);
}

/* Keys row i (counted within this call) may attend to: [first, end). */
static int64_t first_key(const Layout *s, int64_t b, int64_t i) {
    return s->options->document_start ? s->options->document_start[b * s->T + i] : 0;
}

static int64_t end_key(const Layout *s, int64_t i) {
    return s->options->causal ? s->past + i + 1 : s->keys;
}

static AttentionTile tile_of(const Layout *s, const Node *node, int64_t head, int64_t first,
                             int64_t rows, const real *q, const real *k, real *scores,
                             real *scratch) {
    AttentionTile tile = {.head = head,
                          .rows = rows,
                          .columns = end_key(s, first + rows - 1),
                          .first_row = s->past + first,
                          .d_head = s->D,
                          .causal = s->options->causal,
                          .scale = s->scale,
                          .q = q,
                          .k = k,
                          .scores = scores,
                          .keys = s->keys,
                          .stride = s->width,
                          .scratch = scratch};
    for (int i = 1; i < node->input_count; i++) {
        tile.tables[i - 1] = node->inputs[i]->data;
        tile.table_gradients[i - 1] = node->input_gradients[i];
    }
    return tile;
}

/* The right-hand side of a product: for packed_product, which has the speed, and for the few rows of
 * generation. */
typedef struct Factor {
    PackedMatrix packed;
    MatmulOperand matrix;
} Factor;

static Factor rows_factor(const real *data, int64_t stride) {
    return (Factor){{data, stride, PANEL}, {data, stride, false}};
}

static void product(const Layout *s, int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a,
                    Factor b, real beta, real *c, int64_t ldc) {
    if (s->packed)
        packed_product(m, n, k, alpha, a, b.packed, beta, c, ldc);
    else
        matmul(m, n, k, alpha, a, b.matrix, beta, c, ldc);
}

/* ---- rows of a block of scores ---- */

/* A row is worked on in whole vectors, without a loop for the rest of it: the places next to
 * [first, end) that share a vector with it are set to −∞, whose exponential is 0, and everything
 * further out, up to `columns`, is set to 0. [begin, wide) is what is left to compute. */
typedef struct Span {
    int64_t begin, wide;
} Span;
static Span open_span(real *row, int64_t first, int64_t end, int64_t columns) {
    Span span = {first / LANES * LANES, whole_vectors(end)};
    for (int64_t j = 0; j < span.begin; j++) row[j] = 0;
    for (int64_t j = span.begin; j < first; j++) row[j] = -HUGE_VALF;
    if (span.wide > span.begin) { /* one masked vector, no branches */
        real *last = row + span.wide - LANES;
        int64_t inside = end - (span.wide - LANES);
#pragma omp simd
        for (int64_t j = 0; j < LANES; j++) last[j] = j < inside ? last[j] : -HUGE_VALF;
    }
    for (int64_t j = span.wide; j < columns; j++) row[j] = 0;
    return span;
}

/* Turns one row of scores into exp(S − max) in place, zero outside of [first, end), and returns the
 * sum; *maximum gets the maximum. A row with nothing allowed becomes all zeros with sum 0. */
static real exponentials(real *row, int64_t first, int64_t end, int64_t columns, real *maximum) {
    Span span = open_span(row, first, end, columns);
    real m = real_max(span.wide - span.begin, row + span.begin);
    real shift = m == -HUGE_VALF ? 0 : m;
    Vector sums = {0};
    for (int64_t j = span.begin; j < span.wide; j += LANES) {
#pragma omp simd
        for (int64_t l = j; l < j + LANES; l++) row[l] = real_exp(row[l] - shift);
        sums += *(const Vector *)(row + j);
    }
    *maximum = shift;
    return vector_sum(sums);
}

/* P = exp(S − L) in place, zero outside of [first, end). */
static void weights_again(real *row, int64_t first, int64_t end, int64_t columns, real shift) {
    Span span = open_span(row, first, end, columns);
#pragma omp simd
    for (int64_t j = span.begin; j < span.wide; j++) row[j] = real_exp(row[j] - shift);
}

/* dS = P ⊙ (dP − Σ dO ⊙ O), over dP. */
static void softmax_backward(int64_t columns, const real *p, int64_t D, const real *out,
                             const real *dout, real *dp) {
    real sum = real_dot(D, out, dout);
#pragma omp simd
    for (int64_t j = 0; j < columns; j++) dp[j] = p[j] * (dp[j] - sum);
}

/* ---- one head's keys and values ---- */

/* The keys and values of one sequence and key/value head, ready for products. */
typedef struct Pair {
    const real *k, *v;   /* (keys, D) */
    Factor k_transposed; /* (D, keys) */
} Pair;

static Factor transposed_factor(const Layout *s, int64_t rows, const real *from, real *scratch) {
    Factor factor = {.matrix = {from, s->D, true}};
    if (s->packed) factor.packed = pack_transposed(rows, s->D, from, scratch);
    return factor;
}

/* Without a cache: keys and values are copied to `scratch`, keys·D reals each, and keys transposed after
 * them. With one: appended to it first; values that a product cannot read in whole vectors are copied to
 * scratch. */
static Pair load_pair(const Layout *s, const real *qkv, int64_t b, int64_t g, real *scratch) {
    const real *k = qkv + b * s->T * s->stride + (s->H + g) * s->D, *v = k + s->G * s->D;
    KeyValueCache *cache = s->options->cache;
    if (!cache) {
        real *values = scratch + s->keys * s->D, *transposed = values + s->keys * s->D;
        copy_rows(s, PART_KEY, 0, s->T, k, s->stride, scratch, s->D, false);
        copy_rows(s, PART_VALUE, 0, s->T, v, s->stride, values, s->D, false);
        return (Pair){scratch, values, transposed_factor(s, s->T, scratch, transposed)};
    }
    real *cached_k = cache->k + (b * s->G + g) * cache->capacity * s->D;
    real *cached_v = cache->v + (b * s->G + g) * cache->capacity * s->D;
    copy_rows(s, PART_VALUE, s->past, s->T, v, s->stride, cached_v + s->past * s->D, s->D, false);
    copy_rows(s, PART_KEY, s->past, s->T, k, s->stride, cached_k + s->past * s->D, s->D, false);
    real *values = scratch + s->keys * s->D, *transposed = values + s->keys * s->D;
    if (s->packed && s->D % LANES != 0) { /* products read past the last row */
        memcpy(values, cached_v, (size_t)(s->keys * s->D) * sizeof(real));
        cached_v = values;
    }
    return (Pair){cached_k, cached_v, transposed_factor(s, s->keys, cached_k, transposed)};
}

/* Columns of a block of scores to multiply: by packed in whole vectors, there is room for them. */
static int64_t score_columns(const Layout *s, const AttentionTile *tile) {
    return s->packed ? whole_vectors(tile->columns) : tile->columns;
}

/* S = q kᵀ · scale + what the scheme adds. */
static void compute_scores(const Layout *s, const AttentionTile *tile, const Pair *pair) {
    product(s, tile->rows, score_columns(s, tile), s->D, s->scale,
            (MatmulOperand){tile->q, s->D, false}, pair->k_transposed, 0, tile->scores,
            tile->stride);
    if (s->hooks && s->hooks->score) s->hooks->score(s->hooks->context, tile);
}

static int64_t attention_units(const Node *node) {
    Layout s = layout_of(node);
    return s.B * s.G;
}

static int64_t attention_scratch(const Node *node, bool backward) {
    Layout s = layout_of(node);
    /* With a cache the same for every token that is generated, though the keys become more: the
     * pool would keep a block for each size. */
    int64_t keys = s.options->cache ? s.options->cache->capacity : s.keys;
    int64_t pair = 2 * keys * s.D + packed_size(keys, s.D);
    int64_t block = s.block * (s.D + whole_vectors(keys));
    int64_t hooks =
        s.hooks && s.hooks->scratch ? s.hooks->scratch(s.hooks->context, s.block, keys, s.D) : 0;
    return (backward ? 2 * pair + 2 * block + s.block * s.D : pair + block) + hooks;
}

static void keep_weights(const Layout *s, int64_t b, const AttentionTile *tile, int64_t row,
                         const real *p, real inverse) {
    int64_t i = tile->first_row - s->past + row;
    real *to = s->options->weights + ((b * s->H + tile->head) * s->T + i) * s->keys;
    for (int64_t j = 0; j < s->keys; j++) to[j] = j < tile->columns ? p[j] * inverse : 0;
}

static void scale_row(int64_t D, real *row, real factor) {
#pragma omp simd
    for (int64_t d = 0; d < D; d++) row[d] *= factor;
}

static void attention_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape;
    Layout s = layout_of(node);
    const real *qkv = node->inputs[0]->data;
    real *q = scratch + 2 * s.keys * s.D + packed_size(s.keys, s.D);
    real *scores = q + s.block * s.D, *hook_scratch = scores + s.block * s.width;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t b = unit / s.G, g = unit % s.G;
        Pair pair = load_pair(&s, qkv, b, g, scratch);
        for (int64_t h = g * s.H / s.G; h < (g + 1) * s.H / s.G; h++) {
            real *out = node->output->data + b * s.T * s.out_stride + h * s.D;
            real *saved = node->saved + (b * s.H + h) * s.T;
            for (int64_t i = 0; i < s.T; i += s.block) {
                int64_t rows = s.T - i < s.block ? s.T - i : s.block;
                copy_rows(&s, PART_QUERY, s.past + i, rows,
                          qkv + (b * s.T + i) * s.stride + h * s.D, s.stride, q, s.D, false);
                AttentionTile tile = tile_of(&s, node, h, i, rows, q, pair.k, scores, hook_scratch);
                compute_scores(&s, &tile, &pair);
                real inverse[LARGE_BLOCK];
                for (int64_t r = 0; r < rows; r++) {
                    real maximum, *row = scores + r * tile.stride;
                    real sum = exponentials(row, first_key(&s, b, i + r), end_key(&s, i + r),
                                            whole_vectors(tile.columns), &maximum);
                    inverse[r] = sum > 0 ? 1 / sum : (sum == 0 ? 0 : sum); /* NaN stays NaN */
                    saved[i + r] = maximum + real_log(sum > 0 ? sum : 1);
                    if (s.options->weights) keep_weights(&s, b, &tile, r, row, inverse[r]);
                }
                product(&s, rows, s.D, tile.columns, 1, (MatmulOperand){scores, s.width, false},
                        rows_factor(pair.v, s.D), 0, out + i * s.out_stride, s.out_stride);
                if (s.hooks && s.hooks->value)
                    s.hooks->value(s.hooks->context, &tile, out + i * s.out_stride, s.out_stride);
                for (int64_t r = 0; r < rows; r++)
                    scale_row(s.D, out + (i + r) * s.out_stride, inverse[r]);
            }
        }
    }
}

/* ---- backward ---- */

/* Stores the gradient of rows of one head, through the transpose of the transform. */
static void store_rows(const Layout *s, AttentionPart part, int64_t position, int64_t rows,
                       real *gradient, real *to, real accumulate) {
    if (accumulate == 0) {
        copy_rows(s, part, position, rows, gradient, s->D, to, s->stride, true);
        return;
    }
    copy_rows(s, part, position, rows, gradient, s->D, gradient, s->D, true);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t d = 0; d < s->D; d++) to[r * s->stride + d] += gradient[r * s->D + d];
}

static void attention_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape;
    Layout s = layout_of(node);
    int64_t size = s.keys * s.D;
    int64_t packed = packed_size(s.keys, s.D);
    real *v_transposed = scratch + 2 * size + packed, *dk = v_transposed + packed, *dv = dk + size;
    real *q = dv + size, *dq = q + s.block * s.D, *dout = dq + s.block * s.D;
    real *scores = dout + s.block * s.D;
    real *dp = scores + s.block * s.width, *hook_scratch = dp + s.block * s.width;
    const real *qkv = node->inputs[0]->data;
    real *dqkv = node->input_gradients[0], accumulate = node->accumulate[0];
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t b = unit / s.G, g = unit % s.G;
        Pair pair = load_pair(&s, qkv, b, g, scratch);
        Factor vt = transposed_factor(&s, s.T, pair.v, v_transposed);
        real add = 0; /* to dk and dv: the first block overwrites them */
        for (int64_t h = g * s.H / s.G; h < (g + 1) * s.H / s.G; h++) {
            int64_t head = b * s.T * s.out_stride + h * s.D;
            const real *saved = node->saved + (b * s.H + h) * s.T;
            /* From the last block down: that one reaches all keys. */
            for (int64_t i = (s.T - 1) / s.block * s.block; i >= 0; i -= s.block, add = 1) {
                int64_t rows = s.T - i < s.block ? s.T - i : s.block;
                int64_t row = (b * s.T + i) * s.stride + h * s.D;
                copy_rows(&s, PART_QUERY, i, rows, qkv + row, s.stride, q, s.D, false);
                AttentionTile tile = tile_of(&s, node, h, i, rows, q, pair.k, scores, hook_scratch);
                compute_scores(&s, &tile, &pair);
                for (int64_t r = 0; r < rows; r++)
                    weights_again(scores + r * s.width, first_key(&s, b, i + r), end_key(&s, i + r),
                                  whole_vectors(tile.columns), saved[i + r]);

                const real *out = node->output->data + head + i * s.out_stride;
                /* Side by side: rows a whole d_model apart would compete for the same cache lines. */
                const real *dout_rows = node->output_gradient + head + i * s.out_stride;
                copy_strided(rows, s.D, dout_rows, s.out_stride, dout, s.D);
                fetch_next_head(rows, s.D, dout_rows, s.out_stride);
                fetch_next_head(rows, s.D, out, s.out_stride);
                product(&s, tile.columns, s.D, rows, 1, (MatmulOperand){scores, s.width, true},
                        rows_factor(dout, s.D), add, dv, s.D);
                product(&s, rows, score_columns(&s, &tile), s.D, 1,
                        (MatmulOperand){dout, s.D, false}, vt, 0, dp, s.width);
                if (s.hooks && s.hooks->value_backward)
                    s.hooks->value_backward(s.hooks->context, &tile, dout, s.D, dp);
                for (int64_t r = 0; r < rows; r++)
                    softmax_backward(tile.columns, scores + r * s.width, s.D,
                                     out + r * s.out_stride, dout + r * s.D, dp + r * s.width);

                product(&s, rows, s.D, tile.columns, s.scale, (MatmulOperand){dp, s.width, false},
                        rows_factor(pair.k, s.D), 0, dq, s.D);
                product(&s, tile.columns, s.D, rows, s.scale, (MatmulOperand){dp, s.width, true},
                        rows_factor(q, s.D), add, dk, s.D);
                tile.scores = dp;
                if (s.hooks && s.hooks->score_backward)
                    s.hooks->score_backward(s.hooks->context, &tile, dq, dk);
                store_rows(&s, PART_QUERY, i, rows, dq, dqkv + row, accumulate);
            }
        }
        real *dk_rows = dqkv + b * s.T * s.stride + (s.H + g) * s.D;
        store_rows(&s, PART_KEY, 0, s.T, dk, dk_rows, accumulate);
        store_rows(&s, PART_VALUE, 0, s.T, dv, dk_rows + s.G * s.D, accumulate);
    }
}

/* Two products of 2·D a score, over the allowed half. */
static int64_t attention_flops(const Node *node) {
    Layout s = layout_of(node);
    int64_t scores = s.options->causal ? s.T * s.past + s.T * (s.T + 1) / 2 : s.T * s.keys;
    return 4 * s.B * s.H * s.D * scores;
}

/* The second form is for schemes with trained tables inside attention: all heads add to the same
 * gradient, so backward must not be split. */
#define ATTENTION_OPERATION(splits)                                                                \
    {                                                                                              \
        .name = "attention", .kind = KIND_ATTENTION,                                               \
        .backward_reads = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3, .units = attention_units,         \
        .scratch = attention_scratch, .flops = attention_flops, .forward = attention_forward,      \
        .backward = attention_backward, .plain_forward = plain_attention,                          \
        .plain_backward = plain_attention_backward, .backward_splits = (splits),                   \
        .adds_gradient = 1u << 1 | 1u << 2 | 1u << 3                                               \
    }
static const Operation attention_operation = ATTENTION_OPERATION(true);
static const Operation attention_with_tables = ATTENTION_OPERATION(false);

Tensor *attention(Tape *tape, Tensor *qkv, const AttentionOptions *options) {
    bool tables = options->tables[0];
    OperationCall call = {.operation = tables ? &attention_with_tables : &attention_operation,
                          .name = "attention",
                          .inputs = {qkv},
                          .rank = 3,
                          .options = options,
                          .options_size = sizeof *options};
    for (int i = 0; tables && i < 3; i++) call.inputs[i + 1] = options->tables[i];
    int64_t D = qkv->shape[2] / (options->num_heads + 2 * options->num_kv_heads);
    call.shape[0] = qkv->shape[0];
    call.shape[1] = qkv->shape[1];
    call.shape[2] = options->num_heads * D;
    call.saved_size = qkv->shape[0] * options->num_heads * qkv->shape[1];
    return tape_apply(tape, &call);
}
