/* A byte-level BPE tokenizer: a vocabulary (ids and their bytes), the merges in order of rank, and
 * special tokens. The rest of the program needs only this header for text → ids → text; training
 * is in bpe_trainer.h.
 *
 * A trained tokenizer numbers special tokens first (0…), then the bytes 0…255, then the merges. A
 * loaded one keeps the ids of its file: no other code depends on the order. */
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

/* Fields are public for reading; change them only through the functions below. */
typedef struct Tokenizer {
    ByteMap names;            /* bytes of every token → its index among the names … */
    uint32_t *id_of_name;     /* … → its id */
    uint32_t *name_of_id;     /* TOKEN_NONE where the vocabulary skips an id */
    int64_t vocab_size;       /* highest id + 1 */
    uint32_t id_of_byte[256]; /* TOKEN_NONE for a byte that has no token */
    size_t longest_token;     /* bytes; not counting special tokens */
    Merge *merges;            /* by rank */
    int64_t merge_count;
    ByteMap pairs; /* the ids (left, right) as 8 bytes → index of the merge */
    SpecialTokens specials;
    /* How text is split before merging; GPT-2's way if nothing else is set. */
    const Pretokenizer *pretokenizer;
    uint32_t
        begin; /* the special token put before every text (Llama 3's BOS); TOKEN_NONE: none is */
    /* Each step merges only the leftmost pair of the lowest rank, as tiktoken, Hugging Face's
     * tokenizers and llama.cpp do; otherwise all pairs of the lowest rank at once. The results differ
     * only if some merge makes a part of a merge of lower rank, which no trained list has. */
    bool one_place;
    /* tiktoken's semantics of rank files: any two neighbours whose joined bytes are a token may merge,
     * one pair at a time, and a pre-token that is a token is not split. */
    bool rank_files;
    bool whole_tokens; /* only the latter (Hugging Face's "ignore_merges") */
    bool
        fixed_length; /* the file sets truncation or padding, which are not applied: for a warning */
    /* Capacities of id_of_name, merges and name_of_id. */
    uint32_t name_capacity, merge_capacity;
    int64_t id_capacity;
} Tokenizer;

/* ---- construction ---- */

/* Loads a tokenizer: a directory with vocab.json and merges.txt (GPT-2; special_tokens.json, a JSON
 * array of strings, is optional) or with tokenizer.json (Hugging Face, byte-level BPE), which counts
 * when there is no special_tokens.json; or a file: tokenizer.json, or tiktoken ranks (lines of
 * base64 and number). NULL on error. */
Tokenizer *tokenizer_load(const char *path, Error *error);
/* Writes vocab.json, merges.txt, special_tokens.json and tokenizer.json into the directory, which is
 * created. Each file is replaced atomically. Loading and saving again gives the same bytes. */
bool tokenizer_save(const Tokenizer *tokenizer, const char *directory, Error *error);
void tokenizer_free(Tokenizer *tokenizer);
/* The tokenizer if `good`; else frees it and returns NULL. */
Tokenizer *tokenizer_keep_if(Tokenizer *tokenizer, bool good);

/* Building blocks. Adds a token; neither its id nor its bytes may be in use. */
Tokenizer *tokenizer_new(void);
bool tokenizer_add_token(Tokenizer *tokenizer, int64_t id, const uint8_t *bytes, size_t length,
                         Error *error);
/* Adds the merge of the next rank: two tokens whose joined bytes are a token of the vocabulary. */
bool tokenizer_add_merge(Tokenizer *tokenizer, uint32_t left, uint32_t right, Error *error);
/* The same, but adds the result to the vocabulary, with the next id, if it is not there yet. */
bool tokenizer_learn_merge(Tokenizer *tokenizer, uint32_t left, uint32_t right, Error *error);
/* Instead of adding merges: derives them from the vocabulary as tiktoken does (see rank_files): the id
 * of a token is the rank of every merge that makes it. */
void tokenizer_use_ranks(Tokenizer *tokenizer);
/* Call after adding the last merge of a list that is to be applied one pair at a time: sets one_place
 * if it makes a difference. */
void tokenizer_use_one_place(Tokenizer *tokenizer);
/* Makes a text a special token: with its own id if it is in the vocabulary, else with the next free
 * id. Adding it twice has no effect. Errors: empty, not UTF-8. */
bool tokenizer_add_special(Tokenizer *tokenizer, const char *text, Error *error);

/* ---- queries ---- */

/* The warning for a tokenizer whose file sets truncation or padding; follows "PATH: ". */
#define TOKENIZER_FIXED_LENGTH_WARNING                                                             \
    "its tokenizer sets truncation or padding, which are not applied: texts keep their length"

int64_t tokenizer_vocab_size(const Tokenizer *tokenizer); /* highest id + 1 */
/* Bytes of a token, not NUL-terminated; NULL for an id that is not in the vocabulary. */
const uint8_t *tokenizer_token(const Tokenizer *tokenizer, uint32_t id, size_t *length);
/* Id of a token given by its bytes, or TOKEN_NONE. */
uint32_t tokenizer_find(const Tokenizer *tokenizer, const uint8_t *bytes, size_t length);
bool tokenizer_is_special(const Tokenizer *tokenizer, uint32_t id);
/* Id of a special token, or -1 if there is none. */
int64_t tokenizer_special_id(const Tokenizer *tokenizer, const char *token);
/* A hash of everything that determines the ids: the key of cached encodings. Saving and loading do not
 * change it. */
uint64_t tokenizer_fingerprint(const Tokenizer *tokenizer);

/* The merge of two adjacent tokens, or NULL. */
static inline const Merge *tokenizer_merge(const Tokenizer *tokenizer, uint32_t left,
                                           uint32_t right) {
    uint32_t pair[2] = {left, right};
    uint32_t index = byte_map_find(&tokenizer->pairs, (const uint8_t *)pair, sizeof pair);
    return index == BYTE_MAP_NONE ? NULL : &tokenizer->merges[index];
}

/* ---- text to ids and back (encoder.h and decoder.h have the streaming forms) ---- */

/* Ids of a text, in memory that the caller frees. Error: the text contains a byte for which
 * the vocabulary has no token. */
bool tokenizer_encode(const Tokenizer *tokenizer, const uint8_t *text, size_t length,
                      uint32_t **ids, size_t *count, Error *error);

/* Bytes of a list of ids, in memory that the caller frees (followed by a NUL that is not counted).
 * Error: an id that is not in the vocabulary. NULL on error. */
uint8_t *tokenizer_decode(const Tokenizer *tokenizer, const uint32_t *ids, size_t count,
                          size_t *length, Error *error);

#endif
