#include "model/block.h"

#include <stdio.h>

#include "tensor/elementwise.h"
#include "tensor/matmul.h"
#include "tensor/rmsnorm.h"

void layer_declare(Model *model, int64_t i) {
    const ModelConfig *c = &model->config;
    Parameters *p = &model->parameters;
    Layer *layer = &model->layers[i];
    int64_t C = c->d_model, F = c->d_ff, kv = C / c->num_heads * c->num_kv_heads;
    long long n = i;
    char name[8][64];
    static const char *const suffix[8] = {"ln1.weight",
                                          "attn.q_proj.weight",
                                          "attn.k_proj.weight",
                                          "attn.v_proj.weight",
                                          "attn.output_proj.weight",
                                          "ln2.weight",
                                          "ffn.w1.weight",
                                          "ffn.w3.weight"};
    for (int k = 0; k < 8; k++) snprintf(name[k], sizeof name[k], "layers.%lld.%s", n, suffix[k]);
    char w2[64];
    snprintf(w2, sizeof w2, "layers.%lld.ffn.w2.weight", n);
    layer->attention_name = string_format("layers.%lld.attn", n);
    layer->ffn_name = string_format("layers.%lld.ffn", n);

    bool norms = c->norm != NORM_NONE;
    if (norms) layer->ln1 = parameters_declare_one(p, name[0], C, 0, INIT_ONES);
    ParameterPart qkv[3] = {{name[1], C}, {name[2], kv}, {name[3], kv}};
    layer->qkv_proj = parameters_declare(p, "attn.qkv_proj", 2, C, INIT_LINEAR, qkv, 3);
    layer->output_proj = parameters_declare_one(p, name[4], C, C, INIT_LINEAR);
    position_declare_layer(model->position, p, i);
    if (norms) layer->ln2 = parameters_declare_one(p, name[5], C, 0, INIT_ONES);
    ParameterPart w13[2] = {{name[6], F}, {name[7], F}};
    layer->w1 =
        parameters_declare(p, "ffn.w1", 2, C, INIT_LINEAR, w13, c->ffn == FFN_SWIGLU ? 2 : 1);
    layer->w2 = parameters_declare_one(p, w2, C, F, INIT_LINEAR);
}

/* The norm at the entrance of a sublayer (pre-norm) and at its exit (post-norm). */
static Tensor *norm_before(const Model *model, Tape *tape, Tensor *x, Tensor *gain) {
    return model->config.norm == NORM_PRE ? rmsnorm(tape, x, gain, model->config.norm_eps, true)
                                          : x;
}

static Tensor *norm_after(const Model *model, Tape *tape, Tensor *x, Tensor *gain) {
    return model->config.norm == NORM_POST ? rmsnorm(tape, x, gain, model->config.norm_eps, false)
                                           : x;
}

/* FFN(x) = W2(SiLU(W1 x) ⊙ W3 x), or W2 f(W1 x). */
static Tensor *feed_forward(const Model *model, Tape *tape, const Layer *layer, Tensor *x) {
    Tensor *hidden = linear(tape, x, layer->w1, NULL);
    switch (model->config.ffn) {
    case FFN_SWIGLU:
        return swiglu(tape, hidden);
    case FFN_SILU:
        return activation(tape, hidden, ACTIVATION_SILU);
    case FFN_RELU:
        return activation(tape, hidden, ACTIVATION_RELU);
    case FFN_GELU:
        return activation(tape, hidden, ACTIVATION_GELU);
    }
    return NULL;
}

Tensor *layer_forward(const Model *model, int64_t i, Tape *tape, Tensor *x,
                      const ModelInput *input) {
    const Layer *layer = &model->layers[i];
    AttentionOptions options = {
        .num_heads = model->config.num_heads,
        .num_kv_heads = model->config.num_kv_heads,
        .causal = !input->bidirectional,
        .document_start = input->document_start,
        .hooks = position_hooks(model->position, i),
        .cache = input->caches ? &input->caches[i] : NULL,
        .weights = input->attention_weights ? input->attention_weights[i] : NULL,
    };
    int64_t past = options.cache ? options.cache->length : 0;
    position_layer_tables(model->position, tape, i, past + input->T, input->bidirectional,
                          options.tables);
    /* `linear` adds its last argument: the residual connection. */
    tape->module = layer->attention_name;
    Tensor *qkv = linear(tape, norm_before(model, tape, x, layer->ln1), layer->qkv_proj, NULL);
    x = linear(tape, attention(tape, qkv, &options), layer->output_proj, x);
    x = norm_after(model, tape, x, layer->ln1);

    tape->module = layer->ffn_name;
    Tensor *hidden = feed_forward(model, tape, layer, norm_before(model, tape, x, layer->ln2));
    x = linear(tape, hidden, layer->w2, x);
    return norm_after(model, tape, x, layer->ln2);
}
