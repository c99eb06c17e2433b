/* ./inspect scores: attention maps, and for absolute schemes the terms of their scores. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "commands/inspect/inspect.h"
#include "commands/inspect/pictures.h"
#include "commands/inspect/positions.h"
#include "tensor/elementwise.h"

/* A map without panels: the key's token along x, the query's down y. */
static HeatMap token_map(const InspectSubject *subject, const char *bar_title) {
    return (HeatMap){.bar_title = bar_title,
                     .x = {.title = "token looked at (key)", .labels = subject->labels},
                     .y = {.title = "token that looks (query)", .labels = subject->labels},
                     .rows = subject->count,
                     .columns = subject->count};
}

/* ---- attention maps ---- */

static bool draw_attention(const InspectSubject *subject, Error *error) {
    enum { MOST = 64 };
    const Model *model = subject->file.model;
    const ModelConfig *c = &model->config;
    int64_t T = subject->count, H = c->num_heads;
    HeatMap map = token_map(subject, "weight");
    map.limited = true;
    map.high = 1;
    map.panels_per_row = H <= 8 ? H : 0;
    real **weights = allocate((size_t)c->num_layers, sizeof *weights);
    for (int64_t i = 0; i < c->num_layers; i++)
        weights[i] = allocate((size_t)(H * T * T), sizeof(real));
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    ModelInput input = {.B = 1, .T = T, .ids = subject->ids, .attention_weights = weights};
    model_hidden(model, &tape, &input);
    tape_free(&tape);
    for (int64_t i = 0; i < c->num_layers; i++) {
        for (int64_t h = 0; h < H && map.panel_count < MOST; h++) {
            double *panel =
                map_add(&map, string_format("layer %lld, head %lld", (long long)i, (long long)h));
            for (int64_t n = 0; n < T * T; n++)
                panel[n] = n % T <= n / T ? (double)weights[i][h * T * T + n] : NAN;
        }
        free(weights[i]);
    }
    free(weights);
    if (map.panel_count < c->num_layers * H)
        printf("note: the first %lld of %lld attention maps are drawn\n",
               (long long)map.panel_count, (long long)(c->num_layers * H));
    return inspect_draw_map(subject, "attention", "attention weights", &map, true, error);
}

/* ---- the four terms of an absolute scheme ---- */

/* The embedding of the text as content + position, both (T, C): exact for add, gate and concat, which
 * are linear in the content. */
static void split_embedding(const InspectSubject *subject, double *content, double *position) {
    const Model *model = subject->file.model;
    int64_t T = subject->count;
    inspect_position_table(model, T, position);
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    Tensor *x = embedding(&tape, model->token_embeddings, subject->ids, 1, T);
    const real *whole = position_embed(model->position, &tape, x, 0)->data;
    for (int64_t n = 0; n < T * model->config.d_model; n++)
        content[n] = (double)whole[n] - position[n];
    tape_free(&tape);
}

/* Applies the first layer's norm to the sum: content and position of a token are divided by the same
 * number, so that they remain summands. */
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

static bool draw_terms(const InspectSubject *subject, Error *error) {
    enum { MOST_HEADS = 8 };
    const Model *model = subject->file.model;
    const ModelConfig *c = &model->config;
    HeatMap map = token_map(subject, "part of the score");
    map.colors = HEAT_DIVERGING;
    map.panels_per_row = 4;
    int64_t T = subject->count, C = c->d_model, D = C / c->num_heads;
    double *content = allocate((size_t)(2 * T * C), sizeof *content), *position = content + T * C;
    double *q = allocate((size_t)(4 * T * D), sizeof *q), *k = q + 2 * T * D;
    split_embedding(subject, content, position);
    normalize(model, T, content, position);
    static const char *const names[2] = {"content", "position"};
    for (int64_t h = 0; h < c->num_heads && h < MOST_HEADS; h++) {
        int64_t group = h * c->num_kv_heads / c->num_heads;
        for (int part = 0; part < 2; part++) {
            project(model, h * D, T, part ? position : content, q + part * T * D);
            project(model, C + group * D, T, part ? position : content, k + part * T * D);
        }
        for (int term = 0; term < 4; term++) {
            double *panel = map_add(&map, string_format("head %lld: %s x %s", (long long)h,
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
    free(content);
    free(q);
    return inspect_draw_map(subject, "terms", "terms of the first layer's scores", &map, true,
                            error);
}

static bool run(const InspectSubject *subject, Error *error) {
    return draw_attention(subject, error) &&
           (!position_is_absolute(subject->file.model->config.position.type) ||
            draw_terms(subject, error));
}

int inspect_scores(int argc, char **argv) {
    static const InspectCommand command = {
        .name = "inspect scores",
        .summary =
            "Draws the attention weights of every layer and head on a text, and for schemes that add\n"
            "positions to the embedding the four terms of the first layer's scores: content x content,\n"
            "content x position, position x content, position x position.",
        .example =
            "./inspect scores runs/tiny --text \"the cat chases the mouse\" --output pictures",
        .text = true,
        .folder = true,
        .run = run,
    };
    return inspect_run(&command, argc, argv);
}
