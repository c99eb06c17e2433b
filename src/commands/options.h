/* Command lines, from a table that reads like the help text and makes it:
 *
 *     int main(int argc, char **argv) {
 *         const char *config = NULL;
 *         OptionList overrides = {0};
 *         bool resume = false;
 *         int64_t threads = 0;
 *         const Option options[] = {
 *             ARGUMENT("CONFIG", &config, "JSON file that describes the run"),
 *             OPTION_LIST("--set", "KEY=VALUE", &overrides, "change a value of the config"),
 *             OPTION_FLAG("--resume", &resume, "continue from the last checkpoint"),
 *             OPTION_THREADS(&threads),
 *             OPTIONS_END,
 *         };
 *         const Program program = {"train", "Trains a model.", "./train configs/tiny.json", options};
 *         options_read(&program, argc, argv);
 *
 * A variable keeps its initial value, the default, when its option is not given; --help prints it, or
 * what `.absent` says. Options may stand before and after arguments. `--name VALUE` and `--name=VALUE`
 * are the same; "--" ends the options; "-" is an argument (by custom: standard input). Of an option
 * given twice the last value counts; lists collect all. A value that begins with "--" is written
 * with "=". Only a value whose placeholder is TEXT may be empty. A table has at most 64 lines. Every
 * program also has --help (-h) and --version. Help is wrapped at 80 columns. Texts point into argv. */
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
    OPTION_KIND_FLAG,
    OPTION_KIND_TEXT,
    OPTION_KIND_WHOLE,
    OPTION_KIND_REAL,
    OPTION_KIND_CHOICE,
    OPTION_KIND_LIST,
} OptionKind;

typedef struct Option {
    OptionKind kind;
    const char *name;        /* "--seed"; of an argument its placeholder, "CONFIG" */
    const char *placeholder; /* of the value, "N"; the choices, "f32|f16" */
    union {
        bool *flag;
        const char **text;
        int64_t *whole;
        double *real;
        OptionList *list;
    } value;
    const char *help;
    bool needed;          /* an error when it is not given */
    const char *absent;   /* the default in words, where it is not the variable's value */
    int64_t low, high;    /* range of a whole number */
    const char *interval; /* range of a real number, as in base/text.h: "[0, inf)" */
} Option;

/* After the help, further fields may follow: OPTION_TEXT(…, "the tokenizer", .needed = true). */
#define OPTION_FLAG(name_, variable, ...)                                                          \
    { .kind = OPTION_KIND_FLAG, .name = name_, .value.flag = variable, .help = __VA_ARGS__ }
#define OPTION_TEXT(name_, placeholder_, variable, ...)                                            \
    {                                                                                              \
        .kind = OPTION_KIND_TEXT, .name = name_, .placeholder = placeholder_,                      \
        .value.text = variable, .help = __VA_ARGS__                                                \
    }
#define OPTION_WHOLE(name_, placeholder_, variable, low_, high_, ...)                              \
    {                                                                                              \
        .kind = OPTION_KIND_WHOLE, .name = name_, .placeholder = placeholder_,                     \
        .value.whole = variable, .low = low_, .high = high_, .help = __VA_ARGS__                   \
    }
#define OPTION_REAL(name_, placeholder_, variable, interval_, ...)                                 \
    {                                                                                              \
        .kind = OPTION_KIND_REAL, .name = name_, .placeholder = placeholder_,                      \
        .value.real = variable, .interval = interval_, .help = __VA_ARGS__                         \
    }
/* One of a few words: "f32|f16". */
#define OPTION_CHOICE(name_, choices_, variable, ...)                                              \
    {                                                                                              \
        .kind = OPTION_KIND_CHOICE, .name = name_, .placeholder = choices_,                        \
        .value.text = variable, .help = __VA_ARGS__                                                \
    }
/* May be given any number of times. */
#define OPTION_LIST(name_, placeholder_, variable, ...)                                            \
    {                                                                                              \
        .kind = OPTION_KIND_LIST, .name = name_, .placeholder = placeholder_,                      \
        .value.list = variable, .help = __VA_ARGS__                                                \
    }
#define OPTION_THREADS(variable)                                                                   \
    OPTION_WHOLE("--threads", "N", variable, 0, 1024, "number of threads",                         \
                 .absent = "0, one for each core")
#define ARGUMENT(name_, variable, ...)                                                             \
    {                                                                                              \
        .kind = OPTION_KIND_TEXT, .name = name_, .value.text = variable, .needed = true,           \
        .help = __VA_ARGS__                                                                        \
    }
#define ARGUMENT_OPTIONAL(name_, variable, ...)                                                    \
    { .kind = OPTION_KIND_TEXT, .name = name_, .value.text = variable, .help = __VA_ARGS__ }
/* All further arguments: the last one of a table. */
#define ARGUMENT_LIST(name_, variable, ...)                                                        \
    { .kind = OPTION_KIND_LIST, .name = name_, .value.list = variable, .help = __VA_ARGS__ }
#define OPTIONS_END                                                                                \
    { .name = NULL }

typedef struct Program {
    const char *name;    /* "train", or "inspect rope" for a part of a program */
    const char *summary; /* what it does, in a sentence or two */
    const char *example; /* command lines that work, one a line, or NULL */
    const Option *options;
} Program;

/* Reads the command line into the variables of the table, and makes sure that no file gets the number
 * of a standard stream that is closed. Prints the help or the version and exits with 0 when asked for;
 * on wrong usage prints one line to stderr ("train: unknown option --reusme; did you mean
 * --resume? …") and exits with 2. argv[0] is skipped. */
void options_read(const Program *program, int argc, char **argv);

/* The same without exiting: -1 to continue, 0 when help or version were printed to `output`, 2 with an
 * error on wrong usage. */
int options_parse(const Program *program, int argc, char **argv, FILE *output, Error *error);

void option_list_free(OptionList *list);

/* A program made of several, such as `./inspect rope CONFIG`. */
typedef struct Subcommand {
    const char *name, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is its name; returns the exit status */
} Subcommand;

/* Runs the subcommand that argv[1] names, or prints help, version or what is wrong. Returns the exit
 * status. The table ends with a NULL name. */
int options_run_subcommand(const char *program, const char *summary, const Subcommand *table,
                           int argc, char **argv);

/* Prints "PROGRAM: message" to stderr and returns 1, the exit status of a failure. */
int program_failed(const char *program, const Error *error);

/* Wrong usage that the table cannot express: prints "PROGRAM: message (see ./PROGRAM --help)",
 * returns 2. */
int program_misused(const char *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The end of a program that printed to stdout: flushes it and returns 0, or says that the output
 * could not be written (a full disk) and returns 1. */
int program_done(const char *program);

#endif
