/* The hyperparameters of a Llama model: one table says where each lies in ModelConfig and what Hugging
 * Face's config.json and GGUF call it, and drives reading and writing of both. llama2.c's header is the
 * first LLAMA_HEADER rows. */
#ifndef TINYLM_FORMATS_LLAMA_KEYS_H
#define TINYLM_FORMATS_LLAMA_KEYS_H

#include "base/keys.h"
#include "model/model_config.h"

typedef enum LlamaFormat { LLAMA_HUGGINGFACE, LLAMA_GGUF } LlamaFormat;

/* Which models have a key: every one, or those with a kind of RoPE scaling. */
#define LLAMA_EVERY         (1U << 31)
#define LLAMA_SCALING(type) (1U << (type))

/* A default is JSON, or NULL: the key must be given, or "(…)": the config keeps what it has. */
typedef struct LlamaKey {
    KeyKind kind;
    size_t offset;                       /* in ModelConfig */
    const char *allowed;                 /* the interval */
    unsigned models;                     /* LLAMA_EVERY or LLAMA_SCALING(…) | … */
    const char *names[2], *fallbacks[2]; /* by LlamaFormat; no name: this format does not have it */
} LlamaKey;

enum { LLAMA_HEADER = 7 };
extern const LlamaKey llama_keys[]; /* the last row allows nothing (NULL) */

/* Further keys that may be there, their names separated by blanks. */
typedef struct LlamaRule {
    /* the value they must have, as JSON ("0 or 1": either), since anything else is another computation;
     * NULL: they are read elsewhere, or do not change what the model computes */
    const char *must;
    const char *names;
} LlamaRule;

/* An object of a file, and its path for messages: "", "rope_scaling" or "llama". */
typedef struct LlamaObject {
    KeysReader *reader;
    LlamaFormat format;
    cJSON *node;
    const char *path;
} LlamaObject;

/* Whether a key is there and not null. */
bool llama_given(const LlamaObject *object, const char *key);
/* Reads one value; it stays as it is when the key is absent or null. */
void llama_read(const LlamaObject *object, Key key, void *value);
/* Reads all rows of the table that belong to one of `models`. */
void llama_read_keys(const LlamaObject *object, unsigned models, ModelConfig *config);
/* Refuses a key without the value it must have. Keys that are neither in the table for `models` nor in
 * `rules` (the last one has no names) are added to `unknown`, "a, b.c", which the caller frees. */
void llama_check_keys(const LlamaObject *object, unsigned models, const LlamaRule *rules,
                      char **unknown);
/* The size of a head under this name, where it is given, must be d_model / num_heads. */
bool llama_check_head(const LlamaObject *object, const char *name, const ModelConfig *config);

#endif
