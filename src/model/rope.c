/* Rotary positions: pairs of elements of q and k turn by an angle proportional to the position, so
 * that ⟨R_m q, R_n k⟩ = ⟨q, R_{n−m} k⟩ depends on the distance alone (Su et al. 2021; handout §3.5.3).
 *
 *   (a, b) -> (a·cos mθ_i − b·sin mθ_i, a·sin mθ_i + b·cos mθ_i);  backward: the same with −sin */
#include <math.h>
#include <stdlib.h>

#include "model/position.h"
#include "model/position_tables.h"

typedef struct RopeTable {
    int64_t rotated; /* elements of a head that turn; the rest stays as it is */
    PositionLayout layout;
    double slowest;      /* the last frequency of the tables: tells whether they changed */
    real *cosine, *sine; /* (positions, rotated/2); angles in double, rounded once */
} RopeTable;

static bool rope_check(const ModelConfig *config, Error *error) {
    return position_rope_check(&config->position, config->d_model / config->num_heads, error);
}

/* The tables cover `length` positions, and all that were covered before, with the frequencies that
 * hold at this length: only dynamic_ntk comes here for a length that is covered already. */
static void rope_prepare(Position *position, int64_t length) {
    RopeTable *table = position->state;
    int64_t half = table->rotated / 2, reach = length;
    double *theta = allocate((size_t)half, sizeof *theta), magnitude;
    position_rope_frequencies(&position->config->position, position->d_head,
                              position->config->context_length, length, theta, &magnitude);
    if (reach < position->prepared) reach = position->prepared;
    if (reach == position->prepared && theta[half - 1] == table->slowest) {
        free(theta);
        return;
    }
    table->slowest = theta[half - 1];
    table->cosine = reallocate(table->cosine, (size_t)(reach * half), sizeof(real));
    table->sine = reallocate(table->sine, (size_t)(reach * half), sizeof(real));
#pragma omp parallel for schedule(static)
    for (int64_t m = 0; m < reach; m++)
        for (int64_t i = 0; i < half; i++) {
            table->cosine[m * half + i] = (real)(magnitude * cos((double)m * theta[i]));
            table->sine[m * half + i] = (real)(magnitude * sin((double)m * theta[i]));
        }
    free(theta);
}

static void rope_transform(const void *context, int64_t first_position, int64_t rows,
                           int64_t d_head, const real *from, int64_t from_stride, real *to,
                           int64_t to_stride, bool inverse) {
    const RopeTable *table = context;
    int64_t half = table->rotated / 2;
    real sign = inverse ? -1 : 1;
    for (int64_t r = 0; r < rows; r++, from += from_stride, to += to_stride) {
        const real *c = table->cosine + (first_position + r) * half;
        const real *s = table->sine + (first_position + r) * half;
        if (table->layout == LAYOUT_INTERLEAVED) {
#pragma omp simd
            for (int64_t i = 0; i < half; i++) {
                real a = from[2 * i], b = from[2 * i + 1], sine = sign * s[i];
                to[2 * i] = a * c[i] - b * sine;
                to[2 * i + 1] = a * sine + b * c[i];
            }
        } else {
#pragma omp simd
            for (int64_t i = 0; i < half; i++) {
                real a = from[i], b = from[i + half], sine = sign * s[i];
                to[i] = a * c[i] - b * sine;
                to[i + half] = a * sine + b * c[i];
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
        position->state = table;
        return;
    }
    position->layers[layer].hooks = (AttentionHooks){
        .context = position->state,
        .transforms = {true, true, config->rotate_values},
        .transform = rope_transform,
        /* Here the frequencies change with the length, and with them every key already seen. */
        .cache_before_transform = config->scaling.type == ROPE_SCALING_DYNAMIC_NTK,
    };
}

static void rope_destroy(Position *position) {
    RopeTable *table = position->state;
    free(table->cosine);
    free(table->sine);
    free(table);
}

const PositionScheme position_rope = {
    .check = rope_check,
    .declare = rope_declare,
    .prepare = rope_prepare,
    .destroy = rope_destroy,
};
