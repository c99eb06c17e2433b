/* The trained tensors of a model: all in one flat buffer, so that summing, clipping, updating and
 * saving are single passes. Some lie side by side because one product uses them together (q, k, v;
 * w1, w3): operations see the tensor that spans them, files and people see the named parts. */
#ifndef TINYLM_MODEL_PARAMETERS_H
#define TINYLM_MODEL_PARAMETERS_H

#include "base/error.h"
#include "tensor/tensor.h"

/* How a part is initialised (the design's numbers; the handout's §3.4.1). */
typedef enum ParameterInit {
    INIT_LINEAR,         /* N(0, 2/(d_in + d_out)) truncated at ±3σ; shape (d_out, d_in) */
    INIT_EMBEDDING,      /* N(0, 1) truncated at ±3 */
    INIT_TIED_EMBEDDING, /* N(0, 1/d_model) truncated at ±3σ */
    INIT_SMALL,          /* N(0, 0.02²) truncated at ±3σ: position tables */
    INIT_ONES,
    INIT_ZEROS,
    INIT_GIVEN /* written by the scheme that declared it (frequencies) */
} ParameterInit;

/* One named part, as in files. */
typedef struct Parameter {
    char *name; /* "layers.0.attn.q_proj.weight" */
    int rank;
    int64_t shape[2];
    int64_t offset; /* in the flat buffers, in elements */
    ParameterInit init;
} Parameter;

typedef struct Parameters {
    Parameter *parts;
    int64_t part_count;
    Tensor **tensors; /* what operations use; tensors[i]->parameter == i */
    int64_t count;
    real *values; /* flat; NULL until parameters_allocate */
    int64_t size; /* elements of a flat buffer, padding between tensors included (always zero) */
} Parameters;

/* Declares a tensor made of `part_count` parts stacked along the first dimension (usually one). The
 * tensor's name is the common one; `rank` 1 or 2; a part's shape is (rows) or (rows, columns). */
typedef struct ParameterPart {
    const char *name; /* printf-made by the caller, copied */
    int64_t rows;
} ParameterPart;
Tensor *parameters_declare(Parameters *parameters, const char *name, int rank, int64_t columns,
                           ParameterInit init, const ParameterPart *parts, int part_count);
/* The usual case: one part of that name. columns is 0 for a vector. */
Tensor *parameters_declare_one(Parameters *parameters, const char *name, int64_t rows,
                               int64_t columns, ParameterInit init);

/* Number of trained values (without the padding). */
int64_t parameters_total(const Parameters *parameters);

/* Takes the memory (zeroed). False when the system has not that much. */
bool parameters_allocate(Parameters *parameters, Error *error);
/* Draws all parts from (seed, RANDOM_INIT); a part's number is its index. */
void parameters_initialize(Parameters *parameters, uint64_t seed);
void parameters_free(Parameters *parameters);

const Parameter *parameters_find(const Parameters *parameters, const char *name); /* or NULL */
int64_t parameter_size(const Parameter *part);

#endif
