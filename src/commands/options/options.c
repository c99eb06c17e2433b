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

int program_misused(const char *program, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    Error line; /* control characters that the message quotes become '?' */
    error_set(&line, "%s (see ./%s --help)", message, program);
    program_failed(program, &line);
    return 2;
}

int program_done(const char *program) {
    Error error;
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    error_set(&error, "the output could not be written: %s", strerror(errno));
    return program_failed(program, &error);
}

/* ---- help ---- */

static bool is_argument(const Option *option) {
    return option->name[0] != '-';
}

/* Prints words from column `indent` on, where the cursor is, in lines of up to 80 columns. */
static void print_wrapped(FILE *output, const char *text, int indent) {
    for (int column = indent; *text;) {
        int size = (int)strcspn(text, " \n"), width = 0;
        for (int i = 0; i < size; i++) width += (text[i] & 0xC0) != 0x80; /* characters of UTF-8 */
        bool fits = column + 1 + width <= 80;
        if (column > indent) fprintf(output, fits ? " " : "\n%*s", fits ? 0 : indent, "");
        column = column == indent ? indent : fits ? column + 1 : indent;
        fwrite(text, 1, (size_t)size, output);
        column += width;
        text += size;
        text += strspn(text, " \n");
    }
    fputc('\n', output);
}

static void print_entry(FILE *output, const char *title, const char *help) {
    enum { COLUMN = 26 };
    if (strlen(title) > COLUMN - 2)
        fprintf(output, "  %s\n  %*s", title, COLUMN, "");
    else
        fprintf(output, "  %-*s", COLUMN, title);
    print_wrapped(output, help, COLUMN + 2);
}

/* The help, and what the fields add to it; to be freed. */
static char *help_text(const Option *option) {
    const char *help = option->help;
    char digits[32];
    if (is_argument(option)) return string_copy(help);
    if (option->kind == OPTION_KIND_LIST)
        return string_format("%s (%srepeatable%s%s)", help, option->needed ? "required, " : "",
                             option->absent ? "; default: " : "",
                             option->absent ? option->absent : "");
    if (option->needed) return string_format("%s (required)", help);
    if (option->absent) return string_format("%s (default: %s)", help, option->absent);
    switch (option->kind) {
    case OPTION_KIND_WHOLE:
        return string_format("%s (default: %" PRId64 ")", help, *option->value.whole);
    case OPTION_KIND_REAL:
        real_to_text(*option->value.real, digits);
        return string_format("%s (default: %s)", help, digits);
    case OPTION_KIND_TEXT:
    case OPTION_KIND_CHOICE:
        if (!*option->value.text) break;
        return string_format("%s (default: %s)", help, *option->value.text);
    default:
        break;
    }
    return string_copy(help);
}

static void print_help(const Program *program, FILE *output) {
    const Option *options = program->options;
    fprintf(output, "Usage: ./%s", program->name);
    bool any_option = false;
    for (const Option *o = options; o->name; o++) {
        if (is_argument(o))
            fprintf(output, o->needed ? " %s%s" : " [%s%s]", o->name,
                    o->kind == OPTION_KIND_LIST ? "…" : "");
        else
            any_option = true;
    }
    fprintf(output, "%s\n\n", any_option ? " [options]" : "");
    print_wrapped(output, program->summary, 0);
    fputc('\n', output);
    for (const Option *o = options; o->name; o++) {
        char *title =
            o->placeholder ? string_format("%s %s", o->name, o->placeholder) : string_copy(o->name);
        char *help = help_text(o);
        print_entry(output, title, help);
        free(title);
        free(help);
    }
    print_entry(output, "--help", "print this and exit");
    print_entry(output, "--version", "print the version and exit");
    if (program->example) fprintf(output, "\nExample:\n");
    for (const char *line = program->example, *next; line; line = next) {
        next = strchr(line, '\n');
        fprintf(output, "  %.*s\n", next ? (int)(next++ - line) : (int)strlen(line), line);
    }
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
    char *all = string_format("|%s|", choices), *one = string_format("|%s|", text);
    bool found = !strchr(text, '|') && strstr(all, one);
    free(all);
    free(one);
    return found;
}

/* An empty value of any other option comes from a shell variable that is not set. */
static bool may_be_empty(const Option *option) {
    return strcmp(option->placeholder ? option->placeholder : option->name, "TEXT") == 0;
}

static bool store_value(const Option *option, const char *text, Error *error) {
    char allowed[128];
    int64_t whole;
    double real;
    switch (option->kind) {
    case OPTION_KIND_WHOLE:
        if (text_to_whole(text, &whole) && whole >= option->low && whole <= option->high) {
            *option->value.whole = whole;
            return true;
        }
        int size = snprintf(allowed, sizeof allowed, "a whole number from %" PRId64, option->low);
        if (option->high < INT64_MAX)
            snprintf(allowed + size, sizeof allowed - size, " to %" PRId64, option->high);
        break;
    case OPTION_KIND_REAL:
        if (text_to_real(text, &real) && interval_contains(option->interval, real)) {
            *option->value.real = real;
            return true;
        }
        snprintf(allowed, sizeof allowed, "a number in %s", option->interval);
        break;
    case OPTION_KIND_CHOICE:
        if (is_choice(option->placeholder, text)) {
            *option->value.text = text;
            return true;
        }
        snprintf(allowed, sizeof allowed, "one of %s", option->placeholder);
        break;
    default:
        if (*text || may_be_empty(option)) {
            if (option->kind == OPTION_KIND_LIST)
                list_add(option->value.list, text);
            else
                *option->value.text = text;
            return true;
        }
        snprintf(allowed, sizeof allowed, "a text that is not empty");
    }
    return error_set(error, "%s is \"%.200s\"; it must be %s", option->name, text, allowed);
}

/* ---- parsing ---- */

enum { MOST_OPTIONS = 64 };

/* "unknown WHAT; did you mean NEAREST?" */
static bool unknown(const char *what, const char *name, const char *const *names, int count,
                    Error *error) {
    const char *nearest = nearest_name(name, names, count);
    return nearest ? error_set(error, "unknown %s %.100s; did you mean %s?", what, name, nearest)
                   : error_set(error, "unknown %s %.100s", what, name);
}

static const Option *find_option(const Program *program, const char *name, Error *error) {
    const char *names[MOST_OPTIONS + 2] = {"--help", "--version"};
    int count = 2;
    for (const Option *o = program->options; o->name; o++) {
        if (is_argument(o)) continue;
        if (strcmp(o->name, name) == 0) return o;
        names[count++] = o->name;
    }
    unknown("option", name, names, count, error);
    return NULL;
}

/* "--name=value", or "--name" with the value in `next` (NULL: none), which is then `used`. */
static const Option *parse_option(const Program *program, const char *text, const char *next,
                                  bool *used, Error *error) {
    size_t length = strcspn(text, "=");
    char *name = string_format("%.*s", (int)length, text);
    const char *value = text[length] ? text + length + 1 : NULL;
    const Option *option = find_option(program, name, error);
    free(name);
    *used = option && option->kind != OPTION_KIND_FLAG && !value;
    if (!option) return NULL;
    bool stored;
    if (option->kind == OPTION_KIND_FLAG) {
        *option->value.flag = true;
        stored = !value || error_set(error, "%s takes no value", option->name);
    } else if (value) {
        stored = store_value(option, value, error);
    } else if (!next) {
        stored = error_set(error, "%s needs a value: %s %s", option->name, option->name,
                           option->placeholder);
    } else if (strncmp(next, "--", 2) == 0) {
        stored = error_set(error, "%s needs a value; if it is to be \"%.100s\", write %s=%.100s",
                           option->name, next, option->name, next);
    } else {
        stored = store_value(option, next, error);
    }
    return stored ? option : NULL;
}

/* The next argument is stored in the first one that has none yet, or in a list. */
static const Option *parse_argument(const Program *program, const char *text, const bool *given,
                                    Error *error) {
    const Option *option = program->options;
    while (option->name && (!is_argument(option) ||
                            (given[option - program->options] && option->kind != OPTION_KIND_LIST)))
        option++;
    bool stored = option->name ? store_value(option, text, error)
                               : error_set(error, "unexpected argument \"%.200s\"", text);
    return stored ? option : NULL;
}

static bool is_help(const char *text) {
    return strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0;
}

int options_parse(const Program *program, int argc, char **argv, FILE *output, Error *error) {
    /* help counts wherever it stands in front of "--", whatever else is wrong */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool help = is_help(argv[i]);
        if (!help && strcmp(argv[i], "--version") != 0) continue;
        if (help) print_help(program, output);
        if (!help) print_version(program->name, output);
        return 0;
    }
    bool given[MOST_OPTIONS] = {false}, options_ended = false, used = false;
    for (int i = 1; i < argc; i += 1 + used) {
        const char *text = argv[i];
        used = false;
        if (!options_ended && strcmp(text, "--") == 0) {
            options_ended = true;
            continue;
        }
        bool dashed = !options_ended && text[0] == '-' && text[1] != '\0';
        const Option *option =
            dashed ? parse_option(program, text, i + 1 < argc ? argv[i + 1] : NULL, &used, error)
                   : parse_argument(program, text, given, error);
        if (!option) return 2;
        given[option - program->options] = true;
    }
    for (const Option *o = program->options; o->name; o++) {
        if (!o->needed || given[o - program->options]) continue;
        error_set(error, "%s is missing: %s", o->name, o->help);
        return 2;
    }
    return -1;
}

/* A program that is started with standard streams closed would get their numbers for the next files
 * that it opens, and print into them. What takes their place here can be neither read nor written. */
static void occupy_standard_streams(void) {
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++)
        if (fcntl(number, F_GETFD) < 0 && errno == EBADF) open("/", O_RDONLY);
}

void options_read(const Program *program, int argc, char **argv) {
    Error error;
    occupy_standard_streams();
    int status = options_parse(program, argc, argv, stdout, &error);
    if (status == 2) program_misused(program->name, "%s", error.message);
    if (status == 0) status = program_done(program->name);
    if (status >= 0) exit(status);
}

/* ---- subcommands ---- */

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
            print_entry(stdout, command->name, command->summary);
        printf("\nHelp for one command: ./%s COMMAND --help\n", program);
        return program_done(program);
    }
    const char *names[MOST_OPTIONS];
    int count = 0;
    for (const Subcommand *command = table; command->name; command++) {
        if (strcmp(command->name, argv[1]) == 0) return command->run(argc - 1, argv + 1);
        names[count++] = command->name;
    }
    Error error;
    unknown("command", argv[1], names, count, &error);
    return program_misused(program, "%s", error.message);
}
