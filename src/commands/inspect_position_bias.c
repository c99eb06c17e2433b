/* Pictures of schemes inside attention: what they add to the scores, per layer and head. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/inspect_positions.h"
#include "pictures/csv.h"
#include "pictures/heat_map.h"
#include "pictures/svg_chart.h"

/* The scheme's own hook on scores of 0, with q = k = 0: what it adds whatever the words are. Above
 * the diagonal NaN, which is drawn in grey. bias (N, N). */
static void bias_of(const Model *model, int64_t layer, int64_t head, int64_t N, double *bias) {
    const ModelConfig *c = &model->config;
    int64_t D = c->d_model / c->num_heads;
    const AttentionHooks *hooks = position_hooks(model->position, layer);
    Tape tape;
    tape_init(&tape, model->parameters.count);
    Tensor *tables[3];
    position_layer_tables(model->position, &tape, layer, N, false, tables);
    real *zeros = allocate_zeroed((size_t)(N * D), sizeof *zeros);
    real *scores = allocate_zeroed((size_t)(N * N), sizeof *scores);
    int64_t scratch = hooks->scratch ? hooks->scratch(hooks->context, N, N, D) : 0;
    AttentionTile tile = {.head = head,
                          .rows = N,
                          .columns = N,
                          .d_head = D,
                          .causal = true,
                          .scale = (real)(1 / sqrt((double)D)),
                          .q = zeros,
                          .k = zeros,
                          .scores = scores,
                          .keys = N,
                          .stride = N,
                          .scratch = allocate((size_t)scratch + 1, sizeof(real))};
    for (int i = 0; i < 3 && tables[i]; i++) tile.tables[i] = tables[i]->data;
    hooks->score(hooks->context, &tile);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) bias[i * N + j] = j <= i ? (double)scores[i * N + j] : NAN;
    free(tile.scratch);
    free(scores);
    free(zeros);
    tape_free(&tape);
}

/* Which layers and heads are shown: all layers of a trained table, up to 36 pictures. */
typedef struct Grid {
    int64_t layers, heads;
} Grid;

static Grid grid_of(const ModelConfig *c) {
    enum { MOST = 36 };
    Grid grid = {c->position.type == POSITION_ALIBI ? 1 : c->num_layers,
                 c->num_heads < MOST ? c->num_heads : MOST};
    if (grid.layers * grid.heads > MOST) grid.layers = MOST / grid.heads;
    return grid;
}

static bool draw_matrices(const PositionPictures *pictures, Grid grid, const double *const *panels,
                          int64_t N, Error *error) {
    int64_t count = grid.layers * grid.heads;
    bool alibi = pictures->model->config.position.type == POSITION_ALIBI;
    char **titles = allocate((size_t)count, sizeof *titles);
    for (int64_t n = 0; n < count; n++)
        titles[n] = string_format("layer %lld, head %lld", (long long)(n / grid.heads),
                                  (long long)(n % grid.heads));
    char *title = string_format("%s: added to the scores", pictures->title);
    HeatMap map = {.title = title,
                   .bar_title = alibi ? "bias, down to -8" : "bias",
                   .scale_per_panel = true,
                   .x = {.title = "key position"},
                   .y = {.title = "query position"},
                   .colors = HEAT_DIVERGING,
                   .limited = alibi, /* e⁻⁸ of a weight is as good as nothing */
                   .low = -8,
                   .high = 0,
                   .rows = N,
                   .columns = N,
                   .panels = panels,
                   .panel_count = count,
                   .panels_per_row = grid.heads < 9 ? grid.heads : 0,
                   .panel_titles = (const char *const *)titles};
    const char *path = inspect_path(pictures->folder, "bias_maps.svg");
    bool written = heat_map_write(path, &map, error);
    if (written) inspect_wrote(path, "bias by query and key position, per head");
    for (int64_t n = 0; n < count; n++) free(titles[n]);
    free(titles);
    free(title);
    return written;
}

/* Against the distance: the last row of each matrix, read backwards. */
static bool draw_curves(const PositionPictures *pictures, Grid grid, const double *const *panels,
                        int64_t N, Error *error) {
    int64_t count = grid.layers * grid.heads;
    double **columns = allocate((size_t)count + 1, sizeof *columns);
    char **names = allocate((size_t)count + 1, sizeof *names);
    for (int64_t n = 0; n <= count; n++) {
        columns[n] = allocate((size_t)N, sizeof(double));
        for (int64_t k = 0; k < N; k++)
            columns[n][k] = n ? panels[n - 1][(N - 1) * N + N - 1 - k] : (double)k;
        names[n] = n ? string_format("layer %lld head %lld", (long long)((n - 1) / grid.heads),
                                     (long long)((n - 1) % grid.heads))
                     : string_copy("distance");
    }
    ChartSeries *series = allocate((size_t)count, sizeof *series);
    Chart *charts = allocate((size_t)grid.layers, sizeof *charts);
    char **titles = allocate((size_t)grid.layers, sizeof *titles);
    for (int64_t n = 0; n < count; n++)
        series[n] = (ChartSeries){
            .name = strchr(names[n + 1], 'h'), .x = columns[0], .y = columns[n + 1], .count = N};
    for (int64_t layer = 0; layer < grid.layers; layer++) {
        titles[layer] =
            string_format("%s: bias by distance, layer %lld", pictures->title, (long long)layer);
        charts[layer] = (Chart){.title = titles[layer],
                                .x = {.title = "distance"},
                                .y = {.title = "added to the score"},
                                .series = series + layer * grid.heads,
                                .series_count = (int)grid.heads,
                                .height = 320};
    }
    const char *path = inspect_path(pictures->folder, "bias.svg");
    bool written =
        svg_chart_write(path, charts, (int)grid.layers, error) &&
        csv_write_columns(inspect_path(pictures->folder, "bias.csv"), (const char *const *)names,
                          (const double *const *)columns, count + 1, N, error);
    if (written) inspect_wrote(path, "bias against the distance, per layer");
    for (int64_t n = 0; n <= count; n++) free(columns[n]), free(names[n]);
    for (int64_t layer = 0; layer < grid.layers; layer++) free(titles[layer]);
    free(columns);
    free(names);
    free(series);
    free(charts);
    free(titles);
    return written;
}

bool inspect_position_bias(const PositionPictures *pictures, Error *error) {
    const ModelConfig *c = &pictures->model->config;
    Grid grid = grid_of(c);
    int64_t N = pictures->length, count = grid.layers * grid.heads;
    double **panels = allocate((size_t)count, sizeof *panels);
    for (int64_t n = 0; n < count; n++) {
        panels[n] = allocate((size_t)(N * N), sizeof(double));
        bias_of(pictures->model, n / grid.heads, n % grid.heads, N, panels[n]);
    }
    if (!pictures->trained && c->position.type != POSITION_ALIBI)
        printf("note: this model is not trained, and its biases begin at 0\n");
    bool drawn = draw_matrices(pictures, grid, (const double *const *)panels, N, error) &&
                 draw_curves(pictures, grid, (const double *const *)panels, N, error);
    for (int64_t n = 0; n < count; n++) free(panels[n]);
    free(panels);
    return drawn;
}

/* ---- shaw ---- */

static bool draw_vectors(const PositionPictures *pictures, const char *which, const char *what,
                         Error *error) {
    const ModelConfig *c = &pictures->model->config;
    int64_t K = c->position.max_distance, layers = c->num_layers < 16 ? c->num_layers : 16;
    int64_t rows = K + 1, D = c->d_model / c->num_heads; /* a decoder never looks ahead */
    double *values = allocate((size_t)(layers * rows * D), sizeof *values);
    const double *panels[16];
    char *titles[16];
    for (int64_t layer = 0; layer < layers; layer++) {
        char *name = string_format("layers.%lld.attn.%s.weight", (long long)layer, which);
        const Parameter *part = parameters_find(&pictures->model->parameters, name);
        double *to = values + layer * rows * D;
        for (int64_t n = 0; n < rows * D; n++)
            to[n] = (double)pictures->model->parameters.values[part->offset + n];
        panels[layer] = to;
        titles[layer] = string_format("layer %lld", (long long)layer);
        free(name);
    }
    char *title = string_format("%s: %s", pictures->title, what);
    char *svg = string_format("%s.svg", which), *csv = string_format("%s.csv", which);
    HeatMap map = {.title = title,
                   .bar_title = "value",
                   .x = {.title = "element of a head"},
                   .y = {.title = "key position - query position", .first = (double)-K},
                   .colors = HEAT_DIVERGING,
                   .rows = rows,
                   .columns = D,
                   .panels = panels,
                   .panel_count = layers,
                   .panel_titles = (const char *const *)titles};
    const char *path = inspect_path(pictures->folder, svg);
    bool written = heat_map_write(path, &map, error) &&
                   csv_write_matrix(inspect_path(pictures->folder, csv), values, layers * rows, D,
                                    NULL, NULL, error);
    if (written) inspect_wrote(path, what);
    for (int64_t layer = 0; layer < layers; layer++) free(titles[layer]);
    free(title);
    free(svg);
    free(csv);
    free(values);
    return written;
}

bool inspect_position_vectors(const PositionPictures *pictures, Error *error) {
    return draw_vectors(pictures, "relative_keys", "vectors added to the keys", error) &&
           (!pictures->model->config.position.values ||
            draw_vectors(pictures, "relative_values", "vectors added to the values", error));
}
