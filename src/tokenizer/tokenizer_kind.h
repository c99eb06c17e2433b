/* The kinds of tokenizer file. Each is one value in one table (tokenizer_files.c), which
 * tokenizer_load and tokenizer_save (tokenizer.h) iterate over; another kind is one more file in files/
 * and one more entry in the table. */
#ifndef TINYLM_TOKENIZER_TOKENIZER_KIND_H
#define TINYLM_TOKENIZER_TOKENIZER_KIND_H

#include "tokenizer/tokenizer.h"

typedef struct FileText {
    const char *name, *text; /* path, for messages; a NUL follows the text, which is NULL for an
                                optional file that is absent */
    size_t size;
} FileText;

typedef struct Spelling Spelling; /* a tokenizer as files spell it: files/spelling.h */

typedef struct TokenizerMember {
    const char *name;                 /* in the folder; NULL ends the list */
    bool marks;                       /* a folder that has all such members is of this kind */
    bool optional;                    /* may be absent */
    char *(*write)(const Spelling *); /* its text, to be freed; NULL: only read */
} TokenizerMember;

typedef struct TokenizerKind {
    const char *name;
    TokenizerMember members[4];       /* the files of a folder of this kind */
    bool (*detect)(const char *text); /* whether a single file is of this kind; NULL: none is */
    Tokenizer *(*read)(const FileText *files, Error *error); /* in the order of members, or the
                                                                single file; NULL on error */
} TokenizerKind;

/* The readers work on text in memory, so that the fuzzer can reach them. */

/* GPT-2: files[0] vocab.json (an object of token: id, tokens in the byte alphabet), files[1] merges.txt
 * (two tokens a line, with or without a first line "#version…"), files[2] special_tokens.json (optional,
 * an array of strings that are special, literally). A token with characters outside the alphabet stands
 * for its own text. */
Tokenizer *tokenizer_read_gpt2(const FileText *files, Error *error);

/* Hugging Face tokenizer.json, if it is a byte-level BPE with a split of pretokenizer.h; anything that would
 * change the ids (another model, normalizer, pre-tokenizer, template, added tokens that strip blanks or
 * that two passes would find in another order, …) is refused by name. Its merges are applied one place
 * at a time. Truncation and padding are not applied: see fixed_length. */
Tokenizer *tokenizer_read_huggingface(const FileText *file, Error *error);

/* tiktoken: lines "base64 rank". The file does not tell how text is split; its name does, if it begins with
 * cl100k, o200k or llama3. Any other is taken for GPT-2's (gpt2, r50k, p50k), and refused if it has tokens
 * that GPT-2's pattern would cut. */
Tokenizer *tokenizer_read_tiktoken(const FileText *file, Error *error);

/* The members that are written. */
char *tokenizer_vocab_text(const Spelling *spelling);          /* vocab.json */
char *tokenizer_merges_text(const Spelling *spelling);         /* merges.txt */
char *tokenizer_special_tokens_text(const Spelling *spelling); /* special_tokens.json */
char *tokenizer_huggingface_text(const Spelling *spelling);    /* tokenizer.json */

#endif
