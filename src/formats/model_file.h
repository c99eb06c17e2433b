/* A model in any of the formats this program reads and writes, and its tokenizer.
 *
 *   tinylm  a run directory: config.json, model.safetensors, tokenizer/ (or tokenizer.bin)
 *   hf      a directory with config.json (LlamaForCausalLM), model.safetensors or its shards,
 *           tokenizer.json
 *   gguf    one file, architecture "llama", tokenizer inside
 *   llama2c a legacy .bin of llama2.c, its tokenizer.bin beside it
 *
 * In memory all are a Model with our names and the RoPE layout its config names; Hugging Face's is
 * "half", the other three are "interleaved" or, tinylm, either. */
#ifndef TINYLM_FORMATS_MODEL_FILE_H
#define TINYLM_FORMATS_MODEL_FILE_H

#include "formats/model_format.h"

extern const ModelFormat *const model_formats[]; /* the four above, then NULL */

/* The format of this name, or NULL. */
const ModelFormat *model_format_find(const char *name);

/* Reads a model of any format, recognized by its path and first bytes: a directory, a
 * .safetensors file (config.json beside it or one folder up), a .gguf or a .bin file. `tokenizer`
 * (or NULL) is a path to use in place of the model's own: a tokenizer directory or tokenizer.json,
 * for .bin models a tokenizer.bin. Errors name the file and what is wrong; free with model_file_free
 * after success only. */
bool model_file_read(ModelFile *file, const char *path, const char *tokenizer, Error *error);
void model_file_free(ModelFile *file);

/* Writes the model in another format: a new directory (its name must be free, or an empty
 * directory), or a file that is replaced. Complete or not at all. `half` stores GGUF matrices as
 * F16. Adds warnings about what the format loses. Errors: what the format cannot hold. */
bool model_file_write(ModelFile *file, const ModelFormat *format, const char *path, bool half,
                      Error *error);

#endif
