/* ./generate: text from a trained model. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "commands/generate/output.h"
#include "commands/interrupt.h"
#include "commands/logits.h"
#include "commands/options.h"
#include "formats/model_file.h"
#include "generation/generator.h"
#include "training/run_directory.h"

enum { PROMPT_LIMIT = 1 << 28 };

typedef struct Arguments {
    const char *run, *model, *tokenizer;
    const char *prompt, *prompt_file, *prompt_ids;
    bool interactive, ids, logprobs;
    OptionList stops;
    int64_t max_tokens, seed, stories, threads;
    SamplerConfig sampler;
} Arguments;

/* The run that was taken where none was named, and what is said of a newer one that was not. */
typedef struct Choice {
    char *newest, *skipped;
} Choice;

static volatile sig_atomic_t interrupt = 0;

/* The first one ends the story, a second one the program at once. */
static void on_interrupt(int number) {
    interrupt = number;
    signal(number, SIG_DFL);
}

static bool is_interrupted(void *context) {
    (void)context;
    return interrupt;
}

/* ---- the command line ---- */

static void read_arguments(Arguments *a, int argc, char **argv) {
    const Option options[] = {
        OPTION_TEXT("--run", "DIR", &a->run, "folder of a run", .absent = "the newest under runs/"),
        OPTION_TEXT(
            "--model", "PATH", &a->model,
            "model in place of a run: a run, checkpoint, Hugging Face directory, .gguf or .bin"),
        OPTION_TEXT("--tokenizer", "PATH", &a->tokenizer, "tokenizer in place of the model's own"),
        OPTION_TEXT("--prompt", "TEXT", &a->prompt, "text to continue",
                    .absent = "none, a new document"),
        OPTION_TEXT("--prompt-file", "FILE", &a->prompt_file,
                    "file with the prompt, or - for stdin"),
        OPTION_TEXT("--prompt-ids", "IDS", &a->prompt_ids,
                    "prompt as token ids, such as \"5 17 9\""),
        OPTION_FLAG("--interactive", &a->interactive, "read prompts from stdin, one a line"),
        OPTION_WHOLE("--max-tokens", "N", &a->max_tokens, 0, 1 << 30,
                     "maximum number of tokens after the prompt"),
        OPTION_REAL("--temperature", "T", &a->sampler.temperature, "[0, inf)",
                    "softmax temperature; 0: greedy"),
        OPTION_WHOLE("--top-k", "K", &a->sampler.top_k, 0, INT64_MAX,
                     "sample from the K most likely tokens", .absent = "0, all"),
        OPTION_REAL("--top-p", "P", &a->sampler.top_p, "(0, 1]",
                    "sample from the smallest set of most likely tokens with total probability P"),
        OPTION_REAL("--min-p", "P", &a->sampler.min_p, "[0, 1]",
                    "sample from tokens at least P times as likely as the most likely one"),
        OPTION_REAL("--repetition-penalty", "R", &a->sampler.repetition_penalty, "(0, inf)",
                    "above 1: tokens that have occurred become less likely; 1: off"),
        OPTION_LIST("--stop", "TEXT", &a->stops, "stop before this text"),
        OPTION_WHOLE("--seed", "S", &a->seed, 0, INT64_MAX, "seed of the sampler"),
        OPTION_WHOLE("--num", "N", &a->stories, 1, 1 << 16,
                     "number of samples, generated as one batch"),
        OPTION_FLAG("--ids", &a->ids, "print token ids, prompt included, in place of text"),
        OPTION_FLAG("--logprobs", &a->logprobs,
                    "print each new token with its probability and the most likely alternatives"),
        OPTION_THREADS(&a->threads),
        OPTIONS_END,
    };
    const Program program = {
        "generate", "Generates text with a trained model.",
        "./generate --prompt 'Once upon a time'\n./generate --run runs/tiny --num 5 "
        "--temperature 0.7\n./generate --model model.gguf --prompt-file start.txt",
        options};
    options_read(&program, argc, argv);
    if (a->run && a->model)
        exit(program_misused("generate", "--run and --model exclude each other"));
    if (!!a->prompt + !!a->prompt_file + !!a->prompt_ids + a->interactive > 1)
        exit(program_misused("generate", "--prompt, --prompt-file, --prompt-ids and --interactive "
                                         "exclude each other"));
    if (a->ids && a->logprobs)
        exit(program_misused("generate", "--ids and --logprobs exclude each other"));
    for (int i = 0; i < a->stops.count; i++)
        if (!*a->stops.items[i])
            exit(program_misused("generate", "--stop needs a text that is not empty"));
}

/* ---- the model ---- */

static bool open_model(ModelFile *file, Choice *choice, const Arguments *a, Error *error) {
    char *newest = NULL, *skipped = NULL;
    if (!a->run && !a->model)
        newest = run_directory_newest("runs", !a->prompt_ids && !a->tokenizer, &skipped, error);
    const char *path = a->model ? a->model : a->run ? a->run : newest;
    bool read = path && model_file_read(file, path, a->tokenizer, error);
    if (newest) *choice = (Choice){newest, skipped};
    for (int i = 0; read && i < file->warning_count; i++)
        print_line(stderr, "generate: warning: %s", file->warnings[i]);
    return read;
}

/* 1 for rows of the model that stand for no token; NULL without a tokenizer. */
static uint8_t *excluded_rows(const ModelFile *file) {
    if (!model_tokenizer_present(&file->tokenizer)) return NULL;
    int64_t V = file->model->config.vocab_size;
    uint8_t *excluded = allocate((size_t)V, 1);
    size_t length;
    for (int64_t i = 0; i < V; i++)
        excluded[i] = !model_tokenizer_bytes(&file->tokenizer, TOKEN_NONE, (uint32_t)i, &length);
    return excluded;
}

/* ---- prompts ---- */

static bool encode_prompt(Prompt *prompt, const ModelFile *file, Error *error) {
    uint32_t *ids;
    if (!model_tokenizer_encode(&file->tokenizer, (const uint8_t *)prompt->text, prompt->length,
                                &ids, &prompt->count, error))
        return false;
    int64_t start = model_tokenizer_start(&file->tokenizer);
    if (prompt->count == 0 && start >= 0) {
        ids = reallocate(ids, 1, sizeof *ids);
        ids[prompt->count++] = (uint32_t)start;
    }
    prompt->ids = (int32_t *)ids; /* ids are below 2^31: there are not that many rows */
    return true;
}

/* ---- telling ---- */

typedef struct Session {
    Arguments arguments;
    ModelFile file;
    Choice choice;
    uint8_t *excluded;
} Session;

static void print_choice(const Choice *choice) {
    if (choice->skipped) print_line(stderr, "generate: passed over: %s", choice->skipped);
    if (choice->newest)
        print_line(stderr, "generate: %s, the newest run; --run DIR takes another", choice->newest);
}

static void print_times(const GeneratorTimes *times, int64_t tokens) {
    fprintf(stderr, "prompt: %lld tokens", (long long)times->prompt_tokens);
    if (times->prompt_seconds > 0)
        fprintf(stderr, ", %.0f tokens/s", (double)times->prompt_tokens / times->prompt_seconds);
    fprintf(stderr, "; generation: %lld tokens", (long long)tokens);
    if (times->tokens > 0) /* the first of each came with the prompt */
        fprintf(stderr, ", %.0f tokens/s", (double)times->tokens / times->seconds);
    fprintf(stderr, "\n");
}

/* What of the prompt the model did not see, and stories that did not come to their end. */
static void print_cuts(const Arguments *a, int64_t prompt, int64_t dropped, int64_t unended) {
    if (dropped > 0)
        fprintf(stderr,
                "generate: the first %lld of %lld tokens of the prompt are beyond the context "
                "length and were dropped\n",
                (long long)dropped, (long long)prompt);
    if (unended > 0 && a->max_tokens > 0 && !interrupt)
        fprintf(stderr, "generate: stopped at --max-tokens %lld before the end of the text\n",
                (long long)a->max_tokens);
}

/* All stories of one prompt. */
static bool tell(const Session *s, const Prompt *prompt, Error *error) {
    const Arguments *a = &s->arguments;
    bool text = model_tokenizer_present(&s->file.tokenizer);
    OutputForm form = a->logprobs ? OUTPUT_LOGPROBS : a->ids || !text ? OUTPUT_IDS : OUTPUT_TEXT;
    Output *output = output_new(form, &s->file, prompt, a->stories, a->stops.items, a->stops.count);
    GeneratorOptions options = {.stories = a->stories,
                                .max_tokens = a->max_tokens,
                                .seed = (uint64_t)a->seed,
                                .sampler = a->sampler,
                                .excluded = s->excluded,
                                .separator = model_tokenizer_start(&s->file.tokenizer),
                                .token = output_token,
                                .context = output,
                                .interrupted = is_interrupted};
    GeneratorTimes times;
    const Model *model = s->file.model;
    int64_t count = (int64_t)prompt->count;
    bool told = generate_check(model, prompt->ids, count, &options, error);
    if (told) {
        print_choice(&s->choice);
        output_begin(output);
        told = generate(model, prompt->ids, count, &options, &times, error);
        output_end(output);
    }
    if (told) print_times(&times, output_tokens(output));
    if (told)
        print_cuts(a, count, generator_window(count, model->config.context_length),
                   output_unended(output));
    output_free(output);
    return told;
}

static bool tell_text(const Session *s, const char *text, size_t length, Error *error) {
    Prompt prompt = {.text = text, .length = length};
    bool told = encode_prompt(&prompt, &s->file, error) && tell(s, &prompt, error);
    free(prompt.ids);
    return told;
}

static bool tell_lines(const Session *s, Error *error) {
    bool terminal = isatty(STDIN_FILENO), told = true;
    char *line = NULL;
    size_t capacity = 0;
    while (told && !interrupt) {
        if (terminal) fprintf(stderr, "prompt> ");
        ssize_t length = getline(&line, &capacity, stdin);
        if (length < 0) break;
        if (length > 0 && line[length - 1] == '\n') length--;
        told = tell_text(s, line, (size_t)length, error);
    }
    if (terminal) fprintf(stderr, "\n");
    free(line);
    return told;
}

static bool tell_file(const Session *s, const char *path, Error *error) {
    size_t length;
    char *text = file_read(path, PROMPT_LIMIT, &length, error);
    bool told = text && tell_text(s, text, length, error);
    free(text);
    return told;
}

/* The text that ids stand for becomes the prompt that is shown. */
static char *decode_prompt(const ModelTokenizer *tokenizer, const Prompt *prompt, size_t *length) {
    char *text = NULL;
    FILE *stream = open_memstream(&text, length);
    uint32_t previous = TOKEN_NONE;
    for (size_t i = 0; i < prompt->count; i++) {
        size_t size;
        uint32_t id = (uint32_t)prompt->ids[i];
        const uint8_t *bytes = model_tokenizer_bytes(tokenizer, previous, id, &size);
        if (bytes) fwrite(bytes, 1, size, stream);
        previous = id;
    }
    fclose(stream);
    return text;
}

static bool tell_ids(const Session *s, const char *list, Error *error) {
    Prompt prompt = {0};
    int64_t count;
    if (!ids_parse(list, s->file.model->config.vocab_size, &prompt.ids, &count, error))
        return false;
    prompt.count = (size_t)count;
    char *text = decode_prompt(&s->file.tokenizer, &prompt, &prompt.length);
    prompt.text = text;
    bool told = tell(s, &prompt, error);
    free(text);
    free(prompt.ids);
    return told;
}

static bool run(Session *s, Error *error) {
    const Arguments *a = &s->arguments;
    if (!open_model(&s->file, &s->choice, a, error)) return false;
    s->excluded = excluded_rows(&s->file);
    interrupt_handle(on_interrupt, false); /* no restart: waiting for a prompt ends too */
    if (a->prompt_ids) return tell_ids(s, a->prompt_ids, error);
    if (!model_tokenizer_present(&s->file.tokenizer))
        return error_set(error,
                         "%s: has no tokenizer; give the prompt as ids (--prompt-ids), or a "
                         "tokenizer (--tokenizer)",
                         s->file.path);
    if (a->interactive) return tell_lines(s, error);
    if (a->prompt_file) return tell_file(s, a->prompt_file, error);
    const char *text = a->prompt ? a->prompt : "";
    return tell_text(s, text, strlen(text), error);
}

int main(int argc, char **argv) {
    Session session = {
        .arguments = {
            .max_tokens = 256, .seed = 1337, .stories = 1, .sampler = sampler_config_default()}};
    session.arguments.sampler.temperature = 0.8;
    read_arguments(&session.arguments, argc, argv);
    parallel_start((int)session.arguments.threads);
    Error error;
    bool told = run(&session, &error);
    int status = told ? program_done("generate") : program_failed("generate", &error);
    if (told && interrupt) status = 128 + interrupt;
    free(session.excluded);
    free(session.choice.newest);
    free(session.choice.skipped);
    model_file_free(&session.file);
    option_list_free(&session.arguments.stops);
    return status;
}
