#include "formats/llama/llama.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/position_tables.h"

/* In the order of llama2.c's files: tensors of a layer (after "layers.N."), each for all layers, stand
 * between the first and the last two of the whole model. */
enum { OURS, HUGGINGFACE, GGUF, NAMES };
static const char *const NAME[][NAMES] = {
    {"token_embeddings", "model.embed_tokens", "token_embd"},
    {"ln1", "input_layernorm", "attn_norm"},
    {"attn.q_proj", "self_attn.q_proj", "attn_q"},
    {"attn.k_proj", "self_attn.k_proj", "attn_k"},
    {"attn.v_proj", "self_attn.v_proj", "attn_v"},
    {"attn.output_proj", "self_attn.o_proj", "attn_output"},
    {"ln2", "post_attention_layernorm", "ffn_norm"},
    {"ffn.w1", "mlp.gate_proj", "ffn_gate"},
    {"ffn.w2", "mlp.down_proj", "ffn_down"},
    {"ffn.w3", "mlp.up_proj", "ffn_up"},
    {"ln_final", "model.norm", "output_norm"},
    {"lm_head", "lm_head", "output"},
};
enum { ROWS = sizeof NAME / sizeof *NAME, QUERIES = 2, KEYS = 3 };
static const char *const LAYER_PREFIX[NAMES] = {"layers.", "model.layers.", "blk."};

/* The row of the table, and N of "layers.N." or -1; ROWS for a tensor that no Llama model has. */
static int find_row(const char *ours, long *layer) {
    char *rest = (char *)(uintptr_t)ours;
    *layer = -1;
    if (strncmp(ours, "layers.", 7) == 0) {
        *layer = strtol(ours + 7, &rest, 10);
        rest++;
    }
    size_t length = strlen(rest) - strlen(".weight");
    int row = 0;
    while (row < ROWS &&
           (strncmp(NAME[row][OURS], rest, length) != 0 || NAME[row][OURS][length] != '\0'))
        row++;
    return row;
}

static void translate(const char *ours, int format, char theirs[WEIGHT_NAME_SIZE]) {
    long layer;
    int row = find_row(ours, &layer);
    if (row == ROWS)
        snprintf(theirs, WEIGHT_NAME_SIZE, "%s", ours);
    else if (layer < 0)
        snprintf(theirs, WEIGHT_NAME_SIZE, "%s.weight", NAME[row][format]);
    else
        snprintf(theirs, WEIGHT_NAME_SIZE, "%s%ld.%s.weight", LAYER_PREFIX[format], layer,
                 NAME[row][format]);
}

void llama_huggingface_name(const char *ours, char theirs[WEIGHT_NAME_SIZE]) {
    translate(ours, HUGGINGFACE, theirs);
}

void llama_gguf_name(const char *ours, char theirs[WEIGHT_NAME_SIZE]) {
    translate(ours, GGUF, theirs);
}

const Parameter **llama_file_order(const Model *model) {
    const Parameters *parameters = &model->parameters;
    const Parameter **order = allocate((size_t)parameters->part_count, sizeof *order);
    int64_t placed = 0;
    long layer;
    for (int row = 0; row < ROWS; row++)
        for (int64_t i = 0; i < parameters->part_count; i++)
            if (find_row(parameters->parts[i].name, &layer) == row)
                order[placed++] = &parameters->parts[i];
    return order;
}

/* ---- what the formats can hold ---- */

bool llama_check(const ModelFile *file, const char *path, bool half, Error *error) {
    (void)half;
    const ModelConfig *config = &file->model->config;
    const PositionConfig *position = &config->position;
    if (position->type != POSITION_ROPE)
        return error_set(error, "%s: this format only has rotary positions, and the model has '%s'",
                         path, position_type_name(position->type));
    if (position->fraction != 1)
        return error_set(error,
                         "%s: this format rotates whole heads, and the model a fraction of %g",
                         path, position->fraction);
    if (position->rotate_values)
        return error_set(error, "%s: this format does not rotate values, and the model does", path);
    if (config->norm != NORM_PRE)
        return error_set(error,
                         "%s: this format only has pre-norm blocks, and the model's norm is "
                         "'%s'",
                         path, norm_name(config->norm));
    if (config->ffn != FFN_SWIGLU)
        return error_set(error, "%s: this format only has SwiGLU, and the model's ffn is '%s'",
                         path, ffn_name(config->ffn));
    return true;
}

ModelConfig llama_empty_config(PositionLayout layout) {
    return (ModelConfig){.norm = NORM_PRE,
                         .ffn = FFN_SWIGLU,
                         .position = {.type = POSITION_ROPE, .layout = layout, .fraction = 1}};
}

ModelConfig llama_stored_config(const ModelConfig *config) {
    ModelConfig stored = *config;
    PositionConfig *position = &stored.position;
    double d_head = (double)(config->d_model / config->num_heads);
    if (position->scaling.type != ROPE_SCALING_NTK) return stored;
    position->base *= pow(position->scaling.factor, d_head / (d_head - 2));
    position->scaling = (RopeScaling){.type = ROPE_SCALING_NONE};
    return stored;
}

/* ---- the order of rows ---- */

static void reorder_head(real *rows, real *scratch, int64_t d_head, int64_t columns,
                         PositionLayout to) {
    size_t row_bytes = (size_t)columns * sizeof *rows;
    memcpy(scratch, rows, (size_t)d_head * row_bytes);
    for (int64_t half = 0; half < d_head; half++) {
        int64_t interleaved = position_rope_half_from_interleaved(half, d_head);
        if (to == LAYOUT_HALF)
            memcpy(rows + half * columns, scratch + interleaved * columns, row_bytes);
        else
            memcpy(rows + interleaved * columns, scratch + half * columns, row_bytes);
    }
}

real *llama_values(const Model *model, PositionLayout layout) {
    const Parameters *parameters = &model->parameters;
    const ModelConfig *config = &model->config;
    int64_t d_head = config->d_model / config->num_heads;
    real *values = allocate((size_t)parameters->size, sizeof *values);
    memcpy(values, parameters->values, (size_t)parameters->size * sizeof *values);
    if (config->position.layout == layout) return values;
    real *scratch = allocate((size_t)(d_head * config->d_model), sizeof *scratch);
    for (int64_t i = 0; i < parameters->part_count; i++) {
        const Parameter *part = &parameters->parts[i];
        long layer;
        int row = find_row(part->name, &layer);
        int64_t heads = row == QUERIES ? config->num_heads : row == KEYS ? config->num_kv_heads : 0;
        for (int64_t h = 0; h < heads; h++)
            reorder_head(values + part->offset + h * d_head * config->d_model, scratch, d_head,
                         config->d_model, layout);
    }
    free(scratch);
    return values;
}
