/* Pictures of schemes with a vector per position. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/inspect/pictures.h"
#include "commands/inspect/positions.h"
#include "model/position_tables.h"

/* (length, width) */
typedef struct Rows {
    double *values;
    int64_t length, width;
} Rows;

/* The frequencies in use, after scaling or training; returns how many elements they rotate. */
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
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    Tensor *x = tape_constant(&tape, "zeros", zeros, 3, (int64_t[]){1, length, C});
    const real *p = position_embed(model->position, &tape, x, 0)->data;
    for (int64_t n = 0; n < length * C; n++) rows[n] = (double)p[n];
    tape_free(&tape);
    free(zeros);
}

/* The sines and cosines of RoPE as a sinusoidal table of a head's width. */
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

/* ---- the pictures ---- */

static bool draw_table(const InspectSubject *subject, const Rows *rows, bool rope, Error *error) {
    HeatMap map = {.bar_title = rope ? "sine or cosine" : "value",
                   .x = {.title = rope ? "element of a head" : "channel"},
                   .y = {.title = "position"},
                   .colors = HEAT_DIVERGING,
                   .rows = rows->length,
                   .columns = rows->width};
    memcpy(map_add(&map, NULL), rows->values,
           (size_t)(rows->length * rows->width) * sizeof *rows->values);
    return inspect_draw_map(subject, "table",
                            rope ? "sines and cosines that turn q and k" : "added to the embedding",
                            &map, true, error);
}

static HeatMap pair_map(const char *bar_title, int64_t N) {
    return (HeatMap){.bar_title = bar_title,
                     .x = {.title = "position n"},
                     .y = {.title = "position m"},
                     .colors = HEAT_DIVERGING,
                     .rows = N,
                     .columns = N};
}

static double inner(const Rows *rows, int64_t m, int64_t n) {
    const double *a = rows->values + m * rows->width, *b = rows->values + n * rows->width;
    double sum = 0;
    for (int64_t c = 0; c < rows->width; c++) sum += a[c] * b[c];
    return sum;
}

/* The cosine of the angle between each two rows, NaN if one is zero; and to `mean` (length) the means
 * over the pairs that are k apart. */
static bool draw_similarity(const InspectSubject *subject, const Rows *rows, double *mean,
                            Error *error) {
    int64_t N = rows->length;
    HeatMap map = pair_map("cosine similarity", N);
    double *cosines = map_add(&map, NULL);
    for (int64_t k = 0; k < N; k++) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t m = 0; m + k < N; m++) {
            double cosine =
                inner(rows, m, m + k) / sqrt(inner(rows, m, m) * inner(rows, m + k, m + k));
            cosines[m * N + m + k] = cosines[(m + k) * N + m] = cosine;
            if (isnan(cosine)) continue;
            sum += cosine;
            count++;
        }
        mean[k] = sum / (double)count; /* NaN if there are none */
    }
    return inspect_draw_map(subject, "similarity", "similarity of positions", &map, true, error);
}

/* p_mᵀ H p_n with a diagonal H that keeps the sines and drops the cosines, and its two parts:
 * sin mθ · sin nθ = ½cos((m − n)θ) − ½cos((m + n)θ), averaged over the pairs. */
static bool draw_parts(const InspectSubject *subject, Error *error) {
    enum { MOST = 128 };
    const Model *model = subject->file.model;
    int64_t N = subject->length < MOST ? subject->length : MOST;
    double *frequencies = allocate((size_t)model->config.d_model, sizeof *frequencies);
    int64_t pairs = frequencies_now(model, subject->length, frequencies) / 2;
    HeatMap map = pair_map("mean over pairs", N);
    map.panels_per_row = 3;
    map_add(&map, string_copy("pHp, H = 1 on sines"));
    map_add(&map, string_copy("part in m - n"));
    map_add(&map, string_copy("part in m + n"));
    for (int64_t m = 0; m < N; m++)
        for (int64_t n = 0; n < N; n++) {
            double difference = 0, sum = 0, *whole = map.values + m * N + n;
            for (int64_t i = 0; i < pairs; i++) {
                difference += 0.5 * cos((double)(m - n) * frequencies[i]) / (double)pairs;
                sum -= 0.5 * cos((double)(m + n) * frequencies[i]) / (double)pairs;
            }
            whole[0] = difference + sum;
            whole[N * N] = difference;
            whole[2 * N * N] = sum;
        }
    free(frequencies);
    return inspect_draw_map(subject, "parts", "p_m H p_n and its parts", &map, true, error);
}

/* What the formulas say about sines and cosines of a width, for one base: the finite sum over pairs of
 * cos kθ, or the integral that it tends to. */
static void add_formula(Table *table, char *name, bool integral, int64_t width, double base) {
    double *curve = table_add(table, name);
    for (int64_t k = 0; k < table->rows; k++)
        curve[k] = (integral ? position_sinusoidal_integral
                             : position_sinusoidal_product)((double)k, width, base) /
                   ((double)width / 2);
}

/* The mean similarity (length) at each distance; for sines and cosines also the formulas, for the
 * model's base and for others. */
static bool draw_decay(const InspectSubject *subject, const double *mean, int64_t width, bool waves,
                       Error *error) {
    enum { BASES = 4 };
    static const double bases[BASES] = {100, 1000, 10000, 1e6};
    const PositionConfig *c = &subject->file.model->config.position;
    int64_t pairs = width / 2;
    Table curves = {.rows = subject->length};
    double *distance = table_add(&curves, string_copy("distance"));
    for (int64_t k = 0; k < curves.rows; k++) distance[k] = (double)k;
    memcpy(table_add(&curves, string_copy("mean similarity")), mean,
           (size_t)curves.rows * sizeof *mean);
    if (waves) add_formula(&curves, string_copy("integral"), true, 2 * pairs, c->base);
    if (c->type == POSITION_ROPE) { /* RoFormer 3.4.3, relative to its value at distance 0 */
        double *bound = table_add(&curves, string_copy("bound of the score"));
        double *frequencies = allocate((size_t)width + 1, sizeof *frequencies);
        frequencies_now(subject->file.model, curves.rows, frequencies);
        for (int64_t k = 0; k < curves.rows; k++)
            bound[k] =
                2 * position_rope_decay_bound((double)k, pairs, frequencies) / ((double)pairs + 1);
        free(frequencies);
    }
    int64_t own = curves.columns;
    for (int n = 0; waves && n < 2 * BASES; n++)
        add_formula(&curves,
                    string_format("%s, base %g", n < BASES ? "sum" : "integral", bases[n % BASES]),
                    n >= BASES, 2 * pairs, bases[n % BASES]);
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
    return inspect_draw_charts(subject, "decay", "similarity by distance", charts, waves ? 3 : 1,
                               &curves, error);
}

bool inspect_position_rows(const InspectSubject *subject, Error *error) {
    const Model *model = subject->file.model;
    PositionType type = model->config.position.type;
    int64_t N = subject->length, C = model->config.d_model;
    bool rope = type == POSITION_ROPE, waves = type != POSITION_LEARNED && type != POSITION_INDEX;
    Rows rows =
        rope ? rows_of_rope(model, N) : (Rows){allocate((size_t)(N * C), sizeof(double)), N, C};
    if (!rope) inspect_position_table(model, N, rows.values);
    double *mean = allocate((size_t)N, sizeof *mean);
    bool drawn = draw_table(subject, &rows, rope, error) &&
                 draw_similarity(subject, &rows, mean, error) &&
                 draw_decay(subject, mean, rows.width, waves, error) &&
                 (!waves || draw_parts(subject, error));
    free(mean);
    free(rows.values);
    return drawn;
}

/* ---- wavelengths ---- */

/* One column per scaling, all with the config's factor and original context (without one: 4 and the context
 * length). */
static void rope_wavelengths(const Model *model, Table *curves) {
    const ModelConfig *c = &model->config;
    int64_t d_head = c->d_model / c->num_heads;
    bool scaled = c->position.scaling.type != ROPE_SCALING_NONE;
    double factor = scaled ? c->position.scaling.factor : 4, magnitude;
    int64_t original = scaled ? c->position.scaling.original_context : c->context_length;
    for (int type = ROPE_SCALING_NONE; type <= ROPE_SCALING_LLAMA3; type++) {
        PositionConfig position = c->position;
        position.scaling = (RopeScaling){(RopeScalingType)type, factor, original, 32, 1, 1, 4, 0};
        if (scaled && type == (int)c->position.scaling.type) position.scaling = c->position.scaling;
        double *column = table_add(curves, string_copy(rope_scaling_name((RopeScalingType)type)));
        if (!position_rope_check(&position, d_head, NULL)) { /* two elements have no NTK */
            for (int64_t i = 0; i < curves->rows; i++) column[i] = NAN;
            continue;
        }
        position_rope_frequencies(&position, d_head, original, (int64_t)(factor * (double)original),
                                  column, &magnitude);
    }
}

static void table_wavelengths(const Model *model, bool trained, Table *curves) {
    const ModelConfig *c = &model->config;
    position_sinusoidal_frequencies(c->d_model, c->position.base, c->position.layout,
                                    table_add(curves, string_copy("formula")));
    if (trained && c->position.type == POSITION_SINUSOIDAL_LEARNED)
        frequencies_now(model, 1, table_add(curves, string_copy("trained")));
}

bool inspect_position_wavelengths(const InspectSubject *subject, Error *error) {
    const ModelConfig *c = &subject->file.model->config;
    bool rope = c->position.type == POSITION_ROPE;
    Table curves = {.rows = rope
                                ? position_rope_rotated(&c->position, c->d_model / c->num_heads) / 2
                                : position_sinusoidal_count(c->d_model, c->position.layout)};
    double *pair = table_add(&curves, string_copy("pair"));
    if (rope)
        rope_wavelengths(subject->file.model, &curves);
    else
        table_wavelengths(subject->file.model, subject->trained, &curves);
    for (int64_t i = 0; i < curves.rows; i++) {
        pair[i] = (double)i;
        /* a trained frequency may be negative: it rotates in the other direction */
        for (int64_t n = 1; n < curves.columns; n++)
            curves.series[n].y[i] = 2 * acos(-1) / fabs(curves.series[n].y[i]);
    }
    for (int64_t n = 1; n < curves.columns; n++) curves.series[n].points = true;
    char *label = string_format("context of %lld", (long long)c->context_length);
    const ChartMarker marker = {(double)c->context_length, false, label};
    Chart chart = {.x.title = "pair of elements",
                   .y = {.title = "positions for a full turn", .logarithmic = true},
                   .series = curves.series + 1,
                   .series_count = (int)curves.columns - 1,
                   .markers = &marker,
                   .marker_count = 1};
    bool drawn = inspect_draw_charts(subject, "wavelengths",
                                     rope ? "wavelengths, and what each scaling does to them"
                                          : "wavelengths of the pairs",
                                     &chart, 1, &curves, error);
    free(label);
    return drawn;
}
