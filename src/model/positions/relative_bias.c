/* Relative bias: one number per head and distance, added to the score after the 1/√D. Queries and
 * keys stay as they are, so the cost is one addition per score.
 *
 *   t5       B[bucket(i − j)][h], trained; near distances exact, far ones in logarithmic buckets
 *            (Raffel et al. 2019; here with the 1/√D that T5 leaves out, and a table in every layer)
 *   window   B[(i − j) + W − 1][h], trained; distances up to W − 1     (Swin, Liu et al. 2021, in 1-D)
 *   alibi    −slope_h · |i − j|, fixed                                          (Press et al. 2021)
 *
 * A tile is a Toeplitz matrix: row r + 1 is row r moved by one column. So the biases of a stretch of
 * offsets j − i are looked up once, into a line, and every row adds a part of that line. Backward
 * sums the rows into such a line first, and then the line into the table. */
#include <stdio.h>
#include <stdlib.h>

#include "model/position.h"
#include "model/position_tables.h"

typedef struct BiasState {
    int64_t heads;
    double *slopes; /* alibi: (heads); else NULL */
    int32_t *rows;  /* t5, window: the table row of offset j − i is rows[j − i + reach − 1] */
    int64_t reach;
} BiasState;

static bool bias_check(const ModelConfig *config, Error *error) {
    const PositionConfig *c = &config->position;
    if (c->type != POSITION_ALIBI && c->max_distance < 1)
        return error_set(error, "model.position.max_distance: must be at least 1, not %lld",
                         (long long)c->max_distance);
    if (c->type == POSITION_T5 && c->buckets < 1)
        return error_set(error, "model.position.buckets: must be at least 1, not %lld",
                         (long long)c->buckets);
    return true;
}

static void bias_prepare(Position *position, int64_t length) {
    const PositionConfig *c = &position->config->position;
    BiasState *state = position->state;
    if (state->slopes) return;
    state->rows = reallocate(state->rows, (size_t)(2 * length - 1), sizeof *state->rows);
    state->reach = length;
    for (int64_t offset = 1 - length; offset < length; offset++) {
        int64_t row = c->type == POSITION_T5
                          ? position_t5_bucket(-offset, c->buckets, c->max_distance)
                          : position_window_row(0, offset, c->max_distance);
        state->rows[offset + length - 1] = (int32_t)row;
    }
}

/* ---- lines: line[n] belongs to offset first + n ---- */

enum { PART_ROWS = 64, PART_COLUMNS = 448, PART_LINE = PART_ROWS + PART_COLUMNS };

static void line_look_up(const BiasState *state, const AttentionTile *tile, int64_t first,
                         int64_t count, real *line) {
    if (state->slopes) {
        real slope = (real)state->slopes[tile->head];
        for (int64_t n = 0; n < count; n++) line[n] = -slope * (real)llabs(first + n);
        return;
    }
    const int32_t *rows = state->rows + first + state->reach - 1;
    const real *table = tile->tables[0] + tile->head;
    for (int64_t n = 0; n < count; n++) line[n] = table[rows[n] * state->heads];
}

static void line_sum_up(const BiasState *state, const AttentionTile *tile, int64_t first,
                        int64_t count, const real *line) {
    const int32_t *rows = state->rows + first + state->reach - 1;
    real *table = tile->table_gradients[0] + tile->head;
    for (int64_t n = 0; n < count; n++) table[rows[n] * state->heads] += line[n];
}

/* Part of a tile: the line of its offsets, and where row r finds its first column's entry. */
typedef struct Part {
    int64_t row, rows, column, columns;
    int64_t first, count; /* offsets first … first + count − 1 */
} Part;

static Part part_of(const AttentionTile *tile, int64_t row, int64_t column) {
    Part part = {.row = row, .rows = tile->rows - row, .column = column};
    part.columns = tile->columns - column;
    if (part.rows > PART_ROWS) part.rows = PART_ROWS;
    if (part.columns > PART_COLUMNS) part.columns = PART_COLUMNS;
    part.first = column - (tile->first_row + row + part.rows - 1);
    part.count = part.rows + part.columns - 1;
    return part;
}

static void bias_score(const void *context, const AttentionTile *tile) {
    for (int64_t row = 0; row < tile->rows; row += PART_ROWS)
        for (int64_t column = 0; column < tile->columns; column += PART_COLUMNS) {
            Part part = part_of(tile, row, column);
            real line[PART_LINE];
            line_look_up(context, tile, part.first, part.count, line);
            for (int64_t r = 0; r < part.rows; r++) {
                const real *bias = line + part.rows - 1 - r;
                real *scores = tile->scores + (row + r) * tile->stride + column;
#pragma omp simd
                for (int64_t j = 0; j < part.columns; j++) scores[j] += bias[j];
            }
        }
}

/* dB[row of offset][h] = Σ dS over the scores of that offset */
static void bias_score_backward(const void *context, const AttentionTile *tile, real *dq,
                                real *dk) {
    (void)dq, (void)dk;
    if (!tile->table_gradients[0]) return;
    for (int64_t row = 0; row < tile->rows; row += PART_ROWS)
        for (int64_t column = 0; column < tile->columns; column += PART_COLUMNS) {
            Part part = part_of(tile, row, column);
            real line[PART_LINE] = {0};
            for (int64_t r = 0; r < part.rows; r++) {
                real *sums = line + part.rows - 1 - r;
                const real *dscores = tile->scores + (row + r) * tile->stride + column;
#pragma omp simd
                for (int64_t j = 0; j < part.columns; j++) sums[j] += dscores[j];
            }
            line_sum_up(context, tile, part.first, part.count, line);
        }
}

static void bias_declare(Position *position, Parameters *parameters, int64_t layer) {
    const PositionConfig *c = &position->config->position;
    int64_t heads = position->config->num_heads;
    if (layer < 0) {
        BiasState *state = allocate_zeroed(1, sizeof *state);
        state->heads = heads;
        if (c->type == POSITION_ALIBI) {
            state->slopes = allocate((size_t)heads, sizeof *state->slopes);
            position_alibi_slopes(heads, state->slopes);
        }
        position->state = state;
        return;
    }
    PositionLayer *own = &position->layers[layer];
    own->hooks = (AttentionHooks){.context = position->state, .score = bias_score};
    if (c->type == POSITION_ALIBI) return;
    own->hooks.score_backward = bias_score_backward;
    char name[64];
    snprintf(name, sizeof name, "layers.%lld.attn.relative_bias.weight", (long long)layer);
    int64_t rows = c->type == POSITION_T5 ? c->buckets : 2 * c->max_distance - 1;
    own->tables[0] = parameters_declare_one(parameters, name, rows, heads, INIT_ZEROS);
}

static void bias_destroy(Position *position) {
    BiasState *state = position->state;
    free(state->slopes);
    free(state->rows);
    free(state);
}

const PositionScheme position_relative_bias = {
    .check = bias_check,
    .declare = bias_declare,
    .prepare = bias_prepare,
    .destroy = bias_destroy,
};
