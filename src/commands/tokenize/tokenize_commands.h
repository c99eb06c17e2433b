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

/* Loads a tokenizer and adds the special tokens of the command line. NULL on error. */
Tokenizer *tokenize_load(const char *path, const OptionList *specials, Error *error);

/* Encodes a file with all threads, or for "-" standard input as a stream. */
bool tokenize_input(const Tokenizer *tokenizer, const char *input, IdSink sink, void *context,
                    EncodeStats *stats, Error *error);

#endif
