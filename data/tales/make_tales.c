/* Writes a corpus of little stories, made from data/tales/tales.grammar:
 *   build/make_tales [--seed S] [--size 20MB] [--output FILE] [--grammar FILE]
 * Stories are numbered from 0; each ends with "\n<|endoftext|>\n". The same grammar, seed and size
 * give the same bytes on every machine. Nothing is kept, so the memory needed does not grow. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "grammar.h"

static const char usage[] =
    "usage: build/make_tales [--seed S] [--size N] [--output FILE] [--grammar FILE]\n"
    "Writes little stories, each followed by a line with <|endoftext|>.\n"
    "  --seed S        whole number that decides which stories (default 1)\n"
    "  --size N        bytes, or with kB, MB, GB (default 20MB); the last story is whole\n"
    "  --output FILE   where to (default: standard output)\n"
    "  --grammar FILE  (default data/tales/tales.grammar)\n";

/* "123", or with `units`, "20MB". */
static bool parse_number(const char *text, bool units, uint64_t *number) {
    if (*text < '0' || *text > '9') return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10), factor = 1;
    if (errno) return false;
    if (units && strcmp(end, "kB") == 0) factor = 1000;
    if (units && strcmp(end, "MB") == 0) factor = 1000000;
    if (units && strcmp(end, "GB") == 0) factor = 1000000000;
    if ((*end && factor == 1) || value > UINT64_MAX / factor) return false;
    *number = value * factor;
    return true;
}

static bool write_stories(Grammar *grammar, uint64_t seed, uint64_t wanted, FILE *out,
                          Error *error) {
    static const char end[] = "\n<|endoftext|>\n";
    uint64_t written = 0;
    for (uint64_t number = 0; written < wanted; number++) {
        size_t size;
        const char *story = grammar_story(grammar, seed, number, &size, error);
        if (story == NULL) return false;
        fwrite(story, 1, size, out);
        if (fwrite(end, 1, sizeof end - 1, out) != sizeof end - 1)
            return error_set(error, "cannot write the stories: %s", strerror(errno));
        written += size + sizeof end - 1;
    }
    return true;
}

static bool run(const char *grammar_path, uint64_t seed, uint64_t size, const char *output,
                Error *error) {
    size_t text_size;
    char *text = file_read(grammar_path, 1 << 24, &text_size, error);
    if (text == NULL) return false;
    Grammar *grammar = grammar_parse(text, grammar_path, error);
    free(text);
    if (grammar == NULL) return false;
    bool fine;
    if (output == NULL) {
        fine = write_stories(grammar, seed, size, stdout, error);
        if (fine && fflush(stdout) != 0)
            fine = error_set(error, "cannot write the stories: %s", strerror(errno));
    } else {
        FileWriter writer;
        fine = file_writer_open(&writer, output, error);
        if (fine && !write_stories(grammar, seed, size, writer.stream, error)) {
            file_writer_abort(&writer);
            fine = false;
        } else if (fine) {
            fine = file_writer_commit(&writer, NULL, error);
        }
    }
    grammar_free(grammar);
    return fine;
}

int main(int argc, char **argv) {
    uint64_t seed = 1, size = 20000000;
    const char *output = NULL, *grammar = "data/tales/tales.grammar";
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--help") == 0) return fputs(usage, stdout) == EOF;
        bool good = value != NULL;
        if (good && strcmp(name, "--seed") == 0)
            good = parse_number(value, false, &seed);
        else if (good && strcmp(name, "--size") == 0)
            good = parse_number(value, true, &size);
        else if (good && strcmp(name, "--output") == 0)
            output = value;
        else if (good && strcmp(name, "--grammar") == 0)
            grammar = value;
        else
            good = false;
        if (!good) {
            fprintf(stderr, "make_tales: '%s%s%s' is not understood (see --help)\n", name,
                    value ? " " : "", value ? value : "");
            return 2;
        }
    }
    Error error;
    if (run(grammar, seed, size, output, &error)) return 0;
    fprintf(stderr, "make_tales: %s\n", error.message);
    return 1;
}
