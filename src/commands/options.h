/* Command lines, from a table that reads like the help text and makes it:
 *
 *     int main(int argc, char **argv) {
 *         const char *config = NULL;
 *         OptionList overrides = {0};
 *         bool resume = false;
 *         int64_t threads = 0;
 *         const Option options[] = {
 *             ARGUMENT("CONFIG", &config, "the JSON file that describes the run"),
 *             OPTION_LIST("--set", "KEY=VALUE", &overrides, "change a value of the config"),
 *             OPTION_FLAG("--resume", &resume, "go on from the last checkpoint"),
 *             OPTION_THREADS(&threads),
 *             OPTIONS_END,
 *         };
 *         const Program program = {"train", "Trains a model.", "./train configs/tiny.json", options};
 *         options_read(&program, argc, argv);
 *
 * A variable keeps its first value, the default, when its option is not given; --help shows it.
 * Options may stand before and after arguments. `--name VALUE` and `--name=VALUE` are the same; "--"
 * ends the options; "-" is an argument (by custom: standard input). Given twice, the last one
 * counts, but for lists. A value that itself begins with "--" is written with "=". A value may be
 * empty only where the help calls it TEXT. An option whose help begins with "needed: " must be given.
 * A table has at most 64 lines. Every program also has --help and --version. Texts point into argv. */
#ifndef TINYLM_COMMANDS_OPTIONS_H
#define TINYLM_COMMANDS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#define TINYLM_VERSION "1.0"

typedef struct OptionList {
    const char **items; /* free with option_list_free */
    int count;
} OptionList;

typedef enum OptionKind {
    OPTION_KIND_END,
    OPTION_KIND_FLAG,
    OPTION_KIND_TEXT,
    OPTION_KIND_WHOLE,
    OPTION_KIND_REAL,
    OPTION_KIND_CHOICE,
    OPTION_KIND_LIST,
    OPTION_KIND_ARGUMENT,
    OPTION_KIND_ARGUMENT_LIST,
} OptionKind;

typedef struct Option {
    OptionKind kind;
    const char *name;        /* "--seed"; for an argument what the help calls it, "CONFIG" */
    const char *placeholder; /* what the help calls the value, "N" */
    union {
        bool *flag;
        const char **text;
        int64_t *whole;
        double *real;
        OptionList *list;
    } value;
    const char *help;
    int64_t low, high;    /* range of a whole number */
    const char *interval; /* range of a real number, as in base/text.h: "[0, inf)" */
    const char *choices;  /* "huggingface|gguf" */
    bool optional;        /* an argument that may be left out */
} Option;

#define OPTION_FLAG(name_, variable, help_)                                                        \
    { .kind = OPTION_KIND_FLAG, .name = name_, .value.flag = variable, .help = help_ }
#define OPTION_TEXT(name_, placeholder_, variable, help_)                                          \
    {                                                                                              \
        .kind = OPTION_KIND_TEXT, .name = name_, .placeholder = placeholder_,                      \
        .value.text = variable, .help = help_                                                      \
    }
#define OPTION_WHOLE(name_, placeholder_, variable, low_, high_, help_)                            \
    {                                                                                              \
        .kind = OPTION_KIND_WHOLE, .name = name_, .placeholder = placeholder_,                     \
        .value.whole = variable, .low = low_, .high = high_, .help = help_                         \
    }
#define OPTION_REAL(name_, placeholder_, variable, interval_, help_)                               \
    {                                                                                              \
        .kind = OPTION_KIND_REAL, .name = name_, .placeholder = placeholder_,                      \
        .value.real = variable, .interval = interval_, .help = help_                               \
    }
/* A text that is one of a few. */
#define OPTION_CHOICE(name_, choices_, variable, help_)                                            \
    {                                                                                              \
        .kind = OPTION_KIND_CHOICE, .name = name_, .placeholder = choices_, .choices = choices_,   \
        .value.text = variable, .help = help_                                                      \
    }
#define OPTION_THREADS(variable)                                                                   \
    OPTION_WHOLE("--threads", "N", variable, 0, 1024,                                              \
                 "threads (default: 0, as many as there are cores)")
/* May be given any number of times. */
#define OPTION_LIST(name_, placeholder_, variable, help_)                                          \
    {                                                                                              \
        .kind = OPTION_KIND_LIST, .name = name_, .placeholder = placeholder_,                      \
        .value.list = variable, .help = help_                                                      \
    }
#define ARGUMENT(name_, variable, help_)                                                           \
    { .kind = OPTION_KIND_ARGUMENT, .name = name_, .value.text = variable, .help = help_ }
#define ARGUMENT_OPTIONAL(name_, variable, help_)                                                  \
    {                                                                                              \
        .kind = OPTION_KIND_ARGUMENT, .name = name_, .value.text = variable, .help = help_,        \
        .optional = true                                                                           \
    }
/* All further arguments; the last ARGUMENT of a table. At least one unless optional. */
#define ARGUMENT_LIST(name_, variable, help_, optional_)                                           \
    {                                                                                              \
        .kind = OPTION_KIND_ARGUMENT_LIST, .name = name_, .value.list = variable, .help = help_,   \
        .optional = optional_                                                                      \
    }
#define OPTIONS_END                                                                                \
    { .kind = OPTION_KIND_END }

typedef struct Program {
    const char *name;    /* "train", or "inspect rope" for a part of a program */
    const char *summary; /* what it does, in a sentence or a few lines */
    const char *example; /* command lines that work, one a line */
    const Option *options;
} Program;

/* Reads the command line into the variables of the table, and sees to it that no file gets the number
 * of a standard stream that is closed. Prints the help or the version and exits
 * with 0 when asked for; on wrong usage prints one line to stderr ("train: unknown option --reusme;
 * did you mean --resume? …") and exits with 2. argv[0] is skipped. */
void options_read(const Program *program, int argc, char **argv);

/* The same without exiting: -1 to go on, else the exit status. */
int options_parse(const Program *program, int argc, char **argv, FILE *output, FILE *errors);

void option_list_free(OptionList *list);

/* Programs that are several: `./inspect rope CONFIG`. */
typedef struct Subcommand {
    const char *name, *summary;
    int (*run)(int argc,
               char **argv); /* argv[0] is the subcommand's name; returns the exit status */
} Subcommand;

/* Runs the subcommand that argv[1] names, or prints help, version or what is wrong. Returns the exit
 * status. The table ends with a NULL name. */
int options_run_subcommand(const char *program, const char *summary, const Subcommand *table,
                           int argc, char **argv);

/* Prints "PROGRAM: message" to stderr and returns 1, the exit status of a failure. */
int program_failed(const char *program, const Error *error);

/* Wrong usage that the table cannot see: prints "PROGRAM: message (PROGRAM --help …)", returns 2. */
int program_misused(const char *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The end of a program that printed to stdout: flushes it and returns 0, or says that the output
 * could not be written (a full disk) and returns 1. */
int program_done(const char *program);

#endif
