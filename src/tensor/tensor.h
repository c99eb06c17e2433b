/* Tensor: up to four dimensions, row-major, contiguous.
 *
 * Letters for dimensions, everywhere in src/tensor/ and src/model/:
 *   B sequences, T positions (N = B·T rows), C = d_model channels, F = d_ff, V vocabulary,
 *   H query heads, G key/value heads, D = d_head = C/H */
#ifndef TINYLM_TENSOR_TENSOR_H
#define TINYLM_TENSOR_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/vector_math.h"

enum { TENSOR_MAX_RANK = 4 };

typedef struct Tensor {
    const char *name; /* for messages, tables and drawings; not owned */
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    real *data; /* valid while `resident`; NULL while planning */
    bool resident;

    /* The gradient of an activation, from its first writer in backward to its last reader. Two
     * tensors whose gradients are equal (a sum and its terms) share one; see tape.c. */
    struct Gradient *gradient;

    /* A parameter: its number among the model's parameters and where it lies in the flat buffers of
     * weights, gradients and moments. An activation has parameter -1. */
    int64_t parameter, offset;

    struct Node *producer;  /* the operation that computes it; NULL for parameters and constants */
    bool transient;         /* given back after its first reader, computed again where needed */
    bool pooled;            /* its data is a block of the tape's pool, not of the arena */
    bool inside_checkpoint; /* pooled between tape_checkpoint_begin and tape_checkpoint_end */
} Tensor;

/* Number of elements. */
int64_t tensor_size(const Tensor *x);
/* Length of the last dimension, and the number of rows of that length. */
int64_t tensor_columns(const Tensor *x);
int64_t tensor_rows(const Tensor *x);
/* A tensor of that shape around memory of the caller (no producer, no gradient). */
Tensor tensor_constant(const char *name, real *data, int rank, const int64_t *shape);

#endif
