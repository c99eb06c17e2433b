/* The parts of ./tokenize and what they share. */
#ifndef TINYLM_COMMANDS_TOKENIZE_TOKENIZE_H
#define TINYLM_COMMANDS_TOKENIZE_TOKENIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "commands/options.h"
#include "tokenizer/encoder.h"
#include "tokenizer/tokenizer.h"

/* The part at work: its command line, and the tokenizer. */
typedef struct Session {
    const char *directory;       /* --tokenizer; NULL: no tokenizer is loaded */
    const char *input, *output;  /* --input (NULL: standard input), --output */
    const char *text;            /* TEXT or WORD */
    OptionList specials, inputs; /* --special, --input where there can be several */
    OptionList directories;      /* DIR */
    int64_t vocab_size, threads;
    bool raw;
    Tokenizer *tokenizer;
    Error error;
} Session;

/* The parts. False on failure, with session->error set. */
bool tokenize_train(Session *session);
bool tokenize_encode(Session *session);
bool tokenize_decode(Session *session);
bool tokenize_split(Session *session);
bool tokenize_show(Session *session);
bool tokenize_merges(Session *session);
bool tokenize_bytes(Session *session);
bool tokenize_stats(Session *session);
bool tokenize_compare(Session *session);

/* Loads a tokenizer and adds the special tokens. NULL on error. */
Tokenizer *tokenize_load(const char *path, const OptionList *specials, Error *error);

/* Encodes a file with all threads, or for NULL or "-" standard input as a stream. */
bool tokenize_input(const Tokenizer *tokenizer, const char *input, IdSink sink, void *context,
                    EncodeStats *stats, Error *error);

/* Prints a token in quotes. */
void tokenize_print_token(const Tokenizer *tokenizer, uint32_t id);
/* The longest token that is not special (with counts[id] > 0 unless NULL), or TOKEN_NONE. */
uint32_t tokenize_longest(const Tokenizer *tokenizer, const uint64_t *counts);

#endif
