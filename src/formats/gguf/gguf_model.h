/* What the reader and the writer of GGUF models share, and the tokenizer inside such a file. */
#ifndef TINYLM_FORMATS_GGUF_MODEL_H
#define TINYLM_FORMATS_GGUF_MODEL_H

#include "formats/gguf/gguf.h"
#include "formats/model_format.h"

/* Reads the config. Every key of llama.cpp is honoured, or refused by name where its value changes
 * the computation, or ignored because it does not; unknown ones bring a warning. */
bool gguf_config_read(ModelFile *file, const Gguf *gguf, ModelConfig *config, const char *path,
                      Error *error);
/* Adds the config's keys. */
void gguf_config_write(GgufWriter *writer, const ModelConfig *config);

/* Reads "gpt2" (with a split of pretokenizer.h, at most BOS added to a text) and "llama" vocabularies (ids as
 * in Llama 2, <s> and a blank before a text); with any other kind the model gets no tokenizer, and a
 * warning is added. Errors: lists of wrong type or length, tokens or merges that are damaged. */
bool gguf_tokenizer_read(ModelFile *file, const Gguf *gguf, const char *path, Error *error);
/* Whether GGUF has a name for the tokenizer's split; an error if not. */
bool gguf_tokenizer_check(const ModelFile *file, const char *path, Error *error);
/* Adds the tokenizer's keys, padded to the model's vocabulary. */
void gguf_tokenizer_write(const ModelFile *file, GgufWriter *writer);

#endif
