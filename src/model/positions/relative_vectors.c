/* Relative vectors: the score looks at a vector that belongs to the distance, not only at a number.
 *
 *   shaw             (q_i·k_j + q_i·a[c])/√D,  out_i = Σ_j P_ij (v_j + b[c]),  c = clip(j − i, −K, K)
 *                    a, b trained, shared by the heads of a layer              (Shaw et al. 2018)
 *   transformer_xl   ((q_i + u)·k_j + (q_i + v)·W_r R_{i−j})/√D, R_m the sinusoidal row of m;
 *                    u, v per head                                              (Dai et al. 2019)
 *
 * Both multiply all queries of a tile with all vectors of its offsets o = j − i in one product, and
 * then score (i, j) picks the entry of its offset: with the entries of row i in order of o, a row of
 * scores adds a stretch of them (`band_add`). Backward is the transpose (`band_collect`). */
#include <stdio.h>
#include <stdlib.h>

#include "model/position.h"
#include "model/position_tables.h"
#include "tensor/matmul.h"

/* ---- bands: one row of `count` entries per row of a tile, for offsets low … low + count − 1 ---- */

typedef struct Band {
    int64_t low, count;
    /* Offsets beyond the ends share the entry there (never happens when the band covers the tile). */
} Band;

/* The offsets of a tile, none further than `reach` from 0. */
static Band band_of(const AttentionTile *tile, int64_t reach) {
    int64_t low = -(tile->first_row + tile->rows - 1);
    int64_t high = tile->causal ? 0 : tile->columns - 1 - tile->first_row;
    if (low < -reach) low = -reach;
    if (high > reach) high = reach;
    return (Band){low, high - low + 1};
}

/* Columns [0, near) of row r take the first entry, [near, far) one each, [far, end) the last. */
typedef struct Span {
    int64_t near, far, end;
    int64_t entry; /* of column `near` */
} Span;

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

static Span span_of(const AttentionTile *tile, Band band, int64_t r) {
    int64_t i = tile->first_row + r;
    Span span = {.end = tile->causal ? i + 1 : tile->columns};
    span.near = clamp(i + band.low, 0, span.end);
    span.far = clamp(i + band.low + band.count, span.near, span.end);
    span.entry = span.near - i - band.low;
    return span;
}

/* to (rows, stride) += the band's entries of each column's offset */
static void band_add(const AttentionTile *tile, Band band, const real *entries, real *to) {
    for (int64_t r = 0; r < tile->rows; r++, entries += band.count, to += tile->stride) {
        Span span = span_of(tile, band, r);
        int64_t shift = span.entry - span.near;
        real first = entries[0], last = entries[band.count - 1];
        for (int64_t j = 0; j < span.near; j++) to[j] += first;
#pragma omp simd
        for (int64_t j = span.near; j < span.far; j++) to[j] += entries[j + shift];
        for (int64_t j = span.far; j < span.end; j++) to[j] += last;
    }
}

/* entries (rows, count) = sums of the columns of each offset */
static void band_collect(const AttentionTile *tile, Band band, const real *from, real *entries) {
    memset(entries, 0, (size_t)(tile->rows * band.count) * sizeof(real));
    for (int64_t r = 0; r < tile->rows; r++, entries += band.count, from += tile->stride) {
        Span span = span_of(tile, band, r);
        int64_t shift = span.entry - span.near;
        real first = 0, last = 0;
#pragma omp simd reduction(+ : first)
        for (int64_t j = 0; j < span.near; j++) first += from[j];
#pragma omp simd
        for (int64_t j = span.near; j < span.far; j++) entries[j + shift] += from[j];
        for (int64_t j = span.far; j < span.end; j++) last += from[j];
        entries[0] += first;
        entries[band.count - 1] += last;
    }
}

static MatmulOperand plain(const real *data, int64_t stride) {
    return (MatmulOperand){data, stride, false};
}
static MatmulOperand transposed(const real *data, int64_t stride) {
    return (MatmulOperand){data, stride, true};
}

/* ---- shaw ---- */

/* Context of the hooks: K, the clipping distance. */
static Band shaw_band(const void *context, const AttentionTile *tile) {
    return band_of(tile, *(const int64_t *)context);
}

/* Where the vectors of a band begin in a table of 2K + 1 rows. */
static int64_t shaw_first(const void *context, const AttentionTile *tile, Band band) {
    return (band.low + *(const int64_t *)context) * tile->d_head;
}

static int64_t shaw_scratch(const void *context, int64_t rows, int64_t keys, int64_t d_head) {
    (void)d_head;
    int64_t width = 2 * (*(const int64_t *)context < keys ? *(const int64_t *)context : keys) + 1;
    return rows * width;
}

static void shaw_score(const void *context, const AttentionTile *tile) {
    int64_t D = tile->d_head;
    Band band = shaw_band(context, tile);
    const real *a = tile->tables[0] + shaw_first(context, tile, band);
    matmul(tile->rows, band.count, D, tile->scale, plain(tile->q, D), transposed(a, D), 0,
           tile->scratch, band.count);
    band_add(tile, band, tile->scratch, tile->scores);
}

static void shaw_score_backward(const void *context, const AttentionTile *tile, real *dq,
                                real *dk) {
    (void)dk;
    int64_t D = tile->d_head;
    Band band = shaw_band(context, tile);
    int64_t first = shaw_first(context, tile, band);
    real *g = tile->scratch;
    band_collect(tile, band, tile->scores, g);
    matmul(tile->rows, D, band.count, tile->scale, plain(g, band.count),
           plain(tile->tables[0] + first, D), 1, dq, D);
    if (tile->table_gradients[0])
        matmul(band.count, D, tile->rows, tile->scale, transposed(g, band.count), plain(tile->q, D),
               1, tile->table_gradients[0] + first, D);
}

static void shaw_value(const void *context, const AttentionTile *tile, real *out,
                       int64_t out_stride) {
    int64_t D = tile->d_head;
    Band band = shaw_band(context, tile);
    const real *b = tile->tables[1] + shaw_first(context, tile, band);
    band_collect(tile, band, tile->scores, tile->scratch);
    matmul(tile->rows, D, band.count, 1, plain(tile->scratch, band.count), plain(b, D), 1, out,
           out_stride);
}

static void shaw_value_backward(const void *context, const AttentionTile *tile, const real *dout,
                                int64_t dout_stride, real *dp) {
    int64_t D = tile->d_head;
    Band band = shaw_band(context, tile);
    int64_t first = shaw_first(context, tile, band);
    real *g = tile->scratch;
    if (tile->table_gradients[1]) {
        band_collect(tile, band, tile->scores, g);
        matmul(band.count, D, tile->rows, 1, transposed(g, band.count), plain(dout, dout_stride), 1,
               tile->table_gradients[1] + first, D);
    }
    matmul(tile->rows, band.count, D, 1, plain(dout, dout_stride),
           transposed(tile->tables[1] + first, D), 0, g, band.count);
    band_add(tile, band, g, dp);
}

static bool shaw_check(const ModelConfig *config, Error *error) {
    if (config->position.max_distance >= 1) return true;
    return error_set(error, "model.position.max_distance: must be at least 1, not %lld",
                     (long long)config->position.max_distance);
}

static void shaw_declare(Position *position, Parameters *parameters, int64_t layer) {
    if (layer < 0) return;
    const PositionConfig *c = &position->config->position;
    PositionLayer *own = &position->layers[layer];
    own->hooks = (AttentionHooks){.context = &c->max_distance,
                                  .large_tiles = true,
                                  .scratch = shaw_scratch,
                                  .score = shaw_score,
                                  .score_backward = shaw_score_backward};
    static const char *const names[2] = {"relative_keys", "relative_values"};
    for (int i = 0; i < (c->values ? 2 : 1); i++) {
        char name[64];
        snprintf(name, sizeof name, "layers.%lld.attn.%s.weight", (long long)layer, names[i]);
        own->tables[i] = parameters_declare_one(parameters, name, 2 * c->max_distance + 1,
                                                position->d_head, INIT_SMALL);
    }
    if (!c->values) return;
    own->hooks.value = shaw_value;
    own->hooks.value_backward = shaw_value_backward;
}

const PositionScheme position_shaw = {.check = shaw_check, .declare = shaw_declare};

/* ---- transformer_xl ---- */

static const double XL_BASE = 10000;

typedef struct XlState {
    int64_t heads;
    real *table; /* (2·prepared − 1, C): row of offset o is R_{−o}, o + prepared − 1 its number */
} XlState;

static void xl_prepare(Position *position, int64_t length) {
    XlState *state = position->state;
    int64_t C = position->config->d_model;
    double *frequencies = allocate((size_t)C, sizeof *frequencies);
    double *row = allocate((size_t)C, sizeof *row);
    position_sinusoidal_frequencies(C, XL_BASE, LAYOUT_HALF, frequencies);
    state->table = reallocate(state->table, (size_t)((2 * length - 1) * C), sizeof(real));
    for (int64_t offset = 1 - length; offset < length; offset++) {
        position_sinusoidal_row((double)-offset, C, LAYOUT_HALF, frequencies, row);
        for (int64_t c = 0; c < C; c++) state->table[(offset + length - 1) * C + c] = (real)row[c];
    }
    free(row);
    free(frequencies);
}

/* tables[2] = R W_rᵀ for the offsets −(keys − 1) … 0, bidirectional also … keys − 1; it is the same
 * for all sequences of the batch and all tiles. */
static void xl_layer_tables(const Position *position, Tape *tape, int64_t layer, int64_t keys,
                            bool bidirectional, Tensor *tables[3]) {
    (void)layer;
    const XlState *state = position->state;
    int64_t C = position->config->d_model;
    real *rows = tape->mode == TAPE_PLAN ? NULL : state->table + (position->prepared - keys) * C;
    Tensor *distances = tape_constant(tape, "distances", rows, 2,
                                      (int64_t[]){bidirectional ? 2 * keys - 1 : keys, C});
    tables[2] = linear(tape, distances, tables[2], NULL);
}

/* One tile's pieces. */
typedef struct XlTile {
    Band band;
    int64_t C, row; /* of tables[2]: row length, and the element where this tile and head begin */
    const real *u, *v;
    real *qv;      /* (rows, D): q + v */
    real *dqv;     /* (rows, D) */
    real *entries; /* (rows, band.count) */
    real *columns; /* (columns) */
} XlTile;

static XlTile xl_tile(const XlState *state, const AttentionTile *tile) {
    int64_t D = tile->d_head;
    XlTile xl = {.band = band_of(tile, INT64_MAX), .C = state->heads * D};
    xl.row = (tile->keys - 1 + xl.band.low) * xl.C + tile->head * D;
    xl.u = tile->tables[0] + tile->head * D;
    xl.v = tile->tables[1] + tile->head * D;
    xl.qv = tile->scratch;
    xl.dqv = xl.qv + tile->rows * D;
    xl.columns = xl.dqv + tile->rows * D;
    xl.entries = xl.columns + tile->columns;
    for (int64_t r = 0; r < tile->rows; r++)
        for (int64_t d = 0; d < D; d++) xl.qv[r * D + d] = tile->q[r * D + d] + xl.v[d];
    return xl;
}

static int64_t xl_scratch(const void *context, int64_t rows, int64_t keys, int64_t d_head) {
    (void)context;
    return 2 * rows * d_head + keys + rows * (2 * keys - 1);
}

static void xl_score(const void *context, const AttentionTile *tile) {
    int64_t D = tile->d_head;
    XlTile xl = xl_tile(context, tile);
    matmul(tile->rows, xl.band.count, D, tile->scale, plain(xl.qv, D),
           transposed(tile->tables[2] + xl.row, xl.C), 0, xl.entries, xl.band.count);
    band_add(tile, xl.band, xl.entries, tile->scores);
    matmul(1, tile->columns, D, tile->scale, plain(xl.u, D), transposed(tile->k, D), 0, xl.columns,
           tile->columns);
    for (int64_t r = 0; r < tile->rows; r++) {
        real *scores = tile->scores + r * tile->stride;
#pragma omp simd
        for (int64_t j = 0; j < tile->columns; j++) scores[j] += xl.columns[j];
    }
}

/* With G the dS by offset, s_j = Σ_i dS_ij, r = R W_rᵀ, everything times 1/√D:
 *   dq += G r,  dv = Σ_i (G r)_i,  dr = Gᵀ (q + v),  du = Σ_j s_j k_j,  dk_j += s_j u */
static void xl_score_backward(const void *context, const AttentionTile *tile, real *dq, real *dk) {
    int64_t D = tile->d_head, head = tile->head * D;
    XlTile xl = xl_tile(context, tile);
    real *du = tile->table_gradients[0], *dv = tile->table_gradients[1];
    band_collect(tile, xl.band, tile->scores, xl.entries);
    matmul(tile->rows, D, xl.band.count, tile->scale, plain(xl.entries, xl.band.count),
           plain(tile->tables[2] + xl.row, xl.C), 0, xl.dqv, D);
    for (int64_t r = 0; r < tile->rows; r++)
        for (int64_t d = 0; d < D; d++) {
            dq[r * D + d] += xl.dqv[r * D + d];
            if (dv) dv[head + d] += xl.dqv[r * D + d];
        }
    if (tile->table_gradients[2])
        matmul(xl.band.count, D, tile->rows, tile->scale, transposed(xl.entries, xl.band.count),
               plain(xl.qv, D), 1, tile->table_gradients[2] + xl.row, xl.C);
    memset(xl.columns, 0, (size_t)tile->columns * sizeof(real));
    for (int64_t r = 0; r < tile->rows; r++)
        for (int64_t j = 0; j < tile->columns; j++)
            xl.columns[j] += tile->scores[r * tile->stride + j];
    if (du)
        matmul(1, D, tile->columns, tile->scale, plain(xl.columns, tile->columns),
               plain(tile->k, D), 1, du + head, D);
    matmul(tile->columns, D, 1, tile->scale, plain(xl.columns, 1), plain(xl.u, D), 1, dk, D);
}

static void xl_declare(Position *position, Parameters *parameters, int64_t layer) {
    int64_t H = position->config->num_heads, C = position->config->d_model;
    if (layer < 0) {
        XlState *state = allocate_zeroed(1, sizeof *state);
        state->heads = H;
        position->state = state;
        return;
    }
    PositionLayer *own = &position->layers[layer];
    own->hooks = (AttentionHooks){.context = position->state,
                                  .large_tiles = true,
                                  .scratch = xl_scratch,
                                  .score = xl_score,
                                  .score_backward = xl_score_backward};
    static const char *const names[3] = {"content_bias", "position_bias", "position_proj"};
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "layers.%lld.attn.%s.weight", (long long)layer, names[i]);
        own->tables[i] =
            parameters_declare_one(parameters, name, i < 2 ? H : C, i < 2 ? position->d_head : C,
                                   i < 2 ? INIT_ZEROS : INIT_LINEAR);
    }
}

static void xl_destroy(Position *position) {
    XlState *state = position->state;
    free(state->table);
    free(state);
}

const PositionScheme position_transformer_xl = {
    .declare = xl_declare,
    .prepare = xl_prepare,
    .layer_tables = xl_layer_tables,
    .destroy = xl_destroy,
};
