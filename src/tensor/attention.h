/* Causal multi-head scaled dot-product attention with grouped key/value heads.     [handout §3.5.4]
 *
 *   S_ij = q_i · k_j / √D (+ a positional term)     for the allowed j
 *   P_i = softmax(S_i),   o_i = Σ_j P_ij v_j (+ a positional term)
 * backward, with the scores computed again from q, k and the saved log-sum-exp L_i:
 *   P_ij = exp(S_ij − L_i);  dV = Pᵀ dO;  dP = dO Vᵀ;  dS = P ⊙ (dP − rowsum(dO ⊙ O));
 *   dQ = dS K / √D;  dK = dSᵀ Q / √D
 *
 * A row i may attend to j <= i (causal), not before the start of its document. Work is done in blocks
 * of rows of one head, so that a block of scores stays in cache and the upper half is skipped. */
#ifndef TINYLM_TENSOR_ATTENTION_H
#define TINYLM_TENSOR_ATTENTION_H

#include "tensor/tape.h"

/* ---- what a positional scheme may do inside (all hooks optional) ---- */

typedef enum AttentionPart { PART_QUERY, PART_KEY, PART_VALUE } AttentionPart;

/* A block of scores of one head: rows are queries at positions first_row …, columns are keys at
 * positions 0 … columns−1. */
typedef struct AttentionTile {
    int64_t head, rows, columns, first_row;
    int64_t d_head;
    bool causal;   /* row r only uses columns up to first_row + r */
    real scale;    /* 1/√D */
    const real *q; /* (rows, D) as transformed */
    const real *k; /* (columns, D) as transformed */
    real *scores;  /* (rows, stride): S; in the value hooks P before division by its row sum; in
                      score_backward dS */
    int64_t stride;
    int64_t keys;  /* that there are: columns of the last tile */
    real *scratch; /* as many reals as the hook `scratch` asked for */
    /* AttentionOptions.tables: values, and in backward where their gradients are added (or NULL). */
    const real *tables[3];
    real *table_gradients[3];
} AttentionTile;

/* to[r] = M(position of r) · from[r] for rows at positions first_position …; `inverse`: with the
 * transpose of M instead (the backward of it). `to` may be `from` only when the strides agree. */
typedef void AttentionTransform(const void *context, int64_t first_position, int64_t rows,
                                int64_t d_head, const real *from, int64_t from_stride, real *to,
                                int64_t to_stride, bool inverse);

typedef struct AttentionHooks {
    const void *context; /* handed to every hook; must live as long as the tape's nodes */
    bool transforms[3];  /* per AttentionPart: whether transform does anything to it */
    AttentionTransform *transform, *plain_transform; /* the second is its definition, for --plain */
    /* How many reals of scratch the hooks below want for a tile of `rows` by `keys`. */
    int64_t (*scratch)(const void *context, int64_t rows, int64_t keys, int64_t d_head);
    /* Adds to the tile of scores (after the 1/√D). */
    void (*score)(const void *context, const AttentionTile *tile);
    /* Given dS in the tile, adds to dq (rows, D), dk (columns, D) and the table gradients. */
    void (*score_backward)(const void *context, const AttentionTile *tile, real *dq, real *dk);
    /* Adds to the outputs: out[r] += Σ_j P_rj · b(r, j). */
    void (*value)(const void *context, const AttentionTile *tile, real *out, int64_t out_stride);
    /* dP_rj += dout_r · b(r, j), and the table gradients, given P in the tile. */
    void (*value_backward)(const void *context, const AttentionTile *tile, const real *dout,
                           int64_t dout_stride, real *dp);
    bool large_tiles; /* the hooks multiply by something long for every tile */
} AttentionHooks;

/* ---- the cache of keys and values for generation ---- */

/* Of one layer; k and v are (B, G, capacity, D). `length` positions are filled; attention appends
 * after them, and the owner moves `length` on when all layers have done so. */
typedef struct KeyValueCache {
    real *k, *v;
    int64_t capacity, length;
} KeyValueCache;

/* ---- the operation ---- */

typedef struct AttentionOptions {
    int64_t num_heads, num_kv_heads;
    bool causal;                   /* false only for experiments */
    const int32_t *document_start; /* (B, T): first position row i may attend to; NULL: 0 */
    const AttentionHooks *hooks;   /* NULL: none */
    Tensor *tables[3];             /* trained tensors that the hooks read, up to the first NULL */
    KeyValueCache *cache; /* NULL: rows attend to each other only; else not while recording */
    real *weights; /* if not NULL: gets the attention weights (B, H, T, keys), for pictures */
} AttentionOptions;

/* qkv (B, T, (H + 2G)·D): queries, keys, values of all heads side by side -> (B, T, H·D).
 * Everything the options point to must live until tape_reset. */
Tensor *attention(Tape *tape, Tensor *qkv, const AttentionOptions *options);

#endif
