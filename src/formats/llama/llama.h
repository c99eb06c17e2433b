/* What Hugging Face's LlamaForCausalLM, GGUF's architecture "llama" and llama2.c have in common: one
 * architecture (pre-norm RMSNorm, RoPE, SwiGLU, no biases), tensors of the same shapes under other
 * names, and rows of the q and k matrices in one of two orders. */
#ifndef TINYLM_FORMATS_LLAMA_H
#define TINYLM_FORMATS_LLAMA_H

#include "base/error.h"
#include "formats/model_format.h"
#include "formats/model_weights.h"

/* Whether the formats can hold a model, see ModelFormat; an error that names `path` and the reason
 * otherwise. */
bool llama_check(const ModelFile *file, const char *path, bool half, Error *error);

/* The architecture without its numbers. */
ModelConfig llama_empty_config(PositionLayout layout);

/* The config as the other formats express it: static NTK scaling, which they lack, is plain RoPE with
 * theta · factor^(D/(D−2)). */
ModelConfig llama_stored_config(const ModelConfig *config);

/* The name of one of our tensors in another format: "layers.3.attn.q_proj.weight" to
 * "model.layers.3.self_attn.q_proj.weight" or "blk.3.attn_q.weight". */
void llama_huggingface_name(const char *ours, char theirs[WEIGHT_NAME_SIZE]);
void llama_gguf_name(const char *ours, char theirs[WEIGHT_NAME_SIZE]);

/* The model's tensors in the order of llama2.c's files, parameters.part_count of them; the caller frees
 * the list. The last one of a model that is not tied is the head. */
const Parameter **llama_file_order(const Model *model);

/* A copy of all weights (as model->parameters.values, for the caller to free), with the rows of the
 * q and k matrices in the given order. Row r of a head in half order is row 2r (r < D/2) or
 * 2(r − D/2) + 1 in interleaved order. */
real *llama_values(const Model *model, PositionLayout layout);

#endif
