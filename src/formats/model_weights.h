/* The weights of a model in a file: one tensor per named part, under our names
 * (layers.0.attn.q_proj.weight and so on) or another format's. */
#ifndef TINYLM_FORMATS_MODEL_WEIGHTS_H
#define TINYLM_FORMATS_MODEL_WEIGHTS_H

#include "formats/stored_tensor.h"
#include "model/transformer.h"

/* ---- safetensors with our names ---- */

/* Fills all weights from the tensors of a file (F32, F64, F16 or BF16). The file must have exactly the
 * model's tensors, each in the model's shape; a checkpoint's moments (optimizer.…) are passed over.
 * Errors name the file and the tensor that is missing, not of this model, of another shape or type, and
 * what was expected; the weights are then as they were. */
bool model_weights_load(Model *model, const char *path, Error *error);

/* The same, but a learned position table may have another number of rows than the model's: it is
 * stretched by interpolation, both ends kept, or its first rows are taken. For starting a longer or
 * shorter model from this one. */
bool model_weights_load_fitted(Model *model, const char *path, Error *error);

/* Writes all weights in the type they have in memory, in the order of model->parameters.parts, with the
 * metadata "format": "pt" that Hugging Face's loaders ask for. The file depends on nothing but the
 * weights, and appears whole or not at all. */
bool model_weights_save(const Model *model, const char *path, Error *error);

/* ---- any list of tensors, any names ---- */

/* Adds a part of the model, whose values lie at values + part->offset, to a list of tensors. */
void model_weights_add(StoredTensors *list, const char *name, const Parameter *part,
                       const real *values);

/* What a format calls one of our tensors. */
enum { WEIGHT_NAME_SIZE = 128 };
typedef void WeightName(const char *ours, char theirs[WEIGHT_NAME_SIZE]);

typedef struct WeightSource {
    const StoredTensors *tensors;
    const char *path; /* for messages */
    WeightName *name; /* NULL: our names */
    const char *const
        *others; /* further tensors that may be there: parts of their names, then NULL */
    bool fit;    /* stretch position tables, as above */
} WeightSource;

/* model_weights_load from tensors that lie in memory. A model without memory (model_create, dry) gets
 * it once everything fits, so that a file's numbers alone allocate nothing. */
bool model_weights_take(Model *model, const WeightSource *source, Error *error);
/* model_weights_save of `values`, laid out as model->parameters.values. */
bool model_weights_write(const Model *model, const real *values, WeightName *name, const char *path,
                         Error *error);

#endif
