#include "model/transformer.h"

#include <stdlib.h>

#include "model/block.h"
#include "tensor/elementwise.h"
#include "tensor/matmul.h"
#include "tensor/rmsnorm.h"

/* a·b + c without overflow, up to what a flat buffer may reasonably hold. */
static bool grow(int64_t *total, int64_t a, int64_t b) {
    int64_t product;
    return !__builtin_mul_overflow(a, b, &product) &&
           !__builtin_add_overflow(*total, product, total) && *total <= INT64_MAX / 64;
}

/* Declaring computes sizes as products; this makes sure none of them wraps. */
static bool check_sizes(const ModelConfig *c, Error *error) {
    int64_t layer = 0, total = 0;
    bool fits = grow(&layer, 4 * c->d_model, c->d_model) && grow(&layer, 3 * c->d_ff, c->d_model) &&
                grow(&layer, 4, c->d_model) && grow(&total, layer, c->num_layers) &&
                grow(&total, 2 * c->vocab_size, c->d_model);
    if (fits) return true;
    return error_set(error,
                     "the model would have more than 10^17 weights; make vocab_size, d_model, "
                     "d_ff or num_layers smaller");
}

Model *model_create(const ModelConfig *config, bool dry, Error *error) {
    if (!check_sizes(config, error)) return NULL;
    Model *model = allocate_zeroed(1, sizeof *model);
    model->config = *config;
    const ModelConfig *c = &model->config;
    Parameters *p = &model->parameters;
    model->token_embeddings =
        parameters_declare_one(p, "token_embeddings.weight", c->vocab_size, c->d_model,
                               c->tie_embeddings ? INIT_TIED_EMBEDDING : INIT_EMBEDDING);
    model->position = position_create(c, p, error);
    if (!model->position) {
        model_free(model);
        return NULL;
    }
    model->layers = allocate_zeroed((size_t)c->num_layers, sizeof *model->layers);
    for (int64_t i = 0; i < c->num_layers; i++) layer_declare(model, i);
    if (c->norm != NORM_NONE)
        model->ln_final = parameters_declare_one(p, "ln_final.weight", c->d_model, 0, INIT_ONES);
    model->lm_head = c->tie_embeddings ? model->token_embeddings
                                       : parameters_declare_one(p, "lm_head.weight", c->vocab_size,
                                                                c->d_model, INIT_LINEAR);
    if (!dry && !parameters_allocate(p, error)) {
        model_free(model);
        return NULL;
    }
    return model;
}

void model_initialize(Model *model, uint64_t seed) {
    parameters_initialize(&model->parameters, seed);
    position_initialize(model->position);
}

void model_free(Model *model) {
    if (!model) return;
    for (int64_t i = 0; model->layers && i < model->config.num_layers; i++) {
        free(model->layers[i].attention_name);
        free(model->layers[i].ffn_name);
    }
    free(model->layers);
    position_free(model->position);
    parameters_free(&model->parameters);
    free(model);
}

Tensor *model_hidden(const Model *model, Tape *tape, const ModelInput *input) {
    int64_t past = input->caches ? input->caches[0].length : 0;
    tape->module = "embedding";
    Tensor *x = embedding(tape, model->token_embeddings, input->ids, input->B, input->T);
    x = position_embed(model->position, tape, x, past);
    for (int64_t i = 0; i < model->config.num_layers; i++) {
        TapeCheckpoint checkpoint = tape_checkpoint_begin(tape, x);
        x = tape_checkpoint_end(tape, &checkpoint, layer_forward(model, i, tape, x, input));
    }
    tape->module = "ln_final";
    return model->ln_final ? rmsnorm(tape, x, model->ln_final, model->config.norm_eps, false) : x;
}

Tensor *model_logits(const Model *model, Tape *tape, Tensor *hidden) {
    tape->module = "lm_head";
    return linear(tape, hidden, model->lm_head, NULL);
}

void model_loss(const Model *model, Tape *tape, const ModelInput *input, const HeadLoss *loss) {
    Tensor *hidden = model_hidden(model, tape, input);
    tape->module = "lm_head";
    head_loss(tape, hidden, model->lm_head, loss);
}

KeyValueCache *model_create_caches(const Model *model, int64_t B, int64_t capacity) {
    const ModelConfig *c = &model->config;
    int64_t layer_size = B * c->num_kv_heads * capacity * (c->d_model / c->num_heads);
    KeyValueCache *caches = allocate((size_t)c->num_layers, sizeof *caches);
    real *memory = allocate_zeroed((size_t)(2 * layer_size * c->num_layers), sizeof *memory);
    for (int64_t i = 0; i < c->num_layers; i++)
        caches[i] = (KeyValueCache){.k = memory + 2 * i * layer_size,
                                    .v = memory + (2 * i + 1) * layer_size,
                                    .capacity = capacity};
    return caches;
}

void model_advance_caches(const Model *model, KeyValueCache *caches, int64_t T) {
    for (int64_t i = 0; i < model->config.num_layers; i++) caches[i].length += T;
}

void model_free_caches(KeyValueCache *caches) {
    if (caches) free(caches[0].k);
    free(caches);
}

int64_t model_matmul_parameters(const Model *model) {
    int64_t total = 0;
    for (int64_t i = 0; i < model->config.num_layers; i++) {
        const Layer *layer = &model->layers[i];
        total += tensor_size(layer->qkv_proj) + tensor_size(layer->output_proj) +
                 tensor_size(layer->w1) + tensor_size(layer->w2);
    }
    return total + tensor_size(model->lm_head);
}
