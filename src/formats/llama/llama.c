#include "formats/llama/llama.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/position_tables.h"

typedef enum LlamaNames { LLAMA_HUGGINGFACE, LLAMA_GGUF } LlamaNames;

/* Tensors of a layer (after "layers.N."), then those of the whole model. */
static const struct {
    const char *ours, *theirs[2]; /* by LlamaNames */
} LAYER_NAMES[] =
    {
        {"attn.q_proj.weight", {"self_attn.q_proj.weight", "attn_q.weight"}},
        {"attn.k_proj.weight", {"self_attn.k_proj.weight", "attn_k.weight"}},
        {"attn.v_proj.weight", {"self_attn.v_proj.weight", "attn_v.weight"}},
        {"attn.output_proj.weight", {"self_attn.o_proj.weight", "attn_output.weight"}},
        {"ln1.weight", {"input_layernorm.weight", "attn_norm.weight"}},
        {"ffn.w1.weight", {"mlp.gate_proj.weight", "ffn_gate.weight"}},
        {"ffn.w2.weight", {"mlp.down_proj.weight", "ffn_down.weight"}},
        {"ffn.w3.weight", {"mlp.up_proj.weight", "ffn_up.weight"}},
        {"ln2.weight", {"post_attention_layernorm.weight", "ffn_norm.weight"}},
},
  MODEL_NAMES[] = {
      {"token_embeddings.weight", {"model.embed_tokens.weight", "token_embd.weight"}},
      {"ln_final.weight", {"model.norm.weight", "output_norm.weight"}},
      {"lm_head.weight", {"lm_head.weight", "output.weight"}},
};
static const char *const LAYER_PREFIX[2] = {"model.layers.", "blk."};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The part of our name behind "layers.N.", and N; the whole name and -1 for other tensors. */
static const char *split_name(const char *ours, long *layer) {
    char *rest;
    *layer = -1;
    if (strncmp(ours, "layers.", 7) != 0) return ours;
    *layer = strtol(ours + 7, &rest, 10);
    return rest + 1;
}

static void translate(const char *ours, LlamaNames names, char theirs[WEIGHT_NAME_SIZE]) {
    long layer;
    const char *rest = split_name(ours, &layer), *found = rest;
    if (layer >= 0) {
        for (size_t i = 0; i < COUNT(LAYER_NAMES); i++)
            if (strcmp(LAYER_NAMES[i].ours, rest) == 0) found = LAYER_NAMES[i].theirs[names];
        snprintf(theirs, WEIGHT_NAME_SIZE, "%s%ld.%s", LAYER_PREFIX[names], layer, found);
        return;
    }
    for (size_t i = 0; i < COUNT(MODEL_NAMES); i++)
        if (strcmp(MODEL_NAMES[i].ours, rest) == 0) found = MODEL_NAMES[i].theirs[names];
    snprintf(theirs, WEIGHT_NAME_SIZE, "%s", found);
}

void llama_huggingface_name(const char *ours, char theirs[WEIGHT_NAME_SIZE]) {
    translate(ours, LLAMA_HUGGINGFACE, theirs);
}

void llama_gguf_name(const char *ours, char theirs[WEIGHT_NAME_SIZE]) {
    translate(ours, LLAMA_GGUF, theirs);
}

int64_t llama_rope_heads(const ModelConfig *config, const char *ours) {
    long layer;
    const char *rest = split_name(ours, &layer);
    if (layer >= 0 && strcmp(rest, "attn.q_proj.weight") == 0) return config->num_heads;
    if (layer >= 0 && strcmp(rest, "attn.k_proj.weight") == 0) return config->num_kv_heads;
    return 0;
}

/* ---- what the formats can hold ---- */

bool llama_check(const ModelConfig *config, const char *path, Error *error) {
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
        int64_t heads = llama_rope_heads(config, part->name);
        for (int64_t h = 0; h < heads; h++)
            reorder_head(values + part->offset + h * d_head * config->d_model, scratch, d_head,
                         config->d_model, layout);
    }
    free(scratch);
    return values;
}
