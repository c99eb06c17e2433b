/* The parts of ./tokenize and what they share. */
#ifndef TINYLM_COMMANDS_TOKENIZE_COMMANDS_H
#define TINYLM_COMMANDS_TOKENIZE_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "commands/options.h"
#include "tokenizer/encoder.h"
#include "tokenizer/tokenizer.h"

/* argv[0] is the name of the subcommand; the exit status is returned. */
int tokenize_train(int argc, char **argv);
int tokenize_encode(int argc, char **argv);
int tokenize_decode(int argc, char **argv);
int tokenize_split(int argc, char **argv);
int tokenize_show(int argc, char **argv);
int tokenize_merges(int argc, char **argv);
int tokenize_bytes(int argc, char **argv);
int tokenize_stats(int argc, char **argv);
int tokenize_compare(int argc, char **argv);

/* A subcommand at work: what most of them ask for on the command line, and the tokenizer. */
typedef struct Session {
    const char *directory; /* --tokenizer; NULL: none is loaded */
    OptionList specials;   /* --special */
    const char *input;     /* --input; NULL: standard input */
    int64_t threads;       /* --threads */
    Tokenizer *tokenizer;
    Error error; /* for what follows session_open */
} Session;

#define SESSION_TOKENIZER(session)                                                                 \
    OPTION_TEXT("--tokenizer", "DIR", &(session).directory,                                        \
                "needed: its folder, its tokenizer.json, or a tiktoken file"),                     \
        OPTION_LIST("--special", "TOKEN", &(session).specials, "one more special token")
#define SESSION_TEXT(session)                                                                      \
    OPTION_TEXT("--input", "FILE", &(session).input, "the text; default: standard input")

/* Reads the command line into a zeroed session and the other variables of the table (exits on --help
 * and on wrong usage), starts the threads, loads the tokenizer. When that fails, prints why and returns
 * false: the exit status is 1. */
bool session_open(Session *session, const Program *program, int argc, char **argv);
/* Frees it and returns the exit status; unless `done`, prints the session's error. */
int session_close(Session *session, const Program *program, bool done);

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
