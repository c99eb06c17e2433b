/* The model: token embeddings, num_layers blocks, a final norm, the head.      [handout §3.1, §3.6]
 *
 *   pre-norm   x = x + Attention(RMSNorm(x));   x = x + FFN(RMSNorm(x))
 *   post-norm  x = RMSNorm(x + Attention(x));   x = RMSNorm(x + FFN(x))
 *   none       x = x + Attention(x);            x = x + FFN(x)
 *   logits = ln_final(x) · W_headᵀ      (tied: W_head is the embedding table)
 *
 * Training, evaluation and generation call the same functions: with a recording tape they can be run
 * backward, with a cache they continue a sequence. */
#ifndef TINYLM_MODEL_TRANSFORMER_H
#define TINYLM_MODEL_TRANSFORMER_H

#include "model/model_config.h"
#include "model/parameters.h"
#include "model/position.h"
#include "tensor/cross_entropy.h"
#include "tensor/tape.h"

typedef struct Layer {
    char *attention_name, *ffn_name; /* "layers.0.attn", "layers.0.ffn": places in messages */
    Tensor *ln1, *ln2;               /* NULL when norm is none */
    Tensor *qkv_proj, *output_proj;  /* ((H + 2G)·D, C), (C, C) */
    Tensor *w1, *w2;                 /* w1: (2F, C), w1 above w3, when SwiGLU; else (F, C) */
} Layer;

typedef struct Model {
    ModelConfig config;
    Parameters parameters;
    Position *position;
    Tensor *token_embeddings, *lm_head; /* one and the same when tied */
    Tensor *ln_final;                   /* NULL when norm is none */
    Layer *layers;
} Model;

/* Declares and allocates; the weights are zero until model_initialize or a file fills them. With
 * `dry` no memory is taken for them. NULL on error (sizes that overflow or do not fit). */
Model *model_create(const ModelConfig *config, bool dry, Error *error);
/* Initial weights: a pure function of the config and the seed. */
void model_initialize(Model *model, uint64_t seed);
void model_free(Model *model);

/* What a forward pass reads. */
typedef struct ModelInput {
    int64_t B, T;
    const int32_t *ids;            /* (B, T), each below vocab_size */
    const int32_t *document_start; /* (B, T) or NULL: see attention.h */
    KeyValueCache *caches;         /* [num_layers] or NULL; see model_advance_caches */
    bool bidirectional;            /* no causal mask: experiments only */
    real **attention_weights; /* [num_layers] or NULL: each gets (B, H, T, keys), for pictures */
} ModelInput;

/* Final hidden states (B, T, C), after ln_final. The caller has called position_prepare for the
 * length past + T. */
Tensor *model_hidden(const Model *model, Tape *tape, const ModelInput *input);
/* hidden (…, C) -> logits (…, V). */
Tensor *model_logits(const Model *model, Tape *tape, Tensor *hidden);
/* Hidden states, head and loss in one; ready for tape_backward when recording. */
void model_loss(const Model *model, Tape *tape, const ModelInput *input, const HeadLoss *loss);

/* Caches for B sequences of up to `capacity` positions, one per layer; free with model_free_caches.
 * After each model_hidden that used them: model_advance_caches by T. */
KeyValueCache *model_create_caches(const Model *model, int64_t B, int64_t capacity);
void model_advance_caches(const Model *model, KeyValueCache *caches, int64_t T);
void model_free_caches(KeyValueCache *caches);

/* Matrix parameters that a token is multiplied with (head included, embedding table not), for
 * FLOP counts: a training step costs 6 of these a token. */
int64_t model_matmul_parameters(const Model *model);

#endif
