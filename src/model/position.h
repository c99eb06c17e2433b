/* Positional encodings behind one interface. A scheme may
 *   (1) add to or mix into the embeddings                            embed
 *   (2) transform queries, keys (and, as an ablation, values)        hooks.transform
 *   (3) add a term to a tile of scores, forward and backward         hooks.score, score_backward
 *   (4) add a term to the weighted values                            hooks.value, value_backward
 * Most leave most of it empty. What each scheme is and why: src/model/POSITIONS.md.
 *
 * Trained tensors of the schemes (C = d_model, H heads of D elements, N the layer's number):
 *   learned             position_embeddings.weight (context_length, C)        N(0, 0.02²)
 *   sinusoidal_learned  position_frequencies.weight (⌈C/2⌉)                   base^(−2i/C)
 *   inject gate         position_gate.weight (C)                              1
 *   inject concat       position_proj.weight (C, 2C)                          like a linear layer
 *   t5                  layers.N.attn.relative_bias.weight (buckets, H)       0
 *   window              layers.N.attn.relative_bias.weight (2·max_distance − 1, H)   0
 *   shaw                layers.N.attn.relative_keys.weight, relative_values.weight
 *                       (2·max_distance + 1, D), shared by the heads          N(0, 0.02²)
 *   transformer_xl      layers.N.attn.content_bias.weight (u), position_bias.weight (v) (H, D)   0
 *                       layers.N.attn.position_proj.weight (W_r) (C, C)       like a linear layer
 *   none, sinusoidal, rope, alibi, index: nothing */
#ifndef TINYLM_MODEL_POSITION_H
#define TINYLM_MODEL_POSITION_H

#include "base/error.h"
#include "model/model_config.h"
#include "model/parameters.h"
#include "tensor/attention.h"
#include "tensor/tape.h"

typedef struct Position Position;

/* One scheme. NULL functions do nothing. */
typedef struct PositionScheme {
    /* Refuses what it cannot do with this model (odd head size, …). */
    bool (*check)(const ModelConfig *config, Error *error);
    /* Declares its trained tensors: of the whole model (layer −1), then of each layer. */
    void (*declare)(Position *position, Parameters *parameters, int64_t layer);
    /* Writes the initial values of parameters declared INIT_GIVEN. */
    void (*initialize)(Position *position);
    /* Makes its tables reach `length` positions. */
    void (*prepare)(Position *position, int64_t length);
    /* x (B, T, C) with first_position.. along T -> x with the positions in it. */
    Tensor *(*embed)(const Position *position, Tape *tape, Tensor *x, int64_t first_position);
    /* Adds to the tables of a layer's hooks what is computed anew in each forward pass. */
    void (*layer_tables)(const Position *position, Tape *tape, int64_t layer, int64_t keys,
                         bool bidirectional, Tensor *tables[3]);
    /* Frees `state`. */
    void (*destroy)(Position *position);
} PositionScheme;

/* What a scheme has in one layer's attention. */
typedef struct PositionLayer {
    AttentionHooks hooks; /* all NULL functions when the scheme is not in attention */
    Tensor *tables[3];    /* its trained tensors there, up to the first NULL */
} PositionLayer;

struct Position {
    const PositionScheme *scheme;
    const ModelConfig *config; /* of the model it belongs to */
    int64_t d_head;
    PositionLayer *layers; /* [num_layers] */
    int64_t prepared;      /* positions its tables reach */
    void *state;           /* the scheme's own tables */
};

/* Builds the scheme of `config` (which must outlive it) and declares its parameters of the whole
 * model; call position_declare_layer while declaring each layer. NULL on error. */
Position *position_create(const ModelConfig *config, Parameters *parameters, Error *error);
void position_declare_layer(Position *position, Parameters *parameters, int64_t layer);
void position_initialize(Position *position);
/* Makes the tables reach `length` positions; call from one thread, before any operation that uses
 * them (to forget it ends the program). Cheap when they do already. False when the scheme ends before that (a learned table).
 * The frequencies of dynamic_ntk are those of the `length` of the last call. */
bool position_prepare(Position *position, int64_t length, Error *error);
/* Whether the last of `length` tokens changes how those before it are seen (dynamic_ntk past its
 * original context): keys and values in a cache, from a shorter sequence, are then of no use. */
bool position_changes_past(const ModelConfig *config, int64_t length);
Tensor *position_embed(const Position *position, Tape *tape, Tensor *x, int64_t first_position);
const AttentionHooks *position_hooks(const Position *position, int64_t layer);
/* Fills AttentionOptions.tables for a pass of this layer over `keys` positions, cached included. */
void position_layer_tables(const Position *position, Tape *tape, int64_t layer, int64_t keys,
                           bool bidirectional, Tensor *tables[3]);
void position_free(Position *position);

/* The longest sequence the scheme can take, or INT64_MAX. */
int64_t position_limit(const ModelConfig *config);

/* The families, one file each. */
extern const PositionScheme position_absolute; /* sinusoidal, sinusoidal_learned, learned, index */
extern const PositionScheme position_rope;
extern const PositionScheme position_relative_bias; /* t5, window, alibi */
extern const PositionScheme position_shaw;
extern const PositionScheme position_transformer_xl;

#endif
