/* Command lines: what is understood, and the exact line for what is not. */
#include "helpers.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "commands/options.h"

/* One run of the parser over a table that has everything. */
typedef struct Run {
    const char *config, *prompt, *format;
    bool resume;
    int64_t tokens;
    double temperature;
    OptionList overrides, rest;
    int status;
    char *output;
    Error error;
} Run;

static Run run(int argc, const char *const *words) {
    Run r = {.tokens = 256, .temperature = 0.8, .format = "gguf"};
    const Option options[] = {
        ARGUMENT("CONFIG", &r.config, "the JSON file that describes the run"),
        OPTION_TEXT("--prompt", "TEXT", &r.prompt, "how the story begins"),
        OPTION_LIST("--set", "KEY=VALUE", &r.overrides, "change a value of the config",
                    .absent = "as in the file"),
        OPTION_FLAG("--resume", &r.resume, "go on from the last checkpoint"),
        OPTION_WHOLE("--max-tokens", "N", &r.tokens, 0, 1000, "most tokens"),
        OPTION_REAL("--temperature", "T", &r.temperature, "[0, inf)", "0 is greedy;\nhigh is wild"),
        OPTION_CHOICE("--to", "huggingface|gguf", &r.format, "format"),
        ARGUMENT_LIST("FILE", &r.rest, "more files"),
        OPTIONS_END,
    };
    const Program program = {"train", "Trains a model.", "./train configs/tiny.json\n./train x",
                             options};
    size_t output_size;
    FILE *output = open_memstream(&r.output, &output_size);
    r.status = options_parse(&program, argc, (char **)words, output, &r.error);
    fclose(output);
    return r;
}

static void run_free(Run *r) {
    option_list_free(&r->overrides);
    option_list_free(&r->rest);
    free(r->output);
}

#define RUN(...)                                                                                   \
    run((int)(sizeof((const char *[]){"./train", __VA_ARGS__}) / sizeof(char *)),                  \
        (const char *[]){"./train", __VA_ARGS__})

TEST(test_understands) {
    Run r = RUN("--temperature", "1.5", "a.json", "--set", "x=1", "--prompt=--once", "--resume",
                "--max-tokens=7", "--set=y=2", "--to", "huggingface", "b", "-", "--", "--c");
    assert_int_equal(r.status, -1);
    assert_string_equal(r.output, "");
    assert_string_equal(r.config, "a.json");
    assert_string_equal(r.prompt, "--once");
    assert_string_equal(r.format, "huggingface");
    assert_true(r.resume);
    assert_int_equal(r.tokens, 7);
    assert_true(r.temperature == 1.5);
    assert_int_equal(r.overrides.count, 2);
    assert_string_equal(r.overrides.items[0], "x=1");
    assert_string_equal(r.overrides.items[1], "y=2");
    assert_int_equal(r.rest.count, 3);
    assert_string_equal(r.rest.items[1], "-");
    assert_string_equal(r.rest.items[2], "--c");
    run_free(&r);
}

TEST(test_defaults_stay) {
    Run r = RUN("a.json");
    assert_int_equal(r.status, -1);
    assert_null(r.prompt);
    assert_false(r.resume);
    assert_int_equal(r.tokens, 256);
    assert_true(r.temperature == 0.8);
    run_free(&r);
    r = RUN("a.json", "--max-tokens", "1", "--max-tokens", "2", "--prompt", "", "--prompt=");
    assert_int_equal(r.status, -1);
    assert_int_equal(r.tokens, 2); /* the last one counts */
    assert_string_equal(r.prompt, "");
    run_free(&r);
}

static void expect_refusal(Run r, const char *message) {
    assert_int_equal(r.status, 2);
    assert_string_equal(r.error.message, message);
    assert_string_equal(r.output, "");
    run_free(&r);
}

TEST(test_refuses) {
    expect_refusal(RUN("a", "--reusme"), "unknown option --reusme; did you mean --resume?");
    expect_refusal(RUN("a", "--Resume"), "unknown option --Resume; did you mean --resume?");
    expect_refusal(RUN("a", "--res"), "unknown option --res");
    expect_refusal(RUN("a", "--frobnicate=3"), "unknown option --frobnicate");
    expect_refusal(RUN("a", "-x"), "unknown option -x");
    expect_refusal(RUN("a", "--helpme"), "unknown option --helpme; did you mean --help?");
    expect_refusal(RUN("a", "--CONFIG", "b"), "unknown option --CONFIG");
    expect_refusal(RUN("a", "--max-tokens"), "--max-tokens needs a value: --max-tokens N");
    expect_refusal(RUN("a", "--prompt", "--resume"), "--prompt needs a value; if it is to be "
                                                     "\"--resume\", write --prompt=--resume");
    expect_refusal(RUN("a", "--resume=yes"), "--resume takes no value");
    expect_refusal(RUN("--resume"), "CONFIG is missing: the JSON file that describes the run");
    expect_refusal(RUN("a", "--to", "gguff"),
                   "--to is \"gguff\"; it must be one of huggingface|gguf");
    expect_refusal(RUN("a", "--to="), "--to is \"\"; it must be one of huggingface|gguf");
    expect_refusal(RUN("a", "--to=gguf|"), "--to is \"gguf|\"; it must be one of huggingface|gguf");
    static const char *const bad_whole[] = {"",   "x",    "1x", "1.5", "1e2",
                                            "-1", "1001", " 1", "0x1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad_whole / sizeof *bad_whole; i++) {
        char *message = string_format(
            "--max-tokens is \"%s\"; it must be a whole number from 0 to 1000", bad_whole[i]);
        expect_refusal(RUN("a", "--max-tokens", bad_whole[i]), message);
        free(message);
    }
    static const char *const bad_real[] = {"", "x", "1,5", "nan", "inf", "-0.1", "1e999", "0.5f"};
    for (size_t i = 0; i < sizeof bad_real / sizeof *bad_real; i++) {
        char *message =
            string_format("--temperature is \"%s\"; it must be a number in [0, inf)", bad_real[i]);
        expect_refusal(RUN("a", "--temperature", bad_real[i]), message);
        free(message);
    }
    expect_refusal(RUN(""), "CONFIG is \"\"; it must be a text that is not empty");
    expect_refusal(RUN("a", "--set="), "--set is \"\"; it must be a text that is not empty");
    expect_refusal(RUN("a", "--a\nb"), "unknown option --a?b"); /* stays one line */
}

/* What the help calls needed must be given, whichever kind it is. */
TEST(test_needed) {
    static const struct {
        const char *words[8];
        const char *error;
    } cases[] = {
        {{"./learn", "--rows=2", "--to", "d", "--from=f", "--rate=1", "--sure"}, ""},
        {{"./learn", "--to", "d", "--from=f"}, "--rows is missing: their number"},
        {{"./learn", "--from=f", "--rows", "1"}, "--to is missing: a folder"},
        {{"./learn", "--rows=2", "--to=d"}, "--from is missing: a text"},
        {{"./learn", "--rows=2", "--to=d", "--from=f", "--sure"}, "--rate is missing: a number"},
        {{"./learn", "--rows=2", "--to=d", "--from=f", "--rate=0"}, "--sure is missing: consent"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t rows = 0;
        const char *to = NULL;
        bool flag = false, sure = false;
        double rate = 0;
        OptionList from = {0};
        const Option options[] = {
            OPTION_FLAG("--loud", &flag, "says more"),
            OPTION_WHOLE("--rows", "N", &rows, 1, 9, "their number", .needed = true),
            OPTION_TEXT("--to", "DIR", &to, "a folder", .needed = true),
            OPTION_LIST("--from", "FILE", &from, "a text", .needed = true),
            OPTION_REAL("--rate", "R", &rate, "[0, 1]", "a number", .needed = true),
            OPTION_FLAG("--sure", &sure, "consent", .needed = true),
            OPTIONS_END,
        };
        const Program program = {"learn", "Learns.", "./learn", options};
        Error error = {{0}};
        char *output;
        size_t output_size;
        int argc = 0;
        while (cases[i].words[argc]) argc++;
        FILE *out = open_memstream(&output, &output_size);
        int status = options_parse(&program, argc, (char **)cases[i].words, out, &error);
        assert_string_equal(error.message, cases[i].error);
        assert_int_equal(status, *cases[i].error ? 2 : -1);
        assert_int_equal(options_parse(&program, 2, (char *[]){"./learn", "--help"}, out, &error),
                         0);
        fclose(out);
        assert_non_null(strstr(output, "their number (required)\n")); /* and no default */
        assert_non_null(strstr(output, "a text (required, repeatable)\n"));
        option_list_free(&from);
        free(output);
    }
}

/* Help is wrapped at 80 columns, counted in characters. */
TEST(test_wraps) {
    const char *text = NULL;
    const Option options[] = {
        OPTION_TEXT("--a-rather-long-option", "TEXT", &text,
                    "forty-nine characters and three more words – … ü – end of it",
                    .absent = "what was there before"),
        OPTIONS_END,
    };
    const Program program = {"learn", "Learns.", NULL, options};
    Error error;
    char *output;
    size_t size;
    FILE *out = open_memstream(&output, &size);
    options_parse(&program, 2, (char *[]){"./learn", "-h"}, out, &error);
    fclose(out);
    assert_non_null(strstr(output, "  --a-rather-long-option TEXT\n"
                                   "                            forty-nine characters and three "
                                   "more words – … ü –\n"
                                   "                            end of it (default: what was "
                                   "there before)\n"));
    free(output);
}

TEST(test_too_many_arguments) {
    const char *one = NULL, *two = NULL;
    const Option options[] = {ARGUMENT_OPTIONAL("RUN", &one, "a"),
                              ARGUMENT_OPTIONAL("TO", &two, "b"), OPTIONS_END};
    const Program program = {"inspect order", "x", NULL, options};
    Error error;
    char *words[] = {"order", "a", "b", "c"};
    assert_int_equal(options_parse(&program, 3, words, stdout, &error), -1);
    assert_string_equal(two, "b");
    assert_int_equal(options_parse(&program, 1, words, stdout, &error), -1);
    assert_int_equal(options_parse(&program, 4, words, stdout, &error), 2);
    assert_string_equal(error.message, "unexpected argument \"c\"");
}

/* The number of the first file that is opened when these standard streams are closed. */
static int first_number(int stream) {
    fflush(stdout);
    int kept = dup(stream), closed = close(stream), argc = 1;
    char *argv[] = {"./train"};
    const Option options[] = {OPTIONS_END};
    const Program program = {"train", "Trains a model.", NULL, options};
    options_read(&program, argc, argv);
    int number = open("/", O_RDONLY);
    close(number);
    dup2(kept, stream);
    close(kept);
    return closed == 0 ? number : -1;
}

TEST(test_closed_streams) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        assert_true(first_number(stream) > STDERR_FILENO);
}

TEST(test_help) {
    Run r = RUN("a", "--max-tokens", "7", "--nonsense", "--help");
    assert_int_equal(r.status, 0);
    assert_string_equal(
        r.output, "Usage: ./train CONFIG [FILE…] [options]\n"
                  "\n"
                  "Trains a model.\n"
                  "\n"
                  "  CONFIG                    the JSON file that describes the run\n"
                  "  --prompt TEXT             how the story begins\n"
                  "  --set KEY=VALUE           change a value of the config (repeatable; default:\n"
                  "                            as in the file)\n"
                  "  --resume                  go on from the last checkpoint\n"
                  "  --max-tokens N            most tokens (default: 256)\n"
                  "  --temperature T           0 is greedy; high is wild (default: 0.8)\n"
                  "  --to huggingface|gguf     format (default: gguf)\n"
                  "  FILE                      more files\n"
                  "  --help                    print this and exit\n"
                  "  --version                 print the version and exit\n"
                  "\n"
                  "Example:\n"
                  "  ./train configs/tiny.json\n"
                  "  ./train x\n");
    run_free(&r);
    r = RUN("--version");
    assert_int_equal(r.status, 0);
    assert_string_equal(r.output, "train (tinylm) " TINYLM_VERSION "\n");
    run_free(&r);
    r = RUN("a", "--", "--help");
    assert_int_equal(r.status, -1);
    assert_string_equal(r.rest.items[0], "--help");
    run_free(&r);
}

static int subcommand_argc;
static int run_rope(int argc, char **argv) {
    assert_string_equal(argv[0], "rope");
    subcommand_argc = argc;
    return 7;
}

TEST(test_subcommands) {
    const Subcommand table[] = {{"rope", "checks rotations", run_rope}, {NULL, NULL, NULL}};
    char *words[] = {"./inspect", "rope", "x.json"};
    assert_int_equal(options_run_subcommand("inspect", "Looks inside.", table, 3, words), 7);
    assert_int_equal(subcommand_argc, 2);
    char *wrong[] = {"./inspect", "rop"};
    assert_int_equal(options_run_subcommand("inspect", "Looks inside.", table, 2, wrong), 2);
    assert_int_equal(options_run_subcommand("inspect", "Looks inside.", table, 1, wrong), 2);
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
