/* Pictures of relative schemes: what they add to the scores, per layer and head. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/inspect/pictures.h"
#include "commands/inspect/positions.h"

/* bias (N, N): the scheme's score hook on scores of 0 with q = k = 0, the part that does not depend on the
 * words; NaN above the diagonal. */
static void bias_of(const Model *model, int64_t layer, int64_t head, int64_t N, double *bias) {
    const ModelConfig *c = &model->config;
    int64_t D = c->d_model / c->num_heads;
    const AttentionHooks *hooks = position_hooks(model->position, layer);
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
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

/* As matrices, and against the distance: the last row of each matrix, read backwards, a chart per layer.
 * All layers of a trained table are shown, up to 36 matrices. */
bool inspect_position_bias(const InspectSubject *subject, Error *error) {
    enum { MOST = 36 };
    const Model *model = subject->file.model;
    const ModelConfig *c = &model->config;
    bool alibi = c->position.type == POSITION_ALIBI;
    int64_t N = subject->length, heads = c->num_heads < MOST ? c->num_heads : MOST;
    int64_t layers = alibi ? 1 : c->num_layers < MOST / heads ? c->num_layers : MOST / heads;
    HeatMap map = {.bar_title = alibi ? "bias, down to -8" : "bias",
                   .x = {.title = "key position"},
                   .y = {.title = "query position"},
                   .colors = HEAT_DIVERGING,
                   .scale_per_panel = true,
                   .limited = alibi, /* a weight times e⁻⁸ is negligible */
                   .low = -8,
                   .rows = N,
                   .columns = N,
                   .panels_per_row = heads < 9 ? heads : 0};
    Table curves = {.rows = N};
    double *distance = table_add(&curves, string_copy("distance"));
    for (int64_t k = 0; k < N; k++) distance[k] = (double)k;
    for (int64_t n = 0; n < layers * heads; n++) {
        char *title =
            string_format("layer %lld, head %lld", (long long)(n / heads), (long long)(n % heads));
        double *bias = map_add(&map, title), *curve = table_add(&curves, string_copy(title));
        bias_of(model, n / heads, n % heads, N, bias);
        for (int64_t k = 0; k < N; k++) curve[k] = bias[N * N - 1 - k];
    }
    Chart *charts = allocate((size_t)layers, sizeof *charts);
    for (int64_t layer = 0; layer < layers; layer++)
        charts[layer] = (Chart){.x.title = "distance",
                                .y.title = "added to the score",
                                .series = curves.series + 1 + layer * heads,
                                .series_count = (int)heads,
                                .height = 320};
    if (!subject->trained && !alibi)
        printf("note: this model is not trained, and its biases begin at 0\n");
    bool drawn = inspect_draw_map(
        subject, "bias_maps", "added to the scores, by query and key position", &map, false, error);
    drawn = inspect_draw_charts(subject, "bias", "added to the scores, by distance", charts,
                                (int)layers, &curves, error) &&
            drawn;
    free(charts);
    return drawn;
}

/* ---- shaw ---- */

static bool draw_vectors(const InspectSubject *subject, const char *which, const char *what,
                         Error *error) {
    const Model *model = subject->file.model;
    const ModelConfig *c = &model->config;
    int64_t layers = c->num_layers < 16 ? c->num_layers : 16;
    int64_t K = c->position.max_distance, rows = K + 1; /* keys after the query are masked */
    int64_t D = c->d_model / c->num_heads;
    HeatMap map = {.bar_title = "value",
                   .x = {.title = "element of a head"},
                   .y = {.title = "key position - query position", .first = (double)-K},
                   .colors = HEAT_DIVERGING,
                   .rows = rows,
                   .columns = D};
    for (int64_t layer = 0; layer < layers; layer++) {
        double *panel = map_add(&map, string_format("layer %lld", (long long)layer));
        char *name = string_format("layers.%lld.attn.%s.weight", (long long)layer, which);
        const real *weight =
            model->parameters.values + parameters_find(&model->parameters, name)->offset;
        for (int64_t n = 0; n < rows * D; n++) panel[n] = (double)weight[n];
        free(name);
    }
    return inspect_draw_map(subject, which, what, &map, true, error);
}

bool inspect_position_vectors(const InspectSubject *subject, Error *error) {
    return draw_vectors(subject, "relative_keys", "vectors added to the keys", error) &&
           (!subject->file.model->config.position.values ||
            draw_vectors(subject, "relative_values", "vectors added to the values", error));
}
