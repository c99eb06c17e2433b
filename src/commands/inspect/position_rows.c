/* Pictures of schemes that have a row of numbers per position. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/inspect/pictures.h"
#include "commands/inspect/positions.h"
#include "model/position_tables.h"

/* (length, width) */
typedef struct Rows {
    double *values;
    int64_t length, width;
} Rows;

/* The frequencies that the scheme has now: rope's after scaling, trained ones as trained. */
static int64_t frequencies_now(const Model *model, int64_t length, double *frequencies) {
    const ModelConfig *c = &model->config;
    double magnitude;
    if (c->position.type == POSITION_ROPE) {
        position_rope_frequencies(&c->position, c->d_model / c->num_heads, c->context_length,
                                  length, frequencies, &magnitude);
        return position_rope_rotated(&c->position, c->d_model / c->num_heads);
    }
    const Parameter *trained = parameters_find(&model->parameters, "position_frequencies.weight");
    if (trained)
        for (int64_t i = 0; i < parameter_size(trained); i++)
            frequencies[i] = (double)model->parameters.values[trained->offset + i];
    else
        position_sinusoidal_frequencies(c->d_model, c->position.base, c->position.layout,
                                        frequencies);
    return c->d_model;
}

void inspect_position_table(const Model *model, int64_t length, double *rows) {
    int64_t C = model->config.d_model;
    real *zeros = allocate_zeroed((size_t)(length * C), sizeof *zeros);
    Tape tape;
    tape_init(&tape, model->parameters.count);
    Tensor *x = tape_constant(&tape, "zeros", zeros, 3, (int64_t[]){1, length, C});
    const real *p = position_embed(model->position, &tape, x, 0)->data;
    for (int64_t n = 0; n < length * C; n++) rows[n] = (double)p[n];
    tape_free(&tape);
    free(zeros);
}

static Rows rows_of_embedding(const Model *model, int64_t length) {
    int64_t C = model->config.d_model;
    Rows rows = {allocate((size_t)(length * C), sizeof(double)), length, C};
    inspect_position_table(model, length, rows.values);
    return rows;
}

/* The sines and cosines by which rope turns, as a sinusoidal table of a head's width. */
static Rows rows_of_rope(const Model *model, int64_t length) {
    double *frequencies = allocate((size_t)model->config.d_model, sizeof *frequencies);
    int64_t width = frequencies_now(model, length, frequencies);
    Rows rows = {allocate((size_t)(length * width), sizeof(double)), length, width};
    for (int64_t m = 0; m < length; m++)
        position_sinusoidal_row((double)m, width, model->config.position.layout, frequencies,
                                rows.values + m * width);
    free(frequencies);
    return rows;
}

static double inner(const Rows *rows, int64_t m, int64_t n) {
    const double *a = rows->values + m * rows->width, *b = rows->values + n * rows->width;
    double sum = 0;
    for (int64_t c = 0; c < rows->width; c++) sum += a[c] * b[c];
    return sum;
}

/* ---- the pictures ---- */

static bool draw_table(const InspectSubject *subject, const Rows *rows, Error *error) {
    bool rope = subject->file.model->config.position.type == POSITION_ROPE;
    HeatMap map = {.bar_title = rope ? "sine or cosine" : "value",
                   .x = {.title = rope ? "element of a head" : "channel"},
                   .y = {.title = "position"},
                   .colors = HEAT_DIVERGING,
                   .rows = rows->length,
                   .columns = rows->width,
                   .values = rows->values};
    return inspect_draw_map(subject, "table",
                            rope ? "sines and cosines that turn q and k" : "added to the embedding",
                            map, true, error);
}

static bool draw_similarity(const InspectSubject *subject, const Rows *rows, Error *error) {
    int64_t N = rows->length;
    double *cosines = allocate((size_t)(N * N), sizeof *cosines);
    for (int64_t m = 0; m < N; m++)
        for (int64_t n = 0; n <= m; n++)
            cosines[m * N + n] = cosines[n * N + m] =
                inner(rows, m, n) / sqrt(inner(rows, m, m) * inner(rows, n, n));
    HeatMap map = {.bar_title = "cosine similarity",
                   .x = {.title = "position n"},
                   .y = {.title = "position m"},
                   .colors = HEAT_DIVERGING,
                   .rows = N,
                   .columns = N,
                   .values = cosines};
    bool drawn =
        inspect_draw_map(subject, "similarity", "similarity of positions", map, true, error);
    free(cosines);
    return drawn;
}

/* p_mᵀ H p_n with a diagonal H that keeps the sines and drops the cosines, and its two parts:
 * sin mθ · sin nθ = ½cos((m − n)θ) − ½cos((m + n)θ), averaged over the pairs. */
static bool draw_parts(const InspectSubject *subject, Error *error) {
    enum { MOST = 128 };
    const Model *model = subject->file.model;
    int64_t N = subject->length < MOST ? subject->length : MOST;
    double *frequencies = allocate((size_t)model->config.d_model, sizeof *frequencies);
    int64_t pairs = frequencies_now(model, subject->length, frequencies) / 2;
    double *values = allocate_zeroed((size_t)(3 * N * N), sizeof *values);
    for (int64_t m = 0; m < N; m++)
        for (int64_t n = 0; n < N; n++) {
            double *whole = values + m * N + n, *difference = whole + N * N,
                   *sum = difference + N * N;
            for (int64_t i = 0; i < pairs; i++) {
                *difference += 0.5 * cos((double)(m - n) * frequencies[i]) / (double)pairs;
                *sum -= 0.5 * cos((double)(m + n) * frequencies[i]) / (double)pairs;
            }
            *whole = *difference + *sum;
        }
    HeatMap map = {.bar_title = "mean over pairs",
                   .x = {.title = "position n"},
                   .y = {.title = "position m"},
                   .colors = HEAT_DIVERGING,
                   .rows = N,
                   .columns = N,
                   .values = values,
                   .panel_count = 3,
                   .panels_per_row = 3,
                   .panel_titles = (const char *const[]){"pHp, H = 1 on sines", "part in m - n",
                                                         "part in m + n"}};
    bool drawn = inspect_draw_map(subject, "parts", "p_m H p_n and its parts", map, true, error);
    free(values);
    free(frequencies);
    return drawn;
}

/* Mean cosine of the angle between rows that are k apart; NAN when all of them are zero. */
static double mean_similarity(const Rows *rows, int64_t k) {
    double sum = 0;
    int64_t count = 0;
    for (int64_t m = 0; m + k < rows->length; m++) {
        double size = sqrt(inner(rows, m, m) * inner(rows, m + k, m + k));
        if (size == 0) continue;
        sum += inner(rows, m, m + k) / size;
        count++;
    }
    return count ? sum / (double)count : NAN;
}

/* The mean similarity at each distance; for sines and cosines also what the formulas say, for several
 * bases: the finite sum over pairs, and the integral it tends to. */
static bool draw_decay(const InspectSubject *subject, const Rows *rows, bool waves, Error *error) {
    enum { BASES = 4 };
    static const double bases[BASES] = {100, 1000, 10000, 1e6};
    const PositionConfig *c = &subject->file.model->config.position;
    bool rope = c->type == POSITION_ROPE;
    int64_t N = rows->length, pairs = rows->width / 2, width = 2 * pairs;
    double *frequencies = allocate((size_t)rows->width + 1, sizeof *frequencies);
    Curves curves = {.rows = N};
    double *distance = curves_add(&curves, "distance"),
           *mean = curves_add(&curves, "mean similarity");
    for (int64_t k = 0; k < N; k++) {
        distance[k] = (double)k;
        mean[k] = mean_similarity(rows, k);
    }
    if (waves) {
        double *integral = curves_add(&curves, "integral");
        for (int64_t k = 0; k < N; k++)
            integral[k] = position_sinusoidal_integral((double)k, width, c->base) / (double)pairs;
    }
    if (rope) { /* RoFormer 3.4.3, as a part of its value at distance 0 */
        double *bound = curves_add(&curves, "bound of the score");
        frequencies_now(subject->file.model, N, frequencies);
        for (int64_t k = 0; k < N; k++)
            bound[k] =
                2 * position_rope_decay_bound((double)k, pairs, frequencies) / ((double)pairs + 1);
    }
    int64_t own = curves.count;
    for (int n = 0; waves && n < 2 * BASES; n++) {
        char *name = string_format("%s, base %g", n < BASES ? "sum" : "integral", bases[n % BASES]);
        double *curve = curves_add(&curves, name);
        for (int64_t k = 0; k < N; k++)
            curve[k] = (n < BASES ? position_sinusoidal_product : position_sinusoidal_integral)(
                           (double)k, width, bases[n % BASES]) /
                       (double)pairs;
        free(name);
    }
    Chart charts[3] = {{.series_count = (int)own - 1, .series = curves.series + 1},
                       {.title = "The sum over pairs of cos(kθ), by base",
                        .series_count = BASES,
                        .series = curves.series + own},
                       {.title = "The integral it tends to with many pairs",
                        .series_count = BASES,
                        .series = curves.series + own + BASES}};
    for (int i = 0; i < 3; i++) {
        charts[i].x.title = "distance";
        charts[i].y.title = "similarity (1 at distance 0)";
    }
    bool drawn = inspect_draw_charts(subject, "decay", "similarity by distance", charts,
                                     waves ? 3 : 1, &curves, error);
    curves_free(&curves);
    free(frequencies);
    return drawn;
}

bool inspect_position_rows(const InspectSubject *subject, Error *error) {
    const Model *model = subject->file.model;
    PositionType type = model->config.position.type;
    Rows rows = type == POSITION_ROPE ? rows_of_rope(model, subject->length)
                                      : rows_of_embedding(model, subject->length);
    bool waves = type != POSITION_LEARNED && type != POSITION_INDEX;
    bool drawn = draw_table(subject, &rows, error) && draw_similarity(subject, &rows, error) &&
                 draw_decay(subject, &rows, waves, error) && (!waves || draw_parts(subject, error));
    free(rows.values);
    return drawn;
}

/* ---- wavelengths ---- */

/* One column per scaling, all with the factor and the context of the config (4 without one). */
static void rope_wavelengths(const Model *model, Curves *curves) {
    const ModelConfig *c = &model->config;
    int64_t d_head = c->d_model / c->num_heads;
    bool scaled = c->position.scaling.type != ROPE_SCALING_NONE;
    double factor = scaled ? c->position.scaling.factor : 4, magnitude;
    int64_t original = scaled ? c->position.scaling.original_context : c->context_length;
    for (int type = ROPE_SCALING_NONE; type <= ROPE_SCALING_LLAMA3; type++) {
        PositionConfig position = c->position;
        position.scaling = (RopeScaling){(RopeScalingType)type, factor, original, 32, 1, 1, 4, 0};
        if (scaled && type == (int)c->position.scaling.type) position.scaling = c->position.scaling;
        double *column = curves_add(curves, rope_scaling_name((RopeScalingType)type));
        if (!position_rope_check(&position, d_head, NULL)) { /* two elements have no NTK */
            for (int64_t i = 0; i < curves->rows; i++) column[i] = NAN;
            continue;
        }
        position_rope_frequencies(&position, d_head, original, (int64_t)(factor * (double)original),
                                  column, &magnitude);
    }
}

static void table_wavelengths(const Model *model, bool trained, Curves *curves) {
    const ModelConfig *c = &model->config;
    position_sinusoidal_frequencies(c->d_model, c->position.base, c->position.layout,
                                    curves_add(curves, "formula"));
    if (trained && c->position.type == POSITION_SINUSOIDAL_LEARNED)
        frequencies_now(model, 1, curves_add(curves, "trained"));
}

bool inspect_position_wavelengths(const InspectSubject *subject, Error *error) {
    const ModelConfig *c = &subject->file.model->config;
    bool rope = c->position.type == POSITION_ROPE;
    Curves curves = {.rows =
                         rope ? position_rope_rotated(&c->position, c->d_model / c->num_heads) / 2
                              : position_sinusoidal_count(c->d_model, c->position.layout)};
    double *pair = curves_add(&curves, "pair");
    if (rope)
        rope_wavelengths(subject->file.model, &curves);
    else
        table_wavelengths(subject->file.model, subject->trained, &curves);
    for (int64_t i = 0; i < curves.rows; i++) {
        pair[i] = (double)i;
        /* a trained frequency may be negative: it turns the other way round */
        for (int64_t n = 1; n < curves.count; n++)
            curves.values[n][i] = 2 * acos(-1) / fabs(curves.values[n][i]);
    }
    for (int64_t n = 1; n < curves.count; n++) curves.series[n].points = true;
    char *label = string_format("context of %lld", (long long)c->context_length);
    const ChartMarker marker = {(double)c->context_length, false, label};
    Chart chart = {.x = {.title = "pair of elements"},
                   .y = {.title = "positions for a full turn", .logarithmic = true},
                   .series = curves.series + 1,
                   .series_count = (int)curves.count - 1,
                   .markers = &marker,
                   .marker_count = 1};
    bool drawn = inspect_draw_charts(subject, "wavelengths",
                                     rope ? "wavelengths, and what each scaling does to them"
                                          : "wavelengths of the pairs",
                                     &chart, 1, &curves, error);
    curves_free(&curves);
    free(label);
    return drawn;
}
