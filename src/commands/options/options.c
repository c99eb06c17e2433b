#include "commands/options.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* ---- messages ---- */

int program_failed(const char *program, const Error *error) {
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", program, error->message);
    return 1;
}

/* "PROGRAM: message (where to read on)" as one line; returns 2, the exit status of wrong usage. */
static int usage_error(FILE *stream, const char *program, const char *format, va_list arguments) {
    char message[1024];
    vsnprintf(message, sizeof message, format, arguments);
    Error line; /* control characters that the message quotes become '?' */
    error_set(&line, "%s: %s (./%s --help lists what there is)", program, message, program);
    fprintf(stream, "%s\n", line.message);
    return 2;
}

int program_misused(const char *program, const char *format, ...) {
    fflush(stdout);
    va_list arguments;
    va_start(arguments, format);
    int status = usage_error(stderr, program, format, arguments);
    va_end(arguments);
    return status;
}

int program_done(const char *program) {
    Error error;
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    error_set(&error, "the output could not be written: %s", strerror(errno));
    return program_failed(program, &error);
}

/* ---- help ---- */

static bool is_argument(const Option *option) {
    return option->kind == OPTION_KIND_ARGUMENT || option->kind == OPTION_KIND_ARGUMENT_LIST;
}

/* "--seed N", "--set KEY=VALUE", "CONFIG"; to be freed. */
static char *option_title(const Option *option) {
    if (option->placeholder) return string_format("%s %s", option->name, option->placeholder);
    return string_copy(option->name);
}

/* Whether the help says that the option must be given. */
static bool is_needed(const Option *option) {
    return strncmp(option->help, "needed: ", strlen("needed: ")) == 0;
}

/* The value the variable has before parsing, where there is one to show; to be freed. */
static char *default_text(const Option *option) {
    char digits[32];
    /* a help that speaks of the default says more than a number can */
    if (is_needed(option) || strstr(option->help, "default")) return NULL;
    switch (option->kind) {
    case OPTION_KIND_WHOLE:
        return string_format(" (default: %" PRId64 ")", *option->value.whole);
    case OPTION_KIND_REAL:
        real_to_text(*option->value.real, digits);
        return string_format(" (default: %s)", digits);
    case OPTION_KIND_TEXT:
    case OPTION_KIND_CHOICE:
        return *option->value.text ? string_format(" (default: %s)", *option->value.text) : NULL;
    case OPTION_KIND_LIST:
        return strstr(option->help, "repeatable") ? NULL : string_copy(" (repeatable)");
    default:
        return NULL;
    }
}

static void print_entry(FILE *output, const char *title, const char *help, const char *extra) {
    enum { COLUMN = 26 };
    if (strlen(title) > COLUMN - 2)
        fprintf(output, "  %s\n  %*s", title, COLUMN, "");
    else
        fprintf(output, "  %-*s", COLUMN, title);
    for (; *help; help++) {
        fputc(*help, output);
        if (*help == '\n') fprintf(output, "  %*s", COLUMN, "");
    }
    fprintf(output, "%s\n", extra ? extra : "");
}

static void print_usage(const Program *program, FILE *output) {
    bool any_option = false;
    fprintf(output, "Usage: ./%s", program->name);
    for (const Option *option = program->options; option->kind != OPTION_KIND_END; option++) {
        any_option = any_option || !is_argument(option);
        if (!is_argument(option)) continue;
        const char *dots = option->kind == OPTION_KIND_ARGUMENT_LIST ? "…" : "";
        fprintf(output, " %s%s%s%s", option->optional ? "[" : "", option->name, dots,
                option->optional ? "]" : "");
    }
    fprintf(output, "%s\n\n%s\n\n", any_option ? " [options]" : "", program->summary);
}

static void print_help(const Program *program, FILE *output) {
    print_usage(program, output);
    for (const Option *option = program->options; option->kind != OPTION_KIND_END; option++) {
        char *title = option_title(option), *extra = default_text(option);
        print_entry(output, title, option->help, extra);
        free(title);
        free(extra);
    }
    print_entry(output, "--help", "print this and exit", NULL);
    print_entry(output, "--version", "print the version and exit", NULL);
    if (!program->example) return;
    fprintf(output, "\nExample:\n  ");
    for (const char *c = program->example; *c; c++) {
        fputc(*c, output);
        if (*c == '\n') fprintf(output, "  ");
    }
    fputc('\n', output);
}

static void print_version(const char *program, FILE *output) {
    fprintf(output, "%s (tinylm) %s\n", program, TINYLM_VERSION);
}

/* ---- values ---- */

static void list_add(OptionList *list, const char *text) {
    list->items = reallocate(list->items, (unsigned long long)list->count + 1, sizeof *list->items);
    list->items[list->count++] = text;
}

void option_list_free(OptionList *list) {
    free(list->items);
    *list = (OptionList){0};
}

/* Whether `text` is one of "a|b|c". */
static bool is_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (const char *at = choices; *at;) {
        size_t size = strcspn(at, "|");
        if (size == length && memcmp(at, text, size) == 0) return true;
        at += size + (at[size] == '|');
    }
    return false;
}

/* An empty text is a text; as anything else it comes from a variable of the shell that is not set. */
static bool may_be_empty(const Option *option) {
    return strcmp(option->placeholder ? option->placeholder : option->name, "TEXT") == 0;
}

/* Stores a value. False with what it must be, to be freed, when it is not right. */
static bool store_value(const Option *option, const char *text, char **allowed) {
    *allowed = NULL;
    int64_t whole;
    double real;
    switch (option->kind) {
    case OPTION_KIND_WHOLE:
        if (text_to_whole(text, &whole) && whole >= option->low && whole <= option->high) {
            *option->value.whole = whole;
            return true;
        }
        if (option->high == INT64_MAX)
            *allowed = string_format("a whole number from %" PRId64, option->low);
        else
            *allowed = string_format("a whole number from %" PRId64 " to %" PRId64, option->low,
                                     option->high);
        return false;
    case OPTION_KIND_REAL:
        if (text_to_real(text, &real) && interval_contains(option->interval, real)) {
            *option->value.real = real;
            return true;
        }
        *allowed = string_format("a number in %s", option->interval);
        return false;
    case OPTION_KIND_CHOICE:
        if (!is_choice(option->choices, text)) {
            *allowed = string_format("one of %s", option->choices);
            return false;
        }
        *option->value.text = text;
        return true;
    default:
        if (!*text && !may_be_empty(option)) {
            *allowed = string_copy("a text that is not empty");
            return false;
        }
        if (option->kind == OPTION_KIND_LIST || option->kind == OPTION_KIND_ARGUMENT_LIST)
            list_add(option->value.list, text);
        else
            *option->value.text = text;
        return true;
    }
}

/* ---- parsing ---- */

enum { MOST_OPTIONS = 64 };

typedef struct Parser {
    const Program *program;
    int argc, at;
    char **argv;
    const Option *argument; /* the next argument to fill */
    FILE *errors;
    bool given[MOST_OPTIONS]; /* which options of the table were there */
} Parser;

static int parse_error(const Parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int parse_error(const Parser *parser, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int status = usage_error(parser->errors, parser->program->name, format, arguments);
    va_end(arguments);
    return status;
}

static int unknown_option(const Parser *parser, const char *name) {
    const char *names[MOST_OPTIONS + 2] = {"--help", "--version"};
    int count = 2;
    for (const Option *o = parser->program->options; o->kind != OPTION_KIND_END; o++)
        if (!is_argument(o)) names[count++] = o->name;
    const char *nearest = nearest_name(name, names, count);
    return nearest ? parse_error(parser, "unknown option %.100s; did you mean %s?", name, nearest)
                   : parse_error(parser, "unknown option %.100s", name);
}

static int parse_value(Parser *parser, const Option *option, const char *text) {
    char *allowed;
    if (store_value(option, text, &allowed)) return -1;
    int status =
        parse_error(parser, "%s is \"%.200s\"; it must be %.500s", option->name, text, allowed);
    free(allowed);
    return status;
}

/* One option with its value. */
static int parse_option(Parser *parser, const char *text) {
    size_t length = strcspn(text, "=");
    const char *value = text[length] ? text + length + 1 : NULL;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(length < 127 ? length : 127), text);
    const Option *option = parser->program->options;
    while (option->kind != OPTION_KIND_END &&
           (is_argument(option) || strcmp(option->name, name) != 0))
        option++;
    if (option->kind == OPTION_KIND_END) return unknown_option(parser, name);
    parser->given[option - parser->program->options] = true;
    if (option->kind == OPTION_KIND_FLAG) {
        if (value) return parse_error(parser, "%s takes no value", name);
        *option->value.flag = true;
        return -1;
    }
    if (!value) {
        if (parser->at + 1 >= parser->argc)
            return parse_error(parser, "%s needs a value: %s %s", name, name, option->placeholder);
        value = parser->argv[++parser->at];
        if (strncmp(value, "--", 2) == 0)
            return parse_error(parser,
                               "%s needs a value; if it is to be \"%.100s\", write %s=%.100s", name,
                               value, name, value);
    }
    return parse_value(parser, option, value);
}

static void skip_to_argument(Parser *parser) {
    while (parser->argument->kind != OPTION_KIND_END && !is_argument(parser->argument))
        parser->argument++;
}

static int parse_argument(Parser *parser, const char *text) {
    skip_to_argument(parser);
    if (parser->argument->kind == OPTION_KIND_END)
        return parse_error(parser, "unexpected argument \"%.200s\"", text);
    const Option *argument = parser->argument;
    if (argument->kind == OPTION_KIND_ARGUMENT) parser->argument++;
    return parse_value(parser, argument, text);
}

static int check_arguments(Parser *parser) {
    skip_to_argument(parser);
    const Option *left = parser->argument;
    if (left->kind == OPTION_KIND_END || left->optional ||
        (left->kind == OPTION_KIND_ARGUMENT_LIST && left->value.list->count > 0))
        return -1;
    return parse_error(parser, "%s is missing: %s", left->name, left->help);
}

static int check_needed(Parser *parser) {
    const Option *options = parser->program->options;
    for (int i = 0; options[i].kind != OPTION_KIND_END; i++)
        if (is_needed(&options[i]) && !parser->given[i])
            return parse_error(parser, "%s is %s", options[i].name, options[i].help);
    return -1;
}

/* "-h" is what fingers type; the help calls it --help. */
static bool is_help(const char *text) {
    return strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0;
}

/* --help and --version count wherever they stand in front of "--", whatever else is wrong. */
static const char *find_request(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help(argv[i]) || strcmp(argv[i], "--version") == 0) return argv[i];
    return NULL;
}

int options_parse(const Program *program, int argc, char **argv, FILE *output, FILE *errors) {
    const char *request = find_request(argc, argv);
    if (request) {
        if (is_help(request))
            print_help(program, output);
        else
            print_version(program->name, output);
        return 0;
    }
    Parser parser = {program, argc, 1, argv, program->options, errors, {false}};
    bool options_ended = false;
    for (; parser.at < argc; parser.at++) {
        const char *text = argv[parser.at];
        int status = -1;
        if (!options_ended && strcmp(text, "--") == 0)
            options_ended = true;
        else if (!options_ended && text[0] == '-' && text[1] != '\0')
            status = parse_option(&parser, text);
        else
            status = parse_argument(&parser, text);
        if (status >= 0) return status;
    }
    int status = check_arguments(&parser);
    return status >= 0 ? status : check_needed(&parser);
}

/* A program that is started with standard streams closed would get their numbers for the next files
 * that it opens, and print into them. What takes their place here can be neither read nor written. */
static void occupy_standard_streams(void) {
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++)
        if (fcntl(number, F_GETFD) < 0 && errno == EBADF) open("/", O_RDONLY);
}

void options_read(const Program *program, int argc, char **argv) {
    occupy_standard_streams();
    int status = options_parse(program, argc, argv, stdout, stderr);
    if (status == 0) status = program_done(program->name);
    if (status >= 0) exit(status);
}

/* ---- subcommands ---- */

static int unknown_subcommand(const char *program, const char *name, const Subcommand *table) {
    enum { MOST = 32 };
    const char *names[MOST];
    int count = 0;
    while (table[count].name && count < MOST) names[count] = table[count].name, count++;
    const char *nearest = nearest_name(name, names, count);
    return nearest ? program_misused(program, "unknown command \"%.100s\"; did you mean \"%s\"?",
                                     name, nearest)
                   : program_misused(program, "unknown command \"%.100s\"", name);
}

int options_run_subcommand(const char *program, const char *summary, const Subcommand *table,
                           int argc, char **argv) {
    occupy_standard_streams();
    if (argc < 2) return program_misused(program, "a command is missing");
    if (strcmp(argv[1], "--version") == 0) {
        print_version(program, stdout);
        return program_done(program);
    }
    if (is_help(argv[1])) {
        printf("Usage: ./%s COMMAND …\n\n%s\n\n", program, summary);
        for (const Subcommand *command = table; command->name; command++)
            print_entry(stdout, command->name, command->summary, NULL);
        printf("\n./%s COMMAND --help tells more about each.\n", program);
        return program_done(program);
    }
    for (const Subcommand *command = table; command->name; command++)
        if (strcmp(command->name, argv[1]) == 0) return command->run(argc - 1, argv + 1);
    return unknown_subcommand(program, argv[1], table);
}
