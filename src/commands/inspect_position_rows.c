/* Pictures of schemes that have a row of numbers per position. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/inspect_positions.h"
#include "model/position_tables.h"
#include "pictures/csv.h"
#include "pictures/heat_map.h"
#include "pictures/svg_chart.h"

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

/* What a scheme adds to an embedding of zeros. */
static Rows rows_of_embedding(const Model *model, int64_t length) {
    int64_t C = model->config.d_model;
    Rows rows = {allocate((size_t)(length * C), sizeof(double)), length, C};
    real *zeros = allocate_zeroed((size_t)(length * C), sizeof *zeros);
    Tape tape;
    tape_init(&tape, model->parameters.count);
    Tensor *x = tape_constant(&tape, "zeros", zeros, 3, (int64_t[]){1, length, C});
    const real *p = position_embed(model->position, &tape, x, 0)->data;
    for (int64_t n = 0; n < length * C; n++) rows.values[n] = (double)p[n];
    tape_free(&tape);
    free(zeros);
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

static bool draw_map(const PositionPictures *pictures, const char *name, const char *what,
                     HeatMap map, const double *values, Error *error) {
    char *title = string_format("%s: %s", pictures->title, what);
    char *svg = string_format("%s.svg", name), *csv = string_format("%s.csv", name);
    map.title = title;
    if (!map.panels) {
        map.panels = &values;
        map.panel_count = 1;
    }
    const char *image = inspect_path(pictures->folder, svg);
    bool written = heat_map_write(image, &map, error) &&
                   csv_write_matrix(inspect_path(pictures->folder, csv), map.panels[0], map.rows,
                                    map.columns, NULL, NULL, error);
    if (written) inspect_wrote(image, what);
    free(title);
    free(svg);
    free(csv);
    return written;
}

static bool draw_table(const PositionPictures *pictures, const Rows *rows, Error *error) {
    bool rope = pictures->model->config.position.type == POSITION_ROPE;
    HeatMap map = {.bar_title = rope ? "sine or cosine" : "value",
                   .x = {.title = rope ? "element of a head" : "channel"},
                   .y = {.title = "position"},
                   .colors = HEAT_DIVERGING,
                   .rows = rows->length,
                   .columns = rows->width};
    return draw_map(pictures, "table",
                    rope ? "sines and cosines that turn q and k" : "added to the embedding", map,
                    rows->values, error);
}

static bool draw_similarity(const PositionPictures *pictures, const Rows *rows, Error *error) {
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
                   .limited = true,
                   .low = -1,
                   .high = 1,
                   .rows = N,
                   .columns = N};
    bool drawn = draw_map(pictures, "similarity", "similarity of positions", map, cosines, error);
    free(cosines);
    return drawn;
}

/* p_mᵀ H p_n with a diagonal H that keeps the sines and drops the cosines, and its two parts:
 * sin mθ · sin nθ = ½cos((m − n)θ) − ½cos((m + n)θ), averaged over the pairs. */
static bool draw_parts(const PositionPictures *pictures, Error *error) {
    enum { MOST = 128 };
    int64_t N = pictures->length < MOST ? pictures->length : MOST;
    double *frequencies = allocate((size_t)pictures->model->config.d_model, sizeof *frequencies);
    int64_t pairs = frequencies_now(pictures->model, pictures->length, frequencies) / 2;
    double *values = allocate_zeroed((size_t)(3 * N * N), sizeof *values);
    const double *panels[3] = {values, values + N * N, values + 2 * N * N};
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
                   .panels = panels,
                   .panel_count = 3,
                   .panels_per_row = 3,
                   .panel_titles = (const char *const[]){"pHp, H = 1 on sines", "part in m - n",
                                                         "part in m + n"}};
    bool drawn = draw_map(pictures, "parts", "p_m H p_n and its parts", map, NULL, error);
    free(values);
    free(frequencies);
    return drawn;
}

enum { BASES = 4 };
static const double bases[BASES] = {100, 1000, 10000, 1e6};

typedef enum DecayColumn {
    DISTANCE,
    MEAN,
    INTEGRAL, /* of the scheme's own base */
    BOUND,    /* rope: RoFormer 3.4.3, as a share of its value at distance 0 */
    SUMS,
    INTEGRALS = SUMS + BASES,
    DECAY_COLUMNS = INTEGRALS + BASES
} DecayColumn;
static const char *const decay_names[DECAY_COLUMNS] = {"distance",
                                                       "mean similarity",
                                                       "integral",
                                                       "bound of the score",
                                                       "sum, base 100",
                                                       "sum, base 1000",
                                                       "sum, base 10000",
                                                       "sum, base 1e6",
                                                       "integral, base 100",
                                                       "integral, base 1000",
                                                       "integral, base 10000",
                                                       "integral, base 1e6"};

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

static void fill_decay(const Model *model, const Rows *rows, bool waves, double **columns) {
    const PositionConfig *c = &model->config.position;
    int64_t width = rows->width / 2 * 2, pairs = width / 2;
    double *frequencies = allocate((size_t)rows->width + 1, sizeof *frequencies);
    if (waves) frequencies_now(model, rows->length, frequencies);
    for (int64_t k = 0; k < rows->length; k++) {
        double half = (double)pairs, distance = (double)k;
        columns[DISTANCE][k] = distance;
        columns[MEAN][k] = mean_similarity(rows, k);
        if (!waves) continue;
        columns[INTEGRAL][k] = position_sinusoidal_integral(distance, width, c->base) / half;
        columns[BOUND][k] =
            2 * position_rope_decay_bound(distance, pairs, frequencies) / (half + 1);
        for (int b = 0; b < BASES; b++) {
            columns[SUMS + b][k] = position_sinusoidal_product(distance, width, bases[b]) / half;
            columns[INTEGRALS + b][k] =
                position_sinusoidal_integral(distance, width, bases[b]) / half;
        }
    }
    free(frequencies);
}

/* The mean similarity at each distance; for sines and cosines also what the formulas say, for
 * several bases: the finite sum, and the integral it tends to. */
static bool draw_decay(const PositionPictures *pictures, const Rows *rows, bool waves,
                       Error *error) {
    int64_t N = rows->length;
    bool rope = pictures->model->config.position.type == POSITION_ROPE;
    double *columns[DECAY_COLUMNS];
    ChartSeries series[DECAY_COLUMNS];
    for (int i = 0; i < DECAY_COLUMNS; i++) {
        columns[i] = allocate((size_t)N, sizeof(double));
        series[i] = (ChartSeries){decay_names[i], columns[DISTANCE], columns[i], N, false};
    }
    fill_decay(pictures->model, rows, waves, columns);
    ChartAxis x = {.title = "distance"}, y = {.title = "similarity (1 at distance 0)"};
    char *title = string_format("%s: similarity by distance", pictures->title);
    int own = !waves ? 1 : rope ? 3 : 2;
    const Chart charts[3] = {
        {.title = title, .x = x, .y = y, .series = series + MEAN, .series_count = own},
        {.title = "The sum over pairs of cos(kθ), by base",
         .x = x,
         .y = y,
         .series = series + SUMS,
         .series_count = BASES},
        {.title = "The integral it tends to with many pairs",
         .x = x,
         .y = y,
         .series = series + INTEGRALS,
         .series_count = BASES}};
    const char *path = inspect_path(pictures->folder, "decay.svg");
    bool written =
        svg_chart_write(path, charts, waves ? 3 : 1, error) &&
        csv_write_columns(inspect_path(pictures->folder, "decay.csv"), decay_names,
                          (const double *const *)columns, waves ? DECAY_COLUMNS : 2, N, error);
    if (written) inspect_wrote(path, "similarity against the distance");
    for (int i = 0; i < DECAY_COLUMNS; i++) free(columns[i]);
    free(title);
    return written;
}

bool inspect_position_rows(const PositionPictures *pictures, Error *error) {
    PositionType type = pictures->model->config.position.type;
    Rows rows = type == POSITION_ROPE ? rows_of_rope(pictures->model, pictures->length)
                                      : rows_of_embedding(pictures->model, pictures->length);
    bool waves = type != POSITION_LEARNED && type != POSITION_INDEX;
    bool drawn = draw_table(pictures, &rows, error) && draw_similarity(pictures, &rows, error) &&
                 draw_decay(pictures, &rows, waves, error) &&
                 (!waves || draw_parts(pictures, error));
    free(rows.values);
    return drawn;
}

/* ---- wavelengths ---- */

typedef struct WavelengthColumns {
    const char *names[8];
    double *values[8]; /* [0]: the number of the pair */
    int count;
    int64_t pairs;
} WavelengthColumns;

static double *wavelength_column(WavelengthColumns *columns, const char *name) {
    double *values = allocate((size_t)columns->pairs, sizeof *values);
    columns->names[columns->count] = name;
    return columns->values[columns->count++] = values;
}

/* One column per scaling, all with the factor and the context of the config (4 without one). */
static void rope_wavelengths(const Model *model, WavelengthColumns *columns) {
    const ModelConfig *c = &model->config;
    int64_t d_head = c->d_model / c->num_heads;
    bool scaled = c->position.scaling.type != ROPE_SCALING_NONE;
    double factor = scaled ? c->position.scaling.factor : 4, magnitude;
    int64_t original = scaled ? c->position.scaling.original_context : c->context_length;
    for (int type = ROPE_SCALING_NONE; type <= ROPE_SCALING_LLAMA3; type++) {
        PositionConfig position = c->position;
        position.scaling = (RopeScaling){(RopeScalingType)type, factor, original, 32, 1, 1, 4, 0};
        if (scaled && type == (int)c->position.scaling.type) position.scaling = c->position.scaling;
        double *column = wavelength_column(columns, rope_scaling_name((RopeScalingType)type));
        if (!position_rope_check(&position, d_head, NULL)) { /* two elements have no NTK */
            for (int64_t i = 0; i < columns->pairs; i++) column[i] = NAN;
            continue;
        }
        position_rope_frequencies(&position, d_head, original, (int64_t)(factor * (double)original),
                                  column, &magnitude);
    }
}

static void table_wavelengths(const Model *model, bool trained, WavelengthColumns *columns) {
    const ModelConfig *c = &model->config;
    position_sinusoidal_frequencies(c->d_model, c->position.base, c->position.layout,
                                    wavelength_column(columns, "formula"));
    if (trained && c->position.type == POSITION_SINUSOIDAL_LEARNED)
        frequencies_now(model, 1, wavelength_column(columns, "trained"));
}

bool inspect_position_wavelengths(const PositionPictures *pictures, Error *error) {
    const ModelConfig *c = &pictures->model->config;
    bool rope = c->position.type == POSITION_ROPE;
    WavelengthColumns columns = {
        .pairs = rope ? position_rope_rotated(&c->position, c->d_model / c->num_heads) / 2
                      : position_sinusoidal_count(c->d_model, c->position.layout)};
    double *pair = wavelength_column(&columns, "pair");
    if (rope)
        rope_wavelengths(pictures->model, &columns);
    else
        table_wavelengths(pictures->model, pictures->trained, &columns);
    ChartSeries series[8];
    for (int64_t i = 0; i < columns.pairs; i++) pair[i] = (double)i;
    for (int n = 1; n < columns.count; n++) {
        /* a trained frequency may be negative: it turns the other way round */
        for (int64_t i = 0; i < columns.pairs; i++)
            columns.values[n][i] = 2 * acos(-1) / fabs(columns.values[n][i]);
        series[n - 1] =
            (ChartSeries){columns.names[n], pair, columns.values[n], columns.pairs, true};
    }
    char *title = string_format("%s: wavelengths", pictures->title);
    char *label = string_format("context of %lld", (long long)c->context_length);
    const ChartMarker marker = {(double)c->context_length, false, label};
    const Chart chart = {.title = title,
                         .x = {.title = "pair of elements"},
                         .y = {.title = "positions for a full turn", .logarithmic = true},
                         .series = series,
                         .series_count = columns.count - 1,
                         .markers = &marker,
                         .marker_count = 1};
    const char *path = inspect_path(pictures->folder, "wavelengths.svg");
    bool written = svg_chart_write(path, &chart, 1, error) &&
                   csv_write_columns(inspect_path(pictures->folder, "wavelengths.csv"),
                                     columns.names, (const double *const *)columns.values,
                                     columns.count, columns.pairs, error);
    if (written)
        inspect_wrote(path, rope ? "wavelengths, and what each scaling does to them"
                                 : "wavelengths of the pairs");
    for (int n = 0; n < columns.count; n++) free(columns.values[n]);
    free(title);
    free(label);
    return written;
}
