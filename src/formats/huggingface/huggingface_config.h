/* The config.json of a Hugging Face directory, and how such a directory is written. */
#ifndef TINYLM_FORMATS_HUGGINGFACE_CONFIG_H
#define TINYLM_FORMATS_HUGGINGFACE_CONFIG_H

#include "base/json.h"
#include "formats/model_format.h"

/* What transformers calls the kinds of RoPE scaling, by RopeScalingType; NULL: it has no such kind. */
extern const char *const huggingface_rope_types[ROPE_SCALING_LLAMA3 + 1];

/* Reads the config of a LlamaForCausalLM as transformers 5 does: absent keys have its defaults, and of
 * rope_scaling and rope_parameters the first that is not empty counts. Each key is honoured, or
 * refused by name unless it has the one value that our computation has, or ignored because it does
 * not change the computation; `path` stands for the file. Warns of what transformers ignores. */
bool huggingface_config_read(ModelFile *file, cJSON *json, const char *path, ModelConfig *config,
                             Error *error);

/* Writes the files of a LlamaForCausalLM: see ModelFormat. */
bool huggingface_write(ModelFile *file, const char *directory, bool half, Error *error);

#endif
