/* The readers of the single file formats, on text in memory (so that the fuzzer can reach them).
 * `name` stands for the file in messages. All return NULL on error. */
#ifndef TINYLM_TOKENIZER_TOKENIZER_FILES_H
#define TINYLM_TOKENIZER_TOKENIZER_FILES_H

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "tokenizer/tokenizer.h"

typedef struct FileText {
    const char *name, *text; /* text is NULL for an optional file that is absent */
    size_t size;
} FileText;

/* GPT-2: vocab.json (an object of token: id, tokens in the byte alphabet), merges.txt (two tokens a
 * line, with or without a first line "#version…"), special_tokens.json (optional, an array of strings
 * that are special, literally). A token with characters outside the alphabet means its own text. */
Tokenizer *tokenizer_read_gpt2(FileText vocab, FileText merges, FileText specials, Error *error);

/* Hugging Face tokenizer.json, if it is a byte-level BPE with the GPT-2 pattern; anything that would
 * change the ids (another model, normalizer, pre-tokenizer, template, added tokens that strip blanks or
 * that two passes would find in another order, …) is refused by name. Its merges are applied one place
 * at a time. Settings for truncation and padding are left aside. */
Tokenizer *tokenizer_read_huggingface(FileText file, Error *error);

/* tiktoken: lines "base64 rank", of a tokenizer that splits text by GPT-2's pattern (gpt2, r50k, p50k);
 * others (cl100k, o200k), which have tokens that the pattern would cut, are refused. */
Tokenizer *tokenizer_read_tiktoken(FileText file, Error *error);

/* ---- shared by the readers ---- */

/* Adds the entries of an object of token: id. Tokens named in `specials` (special tokens' texts) are
 * taken literally, others are read in the byte alphabet. */
bool tokenizer_read_vocabulary(Tokenizer *tokenizer, FileText file, const cJSON *vocabulary,
                               const char *const *specials, int special_count, Error *error);
/* Adds the merge of two tokens in the byte alphabet; `number` (from 1) is for messages. */
bool tokenizer_read_merge(Tokenizer *tokenizer, FileText file, int64_t number, const char *left,
                          size_t left_length, const char *right, size_t right_length, Error *error);

#endif
