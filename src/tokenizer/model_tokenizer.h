/* The tokenizer that comes with a model, whichever of the two kinds it is: byte-level BPE (ours,
 * Hugging Face, GGUF "gpt2") or the scored pieces of llama2.c (also GGUF "llama"). */
#ifndef TINYLM_TOKENIZER_MODEL_TOKENIZER_H
#define TINYLM_TOKENIZER_MODEL_TOKENIZER_H

#include "tokenizer/llama2c_tokenizer.h"
#include "tokenizer/tokenizer.h"

enum { MODEL_MOST_ENDS = 32 };

/* At most one of the two; none if a model has no tokenizer and takes only ids. */
typedef struct ModelTokenizer {
    Tokenizer *bpe;
    Llama2cTokenizer *pieces;
    int64_t start;                 /* of `bpe`: the id that begins a text, -1 for none */
    int64_t ends[MODEL_MOST_ENDS]; /* a text ends with any of these; the first is the usual one */
    int end_count;
} ModelTokenizer;

/* Takes ownership of a BPE tokenizer. Its texts begin and end with the special token `separator`; if
 * that is NULL or not in the vocabulary, with <|endoftext|>, or else with the special token of the lowest id
 * (in our tokenizers the one listed first). */
void model_tokenizer_take(ModelTokenizer *tokenizer, Tokenizer *bpe, const char *separator);
/* What a model file specifies. A start is ignored unless the id is a special token; ends are valid even
 * without a tokenizer. -1 among the ends means none; if all are -1, the ends stay unchanged. */
void model_tokenizer_set_start(ModelTokenizer *tokenizer, int64_t id);
void model_tokenizer_set_ends(ModelTokenizer *tokenizer, const int64_t *ids, int count);

void model_tokenizer_free(ModelTokenizer *tokenizer);
bool model_tokenizer_present(const ModelTokenizer *tokenizer);

/* The number of ids. Rows of the model's output from here on are padding and must never be sampled. */
int64_t model_tokenizer_size(const ModelTokenizer *tokenizer);

/* Ids of a prompt, for the caller to free. Pieces begin with <s>, also for an empty text; BPE adds
 * nothing. Errors: no tokenizer, a byte that the vocabulary cannot express. */
bool model_tokenizer_encode(const ModelTokenizer *tokenizer, const uint8_t *text, size_t length,
                            uint32_t **ids, size_t *count, Error *error);

/* The bytes that `id` adds to a text when it follows `previous` (TOKEN_NONE at the start), which may
 * end inside a character. NULL for an id that does not exist. Special tokens of BPE give their
 * text, those of pieces nothing. */
const uint8_t *model_tokenizer_bytes(const ModelTokenizer *tokenizer, uint32_t previous,
                                     uint32_t id, size_t *length);

/* The id that begins a text without prompt (<|endoftext|>, <s>) and the usual one that ends a text
 * (<|endoftext|>, </s>); -1 if there is none. */
int64_t model_tokenizer_start(const ModelTokenizer *tokenizer);
int64_t model_tokenizer_end(const ModelTokenizer *tokenizer);
/* Whether a text ends with this id: one of the ends, and for pieces <s> and </s>. */
bool model_tokenizer_ends(const ModelTokenizer *tokenizer, uint32_t id);

#endif
