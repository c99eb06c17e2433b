/* A byte-level BPE tokenizer: a vocabulary (ids and their bytes), the merges in order of rank, and
 * special tokens. This is the one header that the rest of the program needs for text → ids → text;
 * training is in bpe_trainer.h.
 *
 * A trained tokenizer numbers special tokens first (0…), then the bytes 0…255, then the merges. A
 * loaded one has whatever numbers its file gives: nothing else here depends on that order. */
#ifndef TINYLM_TOKENIZER_TOKENIZER_H
#define TINYLM_TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tokenizer/byte_map.h"
#include "tokenizer/special_tokens.h"

#define TOKEN_NONE UINT32_MAX

typedef struct Merge {
    uint32_t left, right, result; /* ids */
    uint32_t rank;                /* lower ranks are applied first */
} Merge;

/* Read freely; change only with the functions below. */
typedef struct Tokenizer {
    ByteMap names;            /* bytes of every token → its number among the names … */
    uint32_t *id_of_name;     /* … → its id */
    uint32_t *name_of_id;     /* TOKEN_NONE where the vocabulary skips an id */
    int64_t vocab_size;       /* highest id + 1 */
    uint32_t id_of_byte[256]; /* TOKEN_NONE for a byte that has no token */
    size_t longest_token;     /* bytes, special tokens aside */
    Merge *merges;            /* by rank */
    int64_t merge_count;
    ByteMap pairs; /* the ids (left, right) as 8 bytes → index of the merge */
    SpecialTokens specials;
    /* Merges are applied one place at a time, the leftmost of the lowest rank, as tiktoken, Hugging
     * Face's tokenizers and llama.cpp do; else all places of the lowest rank together. That differs
     * only where a merge makes a part of one of lower rank, which no trained list has. */
    bool one_place;
    /* How tiktoken reads its rank files: any two neighbours whose bytes together are a token may
     * merge, one place at a time, and a pre-token that is a token is taken whole. */
    bool rank_files;
    bool whole_tokens; /* only the last of these (Hugging Face's "ignore_merges") */
    /* Of id_of_name, merges and name_of_id. */
    uint32_t name_capacity, merge_capacity;
    int64_t id_capacity;
} Tokenizer;

/* ---- making one ---- */

/* Loads a tokenizer: a directory with vocab.json and merges.txt (GPT-2; special_tokens.json, a JSON
 * array of strings, is optional) or with tokenizer.json (Hugging Face, byte-level BPE), which counts
 * when there is no special_tokens.json; or a file: tokenizer.json, or tiktoken ranks (lines of
 * base64 and number). NULL on error. */
Tokenizer *tokenizer_load(const char *path, Error *error);
/* Writes vocab.json, merges.txt, special_tokens.json and tokenizer.json into the directory, which is
 * created. Every file appears whole or not at all. Loading and saving again gives the same bytes. */
bool tokenizer_save(const Tokenizer *tokenizer, const char *directory, Error *error);
void tokenizer_free(Tokenizer *tokenizer);
/* The tokenizer if `good`; else frees it and returns NULL. */
Tokenizer *tokenizer_keep_if(Tokenizer *tokenizer, bool good);

/* Building blocks. A token: an id not used yet, bytes that no other token has. */
Tokenizer *tokenizer_new(void);
bool tokenizer_add_token(Tokenizer *tokenizer, int64_t id, const uint8_t *bytes, size_t length,
                         Error *error);
/* The next merge in rank: two tokens whose bytes together are a token of the vocabulary. */
bool tokenizer_add_merge(Tokenizer *tokenizer, uint32_t left, uint32_t right, Error *error);
/* The same, but a result that is not in the vocabulary yet is added with the next id. */
bool tokenizer_learn_merge(Tokenizer *tokenizer, uint32_t left, uint32_t right, Error *error);
/* Reads the vocabulary as tiktoken reads its rank files (see rank_files above): the id of a token is the
 * rank of every merge that makes it. Replaces adding merges. */
void tokenizer_use_ranks(Tokenizer *tokenizer);
/* After the last merge of a list that is meant to be applied one place at a time: sets one_place if it
 * makes a difference. */
void tokenizer_use_one_place(Tokenizer *tokenizer);
/* Makes a text a special token: with its own id when the vocabulary has it, else with the next free
 * one. Again is fine. Errors: empty, not UTF-8. */
bool tokenizer_add_special(Tokenizer *tokenizer, const char *text, Error *error);

/* ---- asking it ---- */

int64_t tokenizer_vocab_size(const Tokenizer *tokenizer); /* highest id + 1 */
/* Bytes of a token, not NUL-terminated; NULL for an id that the vocabulary does not have. */
const uint8_t *tokenizer_token(const Tokenizer *tokenizer, uint32_t id, size_t *length);
/* Id of a token given by its bytes, or TOKEN_NONE. */
uint32_t tokenizer_find(const Tokenizer *tokenizer, const uint8_t *bytes, size_t length);
bool tokenizer_is_special(const Tokenizer *tokenizer, uint32_t id);
/* Id of a special token, or -1 when there is no such special token. */
int64_t tokenizer_special_id(const Tokenizer *tokenizer, const char *token);
/* A hash of everything that decides the ids: the key of cached encodings. The same after saving and
 * loading. */
uint64_t tokenizer_fingerprint(const Tokenizer *tokenizer);

/* The merge of two neighbours, or NULL. */
static inline const Merge *tokenizer_merge(const Tokenizer *tokenizer, uint32_t left,
                                           uint32_t right) {
    uint32_t pair[2] = {left, right};
    uint32_t index = byte_map_find(&tokenizer->pairs, (const uint8_t *)pair, sizeof pair);
    return index == BYTE_MAP_NONE ? NULL : &tokenizer->merges[index];
}

/* ---- text to ids and back (encoder.h and decoder.h have the streaming forms) ---- */

/* Ids of a text, in memory that the caller frees. Error: the text has a byte that the vocabulary has
 * no token for. */
bool tokenizer_encode(const Tokenizer *tokenizer, const uint8_t *text, size_t length,
                      uint32_t **ids, size_t *count, Error *error);

/* Bytes of a list of ids, in memory that the caller frees (a NUL follows them, not counted). Error:
 * an id that the vocabulary does not have. NULL on error. */
uint8_t *tokenizer_decode(const Tokenizer *tokenizer, const uint32_t *ids, size_t count,
                          size_t *length, Error *error);

#endif
