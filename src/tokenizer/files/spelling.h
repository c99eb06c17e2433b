/* How files spell tokens and merges: in the byte alphabet, special tokens as they are. */
#ifndef TINYLM_TOKENIZER_FILES_SPELLING_H
#define TINYLM_TOKENIZER_FILES_SPELLING_H

#include "base/json.h"
#include "tokenizer/tokenizer_kind.h"

/* ---- reading ---- */

/* Adds the entries of an object of token: id. Tokens in `specials`, an array of texts or of objects
 * with "content", are taken literally; others are read in the byte alphabet. */
bool spelling_read_vocabulary(Tokenizer *tokenizer, const FileText *file, const cJSON *vocabulary,
                              const cJSON *specials, Error *error);
/* Adds the merge "left right". The error says which merge it is. */
bool spelling_read_merge(Tokenizer *tokenizer, const char *text, size_t length, Error *error);

/* Cuts the next line off the text: its start, and its length without line end. False at the end. */
bool spelling_next_line(FileText *rest, const char **line, size_t *length);

/* ---- writing ---- */

struct Spelling {
    const Tokenizer *tokenizer;
    char **names;  /* by id: the token's spelling; NULL for an unused id */
    Merge *merges; /* the tokenizer's, or derived from its ranks */
    int64_t merge_count;
};

/* Spells a tokenizer. Errors: it cannot be written as a list of merges, two tokens are spelt alike, or
 * a special token that takes part in a merge is not spelt as merges spell it. Free it either way. */
bool spelling_make(Spelling *spelling, const Tokenizer *tokenizer, const char *directory,
                   Error *error);
void spelling_free(Spelling *spelling);

/* The vocabulary as an object of token: id. */
cJSON *spelling_vocabulary(const Spelling *spelling);

#endif
