/* The weights of a model as a safetensors file: one tensor per named part
 * (layers.0.attn.q_proj.weight and so on), in the order of model->parameters.parts, and nothing
 * else. */
#ifndef TINYLM_FORMATS_MODEL_WEIGHTS_H
#define TINYLM_FORMATS_MODEL_WEIGHTS_H

#include "model/transformer.h"

/* Fills all weights from the tensors of a file (F32, F64, F16 or BF16). The file must have exactly
 * the model's tensors, each in the model's shape; a checkpoint's moments (optimizer.…) are passed
 * over. Errors name the file and the tensor that is missing, not of this model, of another shape or
 * type, and what was expected; the weights may then be partly overwritten. */
bool model_weights_load(Model *model, const char *path, Error *error);

/* The same, but a learned position table may have another number of rows than the model's: it is
 * stretched by interpolation, both ends kept, or its first rows are taken. For starting a longer or
 * shorter model from this one. */
bool model_weights_load_fitted(Model *model, const char *path, Error *error);

/* Writes all weights in the type they have in memory, with the metadata "format": "pt" that Hugging
 * Face's loaders ask for. The file depends on nothing but the weights, and appears whole or not at
 * all. */
bool model_weights_save(const Model *model, const char *path, Error *error);

#endif
