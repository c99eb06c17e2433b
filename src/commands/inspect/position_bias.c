/* Pictures of schemes inside attention: what they add to the scores, per layer and head. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/inspect/pictures.h"
#include "commands/inspect/positions.h"

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

static char **panel_titles(Grid grid) {
    char **titles = allocate((size_t)(grid.layers * grid.heads), sizeof *titles);
    for (int64_t n = 0; n < grid.layers * grid.heads; n++)
        titles[n] = string_format("layer %lld, head %lld", (long long)(n / grid.heads),
                                  (long long)(n % grid.heads));
    return titles;
}

/* biases (layers, heads, N, N) */
static bool draw_matrices(const InspectSubject *subject, Grid grid, const double *biases,
                          char **titles, Error *error) {
    bool alibi = subject->file.model->config.position.type == POSITION_ALIBI;
    HeatMap map = {.bar_title = alibi ? "bias, down to -8" : "bias",
                   .x = {.title = "key position"},
                   .y = {.title = "query position"},
                   .colors = HEAT_DIVERGING,
                   .scale_per_panel = true,
                   .limited = alibi, /* e⁻⁸ of a weight is as good as nothing */
                   .low = -8,
                   .rows = subject->length,
                   .columns = subject->length,
                   .values = biases,
                   .panel_count = grid.layers * grid.heads,
                   .panels_per_row = grid.heads < 9 ? grid.heads : 0,
                   .panel_titles = (const char *const *)titles};
    return inspect_draw_map(subject, "bias_maps", "added to the scores, by query and key position",
                            map, false, error);
}

/* Against the distance: the last row of each matrix, read backwards. A chart per layer. */
static bool draw_curves(const InspectSubject *subject, Grid grid, const double *biases,
                        char **titles, Error *error) {
    int64_t N = subject->length;
    Curves curves = {.rows = N};
    double *distance = curves_add(&curves, "distance");
    for (int64_t k = 0; k < N; k++) distance[k] = (double)k;
    for (int64_t n = 0; n < grid.layers * grid.heads; n++) {
        double *curve = curves_add(&curves, titles[n]);
        for (int64_t k = 0; k < N; k++) curve[k] = biases[(n + 1) * N * N - 1 - k];
    }
    Chart *charts = allocate((size_t)grid.layers, sizeof *charts);
    for (int64_t layer = 0; layer < grid.layers; layer++)
        charts[layer] = (Chart){.x = {.title = "distance"},
                                .y = {.title = "added to the score"},
                                .series = curves.series + 1 + layer * grid.heads,
                                .series_count = (int)grid.heads,
                                .height = 320};
    bool drawn = inspect_draw_charts(subject, "bias", "added to the scores, by distance", charts,
                                     (int)grid.layers, &curves, error);
    curves_free(&curves);
    free(charts);
    return drawn;
}

bool inspect_position_bias(const InspectSubject *subject, Error *error) {
    const Model *model = subject->file.model;
    Grid grid = grid_of(&model->config);
    int64_t N = subject->length, count = grid.layers * grid.heads;
    double *biases = allocate((size_t)(count * N * N), sizeof *biases);
    char **titles = panel_titles(grid);
    for (int64_t n = 0; n < count; n++)
        bias_of(model, n / grid.heads, n % grid.heads, N, biases + n * N * N);
    if (!subject->trained && model->config.position.type != POSITION_ALIBI)
        printf("note: this model is not trained, and its biases begin at 0\n");
    bool drawn = draw_matrices(subject, grid, biases, titles, error) &&
                 draw_curves(subject, grid, biases, titles, error);
    for (int64_t n = 0; n < count; n++) free(titles[n]);
    free(titles);
    free(biases);
    return drawn;
}

/* ---- shaw ---- */

static bool draw_vectors(const InspectSubject *subject, const char *which, const char *what,
                         Error *error) {
    const Model *model = subject->file.model;
    const ModelConfig *c = &model->config;
    int64_t layers = c->num_layers < 16 ? c->num_layers : 16;
    int64_t K = c->position.max_distance, rows = K + 1; /* a decoder never looks ahead */
    int64_t D = c->d_model / c->num_heads;
    double *values = allocate((size_t)(layers * rows * D), sizeof *values);
    char *titles[16];
    for (int64_t layer = 0; layer < layers; layer++) {
        char *name = string_format("layers.%lld.attn.%s.weight", (long long)layer, which);
        const real *weight =
            model->parameters.values + parameters_find(&model->parameters, name)->offset;
        for (int64_t n = 0; n < rows * D; n++) values[layer * rows * D + n] = (double)weight[n];
        titles[layer] = string_format("layer %lld", (long long)layer);
        free(name);
    }
    HeatMap map = {.bar_title = "value",
                   .x = {.title = "element of a head"},
                   .y = {.title = "key position - query position", .first = (double)-K},
                   .colors = HEAT_DIVERGING,
                   .rows = rows,
                   .columns = D,
                   .values = values,
                   .panel_count = layers,
                   .panel_titles = (const char *const *)titles};
    bool drawn = inspect_draw_map(subject, which, what, map, true, error);
    for (int64_t layer = 0; layer < layers; layer++) free(titles[layer]);
    free(values);
    return drawn;
}

bool inspect_position_vectors(const InspectSubject *subject, Error *error) {
    return draw_vectors(subject, "relative_keys", "vectors added to the keys", error) &&
           (!subject->file.model->config.position.values ||
            draw_vectors(subject, "relative_values", "vectors added to the values", error));
}
