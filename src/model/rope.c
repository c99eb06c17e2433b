/* Rotary positions: pairs of elements of q and k turn by an angle proportional to the position, so
 * that ⟨R_m q, R_n k⟩ = ⟨q, R_{n−m} k⟩ depends on the distance alone (Su et al. 2021; handout §3.5.3).
 *
 *   (a, b) -> (a·cos mθ_i − b·sin mθ_i, a·sin mθ_i + b·cos mθ_i);  backward: the same with −sin */
#include <math.h>
#include <stdlib.h>

#include "model/position.h"
#include "model/position_tables.h"
#include "tensor/plain/plain.h"

typedef struct RopeTable {
    int64_t rotated; /* elements of a head that turn; the rest stays as it is */
    PositionLayout layout;
    double *theta, magnitude; /* the frequencies, and the factor on cosine and sine */
    /* (positions, rotated): the factor of each element and that of its partner, cos and ∓sin; twice
     * the memory of one per pair, and no shuffles in the loops. Angles in double, rounded once. */
    real *own, *partner;
} RopeTable;

static bool rope_check(const ModelConfig *config, Error *error) {
    return position_rope_check(&config->position, config->d_model / config->num_heads, error);
}

/* The tables cover `length` positions, and all that were covered before, with the frequencies that
 * hold at this length: only dynamic_ntk comes here for a length that is covered already. */
static void rope_prepare(Position *position, int64_t length) {
    RopeTable *table = position->state;
    int64_t half = table->rotated / 2, reach = length;
    double *theta = table->theta, slowest = theta[half - 1]; /* tells whether they change */
    position_rope_frequencies(&position->config->position, position->d_head,
                              position->config->context_length, length, theta, &table->magnitude);
    if (reach < position->prepared) reach = position->prepared;
    if (reach == position->prepared && theta[half - 1] == slowest) return;
    table->own = reallocate(table->own, (size_t)(2 * reach * half), sizeof(real));
    table->partner = reallocate(table->partner, (size_t)(2 * reach * half), sizeof(real));
    bool interleaved = table->layout == LAYOUT_INTERLEAVED;
#pragma omp parallel for schedule(static)
    for (int64_t m = 0; m < reach; m++)
        for (int64_t i = 0; i < half; i++) {
            int64_t a = 2 * m * half + (interleaved ? 2 * i : i), b = a + (interleaved ? 1 : half);
            double sine = table->magnitude * sin((double)m * theta[i]);
            table->own[a] = table->own[b] = (real)(table->magnitude * cos((double)m * theta[i]));
            table->partner[a] = (real)-sine;
            table->partner[b] = (real)sine;
        }
}

static void rope_plain_transform(const void *context, int64_t first_position, int64_t rows,
                                 int64_t d_head, const real *from, int64_t from_stride, real *to,
                                 int64_t to_stride, bool inverse) {
    const RopeTable *table = context;
    for (int64_t r = 0; r < rows; r++, from += from_stride, to += to_stride) {
        double m = (double)(first_position + r);
        plain_rope(d_head, table->rotated, table->layout == LAYOUT_HALF, inverse ? -m : m,
                   table->theta, from, to);
        for (int64_t d = 0; d < table->rotated; d++) to[d] *= (real)table->magnitude;
    }
}

static void rope_transform(const void *context, int64_t first_position, int64_t rows,
                           int64_t d_head, const real *from, int64_t from_stride, real *to,
                           int64_t to_stride, bool inverse) {
    const RopeTable *table = context;
    int64_t half = table->rotated / 2;
    real sign = inverse ? -1 : 1;
    for (int64_t r = 0; r < rows; r++, from += from_stride, to += to_stride) {
        const real *c = table->own + 2 * half * (first_position + r);
        const real *s = table->partner + 2 * half * (first_position + r);
        if (table->layout == LAYOUT_INTERLEAVED) {
#pragma omp simd
            for (int64_t i = 0; i < 2 * half; i += 2) {
                real a = from[i], b = from[i + 1];
                to[i] = a * c[i] + b * (sign * s[i]);
                to[i + 1] = b * c[i + 1] + a * (sign * s[i + 1]);
            }
        } else {
#pragma omp simd
            for (int64_t i = 0; i < half; i++) {
                real a = from[i], b = from[i + half];
                to[i] = a * c[i] + b * (sign * s[i]);
                to[i + half] = b * c[i + half] + a * (sign * s[i + half]);
            }
        }
        for (int64_t d = table->rotated; d < d_head; d++) to[d] = from[d];
    }
}

static void rope_declare(Position *position, Parameters *parameters, int64_t layer) {
    (void)parameters; /* nothing is trained */
    const PositionConfig *config = &position->config->position;
    if (layer < 0) {
        RopeTable *table = allocate_zeroed(1, sizeof *table);
        table->rotated = position_rope_rotated(config, position->d_head);
        table->layout = config->layout;
        table->theta = allocate_zeroed((size_t)table->rotated / 2, sizeof *table->theta);
        position->state = table;
        return;
    }
    position->layers[layer].hooks = (AttentionHooks){
        .context = position->state,
        .transforms = {true, true, config->rotate_values},
        .transform = rope_transform,
        .plain_transform = rope_plain_transform,
    };
}

static void rope_destroy(Position *position) {
    RopeTable *table = position->state;
    free(table->theta);
    free(table->own);
    free(table->partner);
    free(table);
}

const PositionScheme position_rope = {
    .check = rope_check,
    .declare = rope_declare,
    .prepare = rope_prepare,
    .destroy = rope_destroy,
};
