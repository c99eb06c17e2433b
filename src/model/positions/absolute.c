/* Absolute positions: a vector p_m for each position m, brought into the embedding x_m at the bottom
 * of the network.
 *
 *   p_m   sinusoidal           a fixed row of sines and cosines            (Vaswani et al. 2017, 3.5)
 *         sinusoidal_learned   the same with trained frequencies
 *         learned              a row of a trained table, perhaps stretched to more rows
 *         index                (m, 0, 0, …): the naive idea, as an ablation
 *   then  add      x_m + p_m
 *         gate     x_m + g ⊙ p_m         one trained number per channel
 *         concat   W [x_m; p_m]          back to d_model channels */
#include <math.h>
#include <stdlib.h>

#include "model/position.h"
#include "model/position_tables.h"
#include "tensor/matmul.h"

typedef struct AbsoluteState {
    PositionType type;
    PositionLayout layout;
    int64_t rows;     /* learned: of the table */
    int64_t new_rows; /* learned: after stretching */
    Tensor *trained;  /* table or frequencies; NULL when the rows are fixed */
    real *fixed;      /* sinusoidal, index: (prepared, C) */
    Tensor *gate, *projection;
} AbsoluteState;

static bool absolute_check(const ModelConfig *config, Error *error) {
    const PositionConfig *c = &config->position;
    if (c->type == POSITION_LEARNED && c->stretch && c->stretch < config->context_length)
        return error_set(
            error,
            "model.position.stretch: %lld rows are fewer than the context length %lld; "
            "give at least as many, or leave it out",
            (long long)c->stretch, (long long)config->context_length);
    if ((c->type == POSITION_SINUSOIDAL || c->type == POSITION_SINUSOIDAL_LEARNED) &&
        !(c->base > 0))
        return error_set(error, "model.position.base: must be above 0, not %g", c->base);
    return true;
}

static void absolute_declare(Position *position, Parameters *parameters, int64_t layer) {
    if (layer >= 0) return;
    const PositionConfig *c = &position->config->position;
    int64_t C = position->config->d_model;
    AbsoluteState *state = allocate(1, sizeof *state);
    *state = (AbsoluteState){.type = c->type,
                             .layout = c->layout,
                             .rows = position->config->context_length,
                             .new_rows = position_limit(position->config)};
    if (c->type == POSITION_LEARNED)
        state->trained = parameters_declare_one(parameters, "position_embeddings.weight",
                                                state->rows, C, INIT_SMALL);
    if (c->type == POSITION_SINUSOIDAL_LEARNED)
        state->trained =
            parameters_declare_one(parameters, "position_frequencies.weight",
                                   position_sinusoidal_count(C, c->layout), 0, INIT_GIVEN);
    if (c->inject == INJECT_GATE)
        state->gate = parameters_declare_one(parameters, "position_gate.weight", C, 0, INIT_ONES);
    if (c->inject == INJECT_CONCAT)
        state->projection =
            parameters_declare_one(parameters, "position_proj.weight", C, 2 * C, INIT_LINEAR);
    position->state = state;
}

static void absolute_initialize(Position *position) {
    const AbsoluteState *state = position->state;
    if (state->type != POSITION_SINUSOIDAL_LEARNED) return;
    int64_t C = position->config->d_model, count = tensor_size(state->trained);
    double *frequencies = allocate((size_t)count, sizeof *frequencies);
    position_sinusoidal_frequencies(C, position->config->position.base, state->layout, frequencies);
    for (int64_t i = 0; i < count; i++) state->trained->data[i] = (real)frequencies[i];
    free(frequencies);
}

static void absolute_prepare(Position *position, int64_t length) {
    AbsoluteState *state = position->state;
    if (state->trained) return;
    int64_t C = position->config->d_model;
    double *frequencies = allocate((size_t)C, sizeof *frequencies);
    double *row = allocate_zeroed((size_t)C, sizeof *row);
    position_sinusoidal_frequencies(C, position->config->position.base, state->layout, frequencies);
    state->fixed = reallocate(state->fixed, (size_t)(length * C), sizeof(real));
    for (int64_t m = 0; m < length; m++) {
        if (state->type == POSITION_INDEX)
            row[0] = (double)m;
        else
            position_sinusoidal_row((double)m, C, state->layout, frequencies, row);
        for (int64_t c = 0; c < C; c++) state->fixed[m * C + c] = (real)row[c];
    }
    free(row);
    free(frequencies);
}

/* ---- the rows p_m of a pass: parameter -> (T, C) ---- */

typedef struct RowsOptions {
    const AbsoluteState *state;
    int64_t first_position;
} RowsOptions;

/* p_m = (1 − f)·table[low] + f·table[low + 1];  d table: the same two shares. */
static void learned_rows(const AbsoluteState *state, int64_t m, int64_t C, real *row) {
    PositionBlend blend = position_stretch(m, state->rows, state->new_rows);
    const real *low = state->trained->data + blend.low * C;
    const real *high = blend.fraction > 0 ? low + C : low;
    real fraction = (real)blend.fraction;
    for (int64_t c = 0; c < C; c++) row[c] = (1 - fraction) * low[c] + fraction * high[c];
}

static void learned_rows_backward(const AbsoluteState *state, int64_t m, int64_t C, const real *dp,
                                  real *dtable) {
    PositionBlend blend = position_stretch(m, state->rows, state->new_rows);
    real *low = dtable + blend.low * C, *high = blend.fraction > 0 ? low + C : low;
    real fraction = (real)blend.fraction;
    for (int64_t c = 0; c < C; c++) {
        low[c] += (1 - fraction) * dp[c];
        high[c] += fraction * dp[c];
    }
}

/* p[2i] = sin(mθ_i), p[2i+1] = cos(mθ_i);  dθ_i = m (dp[2i] cos(mθ_i) − dp[2i+1] sin(mθ_i)). */
static void frequency_rows_backward(const AbsoluteState *state, int64_t m, int64_t C, const real *p,
                                    const real *dp, real *dfrequencies) {
    int64_t count = tensor_size(state->trained), half = C / 2;
    for (int64_t i = 0; i < count; i++) {
        int64_t sine = state->layout == LAYOUT_INTERLEAVED ? 2 * i : i;
        int64_t cosine = state->layout == LAYOUT_INTERLEAVED ? 2 * i + 1 : i + half;
        /* an odd width ends with a sine whose cosine is not stored */
        double c =
            cosine < C ? (double)p[cosine] : cos((double)m * (double)state->trained->data[i]);
        double d = (double)dp[sine] * c;
        if (cosine < C) d -= (double)dp[cosine] * (double)p[sine];
        dfrequencies[i] += (real)((double)m * d);
    }
}

/* Frequencies and one row in double: only the sine and the cosine are rounded, not the angle. */
static int64_t rows_scratch(const Node *node, bool backward) {
    int64_t doubles = 2 * tensor_columns(node->output);
    return backward ? 0 : doubles * (int64_t)(sizeof(double) / sizeof(real));
}

static void rows_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape;
    const RowsOptions *options = node->options;
    const AbsoluteState *state = options->state;
    int64_t C = tensor_columns(node->output), first = options->first_position;
    double *frequencies = (void *)scratch, *row = frequencies + C;
    if (state->type == POSITION_SINUSOIDAL_LEARNED)
        for (int64_t i = 0; i < tensor_size(state->trained); i++)
            frequencies[i] = (double)state->trained->data[i];
    for (int64_t t = begin; t < end; t++) {
        real *p = node->output->data + t * C;
        if (state->type == POSITION_LEARNED) {
            learned_rows(state, first + t, C, p);
            continue;
        }
        position_sinusoidal_row((double)(first + t), C, state->layout, frequencies, row);
        for (int64_t c = 0; c < C; c++) p[c] = (real)row[c];
    }
}

static void rows_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    const RowsOptions *options = node->options;
    const AbsoluteState *state = options->state;
    real *dtrained = node->input_gradients[0];
    if (!dtrained) return;
    int64_t C = tensor_columns(node->output);
    for (int64_t t = begin; t < end; t++) {
        const real *dp = node->output_gradient + t * C;
        if (state->type == POSITION_LEARNED)
            learned_rows_backward(state, options->first_position + t, C, dp, dtrained);
        else
            frequency_rows_backward(state, options->first_position + t, C,
                                    node->output->data + t * C, dp, dtrained);
    }
}

static int64_t rows_units(const Node *node) {
    return tensor_rows(node->output);
}

static const Operation rows_operation = {
    .name = "positions",
    .kind = KIND_OTHER,
    .backward_reads = 1u << 0,
    .adds_gradient = 1u << 0,
    .units = rows_units,
    .scratch = rows_scratch,
    .forward = rows_forward,
    .backward = rows_backward,
};

/* ---- bringing them in: x (B, T, C), p (T, C) [, gate (C)] ---- */

static void inject_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t T = node->inputs[1]->shape[0], C = node->inputs[1]->shape[1];
    const real *g = node->input_count > 2 ? node->inputs[2]->data : NULL;
    for (int64_t n = begin; n < end; n++) {
        const real *x = node->inputs[0]->data + n * C, *p = node->inputs[1]->data + n % T * C;
        real *y = node->output->data + n * C;
        if (g)
            for (int64_t c = 0; c < C; c++) y[c] = x[c] + g[c] * p[c];
        else
            for (int64_t c = 0; c < C; c++) y[c] = x[c] + p[c];
    }
}

/* dx = dy (by the tape);  dp = Σ_b g ⊙ dy;  dg = Σ_{b,t} p ⊙ dy */
static void inject_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t T = node->inputs[1]->shape[0], C = node->inputs[1]->shape[1];
    const real *g = node->input_count > 2 ? node->inputs[2]->data : NULL;
    real *dp = node->input_gradients[1], *dg = node->input_gradients[2];
    for (int64_t n = begin; n < end; n++) {
        const real *dy = node->output_gradient + n * C, *p = node->inputs[1]->data + n % T * C;
        for (int64_t c = 0; dp && c < C; c++) dp[n % T * C + c] += g ? g[c] * dy[c] : dy[c];
        for (int64_t c = 0; g && dg && c < C; c++) dg[c] += p[c] * dy[c];
    }
}

static const Operation inject_operation = {
    .name = "add positions",
    .kind = KIND_OTHER,
    .backward_reads = 1u << 1 | 1u << 2,
    .passes_gradient = 1u << 0,
    .adds_gradient = 1u << 1 | 1u << 2,
    .units = rows_units,
    .forward = inject_forward,
    .backward = inject_backward,
};

static void concat_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t T = node->inputs[1]->shape[0], C = node->inputs[1]->shape[1];
    size_t bytes = (size_t)C * sizeof(real);
    for (int64_t n = begin; n < end; n++) {
        memcpy(node->output->data + n * 2 * C, node->inputs[0]->data + n * C, bytes);
        memcpy(node->output->data + n * 2 * C + C, node->inputs[1]->data + n % T * C, bytes);
    }
}

static void concat_backward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)scratch;
    int64_t T = node->inputs[1]->shape[0], C = node->inputs[1]->shape[1];
    real *dx = node->input_gradients[0], *dp = node->input_gradients[1];
    for (int64_t n = begin; n < end; n++) {
        const real *dy = node->output_gradient + n * 2 * C;
        for (int64_t c = 0; dx && c < C; c++) dx[n * C + c] += dy[c];
        for (int64_t c = 0; dp && c < C; c++) dp[n % T * C + c] += dy[C + c];
    }
}

static const Operation concat_operation = {
    .name = "append positions",
    .kind = KIND_OTHER,
    .adds_gradient = 1u << 0 | 1u << 1,
    .units = rows_units,
    .forward = concat_forward,
    .backward = concat_backward,
};

static Tensor *absolute_embed(const Position *position, Tape *tape, Tensor *x,
                              int64_t first_position) {
    const AbsoluteState *state = position->state;
    int64_t T = x->shape[1], C = x->shape[2];
    RowsOptions options = {state, first_position};
    Tensor *p =
        state->trained
            ? tape_apply(tape, &(OperationCall){.operation = &rows_operation,
                                                .name = "positions",
                                                .inputs = {state->trained},
                                                .rank = 2,
                                                .shape = {T, C},
                                                .options = &options,
                                                .options_size = sizeof options})
            : tape_constant(tape, "positions",
                            tape->mode == TAPE_PLAN ? NULL : state->fixed + first_position * C, 2,
                            (int64_t[]){T, C});
    OperationCall call = {.operation = &inject_operation,
                          .name = "embedding with positions",
                          .inputs = {x, p, state->gate},
                          .rank = 3,
                          .shape = {x->shape[0], T, C}};
    if (!state->projection) return tape_apply(tape, &call);
    call.operation = &concat_operation;
    call.shape[2] = 2 * C;
    call.transient = true;
    return linear(tape, tape_apply(tape, &call), state->projection, NULL);
}

static void absolute_destroy(Position *position) {
    AbsoluteState *state = position->state;
    free(state->fixed);
    free(state);
}

const PositionScheme position_absolute = {
    .check = absolute_check,
    .declare = absolute_declare,
    .initialize = absolute_initialize,
    .prepare = absolute_prepare,
    .embed = absolute_embed,
    .destroy = absolute_destroy,
};
