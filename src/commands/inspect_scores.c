/* ./inspect scores: which words look at which, and for absolute schemes why. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "commands/inspect.h"
#include "commands/inspect_subject.h"
#include "pictures/csv.h"
#include "pictures/heat_map.h"
#include "tensor/elementwise.h"

/* Panels of (T, T) and what goes with them. */
typedef struct Maps {
    const InspectSubject *subject;
    const char *title, *folder;
    double **panels;
    char **titles;
    int64_t count, per_row;
} Maps;

static double *maps_add(Maps *maps, char *title) {
    int64_t T = maps->subject->count;
    size_t n = (size_t)maps->count++;
    maps->panels = reallocate(maps->panels, n + 1, sizeof *maps->panels);
    maps->titles = reallocate(maps->titles, n + 1, sizeof *maps->titles);
    maps->titles[n] = title;
    return maps->panels[n] = allocate((size_t)(T * T), sizeof(double));
}

static void maps_free(Maps *maps) {
    for (int64_t n = 0; n < maps->count; n++) free(maps->panels[n]), free(maps->titles[n]);
    free(maps->panels);
    free(maps->titles);
}

/* NAME.svg with all panels, NAME.csv with a line per panel and query. */
static bool maps_write(const Maps *maps, const char *name, const char *what, HeatColors colors,
                       Error *error) {
    int64_t T = maps->subject->count;
    char *title = string_format("%s: %s", maps->title, what);
    char *svg = string_format("%s.svg", name), *csv = string_format("%s.csv", name);
    const char *const *labels = (const char *const *)maps->subject->labels;
    HeatMap map = {.title = title,
                   .bar_title = colors == HEAT_SEQUENTIAL ? "weight" : "part of the score",
                   .x = {.title = "token looked at (key)", .labels = labels},
                   .y = {.title = "token that looks (query)", .labels = labels},
                   .colors = colors,
                   .limited = colors == HEAT_SEQUENTIAL,
                   .low = 0,
                   .high = 1,
                   .rows = T,
                   .columns = T,
                   .panels = (const double *const *)maps->panels,
                   .panel_count = maps->count,
                   .panels_per_row = maps->per_row,
                   .panel_titles = (const char *const *)maps->titles};
    double *all = allocate((size_t)(maps->count * T * T), sizeof *all);
    char **rows = allocate((size_t)(maps->count * T), sizeof *rows);
    for (int64_t n = 0; n < maps->count; n++) {
        memcpy(all + n * T * T, maps->panels[n], (size_t)(T * T) * sizeof *all);
        for (int64_t i = 0; i < T; i++)
            rows[n * T + i] = string_format("%s: %s", maps->titles[n], labels[i]);
    }
    const char *path = inspect_path(maps->folder, svg);
    bool written = heat_map_write(path, &map, error) &&
                   csv_write_matrix(inspect_path(maps->folder, csv), all, maps->count * T, T,
                                    (const char *const *)rows, labels, error);
    if (written) inspect_wrote(path, what);
    for (int64_t n = 0; n < maps->count * T; n++) free(rows[n]);
    free(rows);
    free(all);
    free(title);
    free(svg);
    free(csv);
    return written;
}

/* ---- attention maps ---- */

static bool draw_attention(Maps maps, Error *error) {
    enum { MOST = 64 };
    const Model *model = maps.subject->file.model;
    const ModelConfig *c = &model->config;
    int64_t T = maps.subject->count, H = c->num_heads;
    real **weights = allocate((size_t)c->num_layers, sizeof *weights);
    for (int64_t i = 0; i < c->num_layers; i++)
        weights[i] = allocate((size_t)(H * T * T), sizeof(real));
    Tape tape;
    tape_init(&tape, model->parameters.count);
    ModelInput input = {.B = 1, .T = T, .ids = maps.subject->ids, .attention_weights = weights};
    model_hidden(model, &tape, &input);
    tape_free(&tape);
    maps.per_row = H <= 8 ? H : 0;
    for (int64_t i = 0; i < c->num_layers; i++) {
        for (int64_t h = 0; h < H && maps.count < MOST; h++) {
            double *panel =
                maps_add(&maps, string_format("layer %lld, head %lld", (long long)i, (long long)h));
            for (int64_t n = 0; n < T * T; n++)
                panel[n] = n % T <= n / T ? (double)weights[i][h * T * T + n] : NAN;
        }
        free(weights[i]);
    }
    free(weights);
    if (maps.count < c->num_layers * H)
        printf("note: the first %lld of %lld attention maps are drawn\n", (long long)maps.count,
               (long long)(c->num_layers * H));
    bool written = maps_write(&maps, "attention", "attention weights", HEAT_SEQUENTIAL, error);
    maps_free(&maps);
    return written;
}

/* ---- the four terms of an absolute scheme ---- */

/* The embedding of the text as content + position, both (T, C): exact for add, gate and concat, which
 * are linear in the content. */
static void split_embedding(const Model *model, const int32_t *ids, int64_t T, double *content,
                            double *position) {
    int64_t C = model->config.d_model;
    real *zeros = allocate_zeroed((size_t)(T * C), sizeof *zeros);
    Tape tape;
    tape_init(&tape, model->parameters.count);
    Tensor *x = embedding(&tape, model->token_embeddings, ids, 1, T);
    const real *whole = position_embed(model->position, &tape, x, 0)->data;
    Tensor *nothing = tape_constant(&tape, "zeros", zeros, 3, (int64_t[]){1, T, C});
    const real *p = position_embed(model->position, &tape, nothing, 0)->data;
    for (int64_t n = 0; n < T * C; n++) {
        position[n] = (double)p[n];
        content[n] = (double)whole[n] - (double)p[n];
    }
    tape_free(&tape);
    free(zeros);
}

/* The first layer's norm divides content and position of a row by the same number, so that their
 * sum stays a sum. */
static void normalize(const Model *model, int64_t T, double *content, double *position) {
    int64_t C = model->config.d_model;
    if (model->config.norm != NORM_PRE) return;
    const real *gain = model->layers[0].ln1->data;
    for (int64_t t = 0; t < T; t++) {
        double *x = content + t * C, *p = position + t * C, sum = 0;
        for (int64_t c = 0; c < C; c++) sum += (x[c] + p[c]) * (x[c] + p[c]);
        double r = 1 / sqrt(sum / (double)C + model->config.norm_eps);
        for (int64_t c = 0; c < C; c++) {
            x[c] *= r * (double)gain[c];
            p[c] *= r * (double)gain[c];
        }
    }
}

/* Rows of one head of q or k for x (T, C): to (T, D). `row` is the head's first in qkv_proj. */
static void project(const Model *model, int64_t row, int64_t T, const double *x, double *to) {
    int64_t C = model->config.d_model, D = C / model->config.num_heads;
    const real *weight = model->layers[0].qkv_proj->data + row * C;
    for (int64_t t = 0; t < T; t++)
        for (int64_t d = 0; d < D; d++) {
            double sum = 0;
            for (int64_t c = 0; c < C; c++) sum += (double)weight[d * C + c] * x[t * C + c];
            to[t * D + d] = sum;
        }
}

static bool draw_terms(Maps maps, Error *error) {
    enum { MOST_HEADS = 8 };
    const Model *model = maps.subject->file.model;
    const ModelConfig *c = &model->config;
    int64_t T = maps.subject->count, C = c->d_model, D = C / c->num_heads;
    double *content = allocate((size_t)(2 * T * C), sizeof *content), *position = content + T * C;
    double *q = allocate((size_t)(4 * T * D), sizeof *q), *k = q + 2 * T * D;
    split_embedding(model, maps.subject->ids, T, content, position);
    normalize(model, T, content, position);
    static const char *const names[2] = {"content", "position"};
    for (int64_t h = 0; h < c->num_heads && h < MOST_HEADS; h++) {
        int64_t group = h * c->num_kv_heads / c->num_heads;
        for (int part = 0; part < 2; part++) {
            project(model, h * D, T, part ? position : content, q + part * T * D);
            project(model, C + group * D, T, part ? position : content, k + part * T * D);
        }
        for (int term = 0; term < 4; term++) {
            double *panel = maps_add(&maps, string_format("head %lld: %s x %s", (long long)h,
                                                          names[term / 2], names[term % 2]));
            for (int64_t i = 0; i < T; i++)
                for (int64_t j = 0; j < T; j++) {
                    double sum = 0;
                    for (int64_t d = 0; d < D; d++)
                        sum += q[(term / 2 * T + i) * D + d] * k[(term % 2 * T + j) * D + d];
                    panel[i * T + j] = sum / sqrt((double)D);
                }
        }
    }
    maps.per_row = 4;
    free(content);
    free(q);
    bool written =
        maps_write(&maps, "terms", "terms of the first layer's scores", HEAT_DIVERGING, error);
    maps_free(&maps);
    return written;
}

int inspect_scores(int argc, char **argv) {
    const char *path = NULL, *text = "the cat chases the mouse", *folder = NULL;
    OptionList overrides = {0};
    const Option options[] = {
        ARGUMENT("RUN_OR_CONFIG", &path,
                 "a run, any other model, or a config for an untrained one"),
        OPTION_TEXT("--text", "TEXT", &text, "some words"),
        OPTION_TEXT("--output", "DIR", &folder, "folder for the pictures (default: pictures)"),
        OPTION_LIST("--set", "KEY=VALUE", &overrides, "change a value of the config (repeatable)"),
        OPTIONS_END,
    };
    const Program program = {
        "inspect scores",
        "Draws the attention weights of every layer and head on a text, and for schemes that add\n"
        "positions to the embedding the four terms of the first layer's scores: content x content,\n"
        "content x position, position x content, position x position.",
        "./inspect scores runs/tiny --text \"the cat chases the mouse\" --output pictures",
        options};
    options_read(&program, argc, argv);
    if (!folder) folder = "pictures";
    InspectSubject subject = {0};
    Error error;
    bool done =
        inspect_open(&subject, path, &overrides, text, &error) && directory_create(folder, &error);
    if (done) {
        char *title = inspect_title(&subject, path);
        Maps maps = {.subject = &subject, .title = title, .folder = folder};
        done = draw_attention(maps, &error);
        if (done && position_is_absolute(subject.file.model->config.position.type))
            done = draw_terms(maps, &error);
        free(title);
    }
    inspect_close(&subject);
    option_list_free(&overrides);
    return done ? program_done("inspect scores") : program_failed("inspect scores", &error);
}
