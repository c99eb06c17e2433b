/* ./evaluate: how well a model predicts a text, or its logits for given ids. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "commands/evaluate/contexts.h"
#include "commands/logits.h"
#include "commands/options.h"
#include "formats/model_file.h"
#include "tokenizer/encoder.h"
#include "training/corpus.h"
#include "training/evaluation.h"
#include "training/run_directory.h"
#include "training/task.h"

typedef struct Arguments {
    const char *run, *model, *tokenizer, *text, *ids, *context, *folder;
    OptionList overrides;
    bool logits;
    int64_t tokens, threads;
} Arguments;

/* A model, and ids to try it on with what they stand for. */
typedef struct Subject {
    Arguments arguments;
    ModelFile file;
    TrainConfig *config; /* with a run's own validation text or task */
    Corpus corpus;
    EvaluationWindows windows;
    TaskSource task;
    IdList list; /* ids that are not a mapped file's */
    NpyArray ids;
    uint32_t *token_bytes;
    double text_bytes; /* of a text whose tokens have no bytes of their own; 0: see token_bytes */
    int64_t separator;
    int64_t *contexts, context_count; /* of --context */
} Subject;

static void read_arguments(Arguments *a, int argc, char **argv) {
    const Option options[] = {
        OPTION_TEXT("--run", "DIR", &a->run, "folder of a run", .absent = "the newest under runs/"),
        OPTION_TEXT(
            "--model", "PATH", &a->model,
            "model in place of a run: a run, checkpoint, Hugging Face directory, .gguf or .bin"),
        OPTION_TEXT("--tokenizer", "PATH", &a->tokenizer, "tokenizer in place of the model's own"),
        OPTION_TEXT("--text", "FILE", &a->text, "text, or - for stdin",
                    .absent = "the run's validation text"),
        OPTION_TEXT("--ids", "IDS", &a->ids, "token ids in place of a text, such as \"1 2 3\""),
        OPTION_FLAG("--logits", &a->logits, "print all logits, one line per position (with --ids)"),
        OPTION_TEXT(
            "--context", "LENGTHS", &a->context,
            "print tables of the loss by context length and by position, for lengths such as "
            "128,256,512"),
        OPTION_TEXT("--output", "DIR", &a->folder, "folder for a chart (with --context)"),
        OPTION_LIST("--set", "KEY=VALUE", &a->overrides,
                    "change a value of the run's model, such as model.position.scaling.type=yarn"),
        OPTION_WHOLE("--tokens", "N", &a->tokens, 0, INT64_MAX,
                     "approximate number of tokens, in windows spread over the text",
                     .absent = "0, all"),
        OPTION_THREADS(&a->threads),
        OPTIONS_END,
    };
    const Program program = {
        "evaluate", "Prints loss, perplexity and bits per byte of a model on a text.",
        "./evaluate --run runs/tiny\n./evaluate --run runs/tiny --text story.txt\n"
        "./evaluate --run runs/tiny --context 128,256,512\n"
        "./evaluate --model model.gguf --ids \"1 2 3\" --logits",
        options};
    options_read(&program, argc, argv);
    if (a->run && a->model)
        exit(program_misused("evaluate", "--run and --model exclude each other"));
    if (a->text && a->ids) exit(program_misused("evaluate", "--text and --ids exclude each other"));
    if (a->logits && !a->ids) exit(program_misused("evaluate", "--logits needs --ids \"1 2 3\""));
    if (a->folder && !a->context)
        exit(program_misused("evaluate", "--output needs --context 128,256,512"));
    for (int i = 0; i < a->overrides.count; i++)
        if (strncmp(a->overrides.items[i], "model.", 6) != 0)
            exit(program_misused("evaluate",
                                 "--set %.200s: only keys that begin with model. change what is "
                                 "evaluated; for another text give --text FILE",
                                 a->overrides.items[i]));
}

/* ---- what is evaluated ---- */

/* Whether the model is a run that was trained here. The config of one that ./convert wrote knows
 * nothing of data and training. */
static bool is_trained_run(const Subject *s) {
    if (s->file.format != &tinylm_format || !directory_exists(s->file.path)) return false;
    RunDirectory run = run_directory_names(s->file.path);
    cJSON *config = json_read(run.config, MODEL_CONFIG_LIMIT, NULL);
    run_directory_free(&run);
    bool trained = json_get(config, "data") != NULL;
    cJSON_Delete(config);
    return trained;
}

/* Loads the model again, with the --set values. */
static bool change_model(Subject *s, Error *error) {
    if (!is_trained_run(s))
        return error_set(error,
                         "%s: is no run that was trained here; --set changes the config of such a "
                         "run",
                         s->file.path);
    int64_t longest = 0;
    for (int64_t i = 0; i < s->context_count; i++)
        if (s->contexts[i] > longest) longest = s->contexts[i];
    Model *model = changed_model(s->file.path, &s->arguments.overrides, longest, error);
    if (!model) return false;
    model_free(s->file.model);
    s->file.model = model;
    return true;
}

static bool open_model(Subject *s, Error *error) {
    const Arguments *a = &s->arguments;
    char *newest = NULL, *skipped = NULL;
    if (!a->run && !a->model)
        newest = run_directory_newest("runs", a->text && !a->tokenizer, &skipped, error);
    const char *path = a->model ? a->model : a->run ? a->run : newest;
    bool read = path && model_file_read(&s->file, path, a->tokenizer, error);
    if (read && a->overrides.count > 0) read = change_model(s, error);
    if (read && skipped) print_line(stderr, "evaluate: passed over: %s", skipped);
    if (read && newest)
        print_line(stderr, "evaluate: %s, the newest run; --run DIR takes another", newest);
    free(newest);
    free(skipped);
    for (int i = 0; read && i < s->file.warning_count; i++)
        print_line(stderr, "evaluate: warning: %s", s->file.warnings[i]);
    return read;
}

static void print_notice(void *context, const char *line) {
    (void)context;
    print_line(stderr, "%s", line);
}

static bool is_task(const Subject *s) {
    return s->config && s->config->data.task != TASK_NONE;
}

/* When one of the run's texts is gone: another one can be given. */
static bool name_text(const RunDirectory *run, const DataConfig *data, Error *error) {
    bool there = data->train.count == 1 && file_exists(data->train.items[0]);
    if (there && data->valid.count)
        there = !data->valid.items[0] || file_exists(data->valid.items[0]);
    if (there) return false;
    run_directory_name_start(run, error);
    const Error reason = *error;
    return error_set(error, "%s; or give another text with --text FILE", reason.message);
}

/* The validation text that the run was trained with, from the cache when it is there; or its task,
 * with the sequences that it was validated on. */
static bool open_validation(Subject *s, Error *error) {
    if (!is_trained_run(s))
        return error_set(
            error, "%s: is no run with a validation text of its own; give a text with --text FILE",
            s->file.path);
    RunDirectory run = run_directory_names(s->file.path);
    CorpusOptions options = {
        .cache = "data/cache", .run_tokenizer = run.tokenizer, .notice = print_notice};
    s->config = train_config_read(run.config, NULL, 0, error);
    bool opened = s->config && (is_task(s) || corpus_open(&s->corpus, s->config, &options, error));
    if (!opened && s->config) name_text(&run, &s->config->data, error);
    run_directory_free(&run);
    if (!opened) return false;
    s->ids = s->corpus.valid;
    s->task = (TaskSource){.data = &s->config->data,
                           .seed = s->config->seed,
                           .T = s->config->model.context_length,
                           .count = s->config->eval_batches * s->config->batch_size};
    return true;
}

static bool open_text(Subject *s, const char *path, Error *error) {
    const ModelTokenizer *tokenizer = &s->file.tokenizer;
    bool read;
    if (tokenizer->bpe && strcmp(path, "-") != 0) {
        read = encode_file(tokenizer->bpe, path, 0, encode_into_list, &s->list, NULL, error);
    } else {
        size_t size;
        char *text = file_read(path, SIZE_MAX / 4, &size, error);
        if (!text) return false;
        read = model_tokenizer_encode(tokenizer, (const uint8_t *)text, size, &s->list.ids,
                                      &s->list.count, error);
        if (!tokenizer->bpe) s->text_bytes = (double)size;
        free(text);
    }
    s->ids = (NpyArray){.data = s->list.ids, .type = NPY_UINT32, .count = (int64_t)s->list.count};
    return read && (s->ids.count >= 2 ||
                    error_set(error, "%s: is too short: at least two tokens are needed", path));
}

static bool open_ids(Subject *s, const char *text, Error *error) {
    int32_t *ids;
    int64_t count;
    if (!ids_parse(text, s->file.model->config.vocab_size, &ids, &count, error)) return false;
    s->list = (IdList){(uint32_t *)ids, (size_t)count, (size_t)count};
    s->ids = (NpyArray){.data = ids, .type = NPY_UINT32, .count = count};
    return true;
}

/* Bytes of each token, and the token that separates documents. */
static void measure_tokens(Subject *s) {
    const ModelTokenizer *tokenizer = &s->file.tokenizer;
    int64_t V = s->file.model->config.vocab_size;
    bool masked = s->file.model->config.document_mask;
    s->separator = masked ? model_tokenizer_start(tokenizer) : -1;
    if (masked && s->config) s->separator = s->corpus.separator;
    if (!tokenizer->bpe) return;
    s->token_bytes = allocate_zeroed((size_t)V, sizeof *s->token_bytes);
    for (int64_t i = 0; i < V; i++) {
        size_t length;
        if (tokenizer_token(tokenizer->bpe, (uint32_t)i, &length))
            s->token_bytes[i] = (uint32_t)length;
    }
}

static void close_subject(Subject *s) {
    free(s->token_bytes);
    free(s->list.ids);
    free(s->contexts);
    option_list_free(&s->arguments.overrides);
    corpus_close(&s->corpus);
    train_config_free(s->config);
    model_file_free(&s->file);
}

/* ---- loss ---- */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct Progress {
    double start, shown;
} Progress;

static bool show_progress(void *context, const Evaluation *so_far, int64_t sequences) {
    Progress *progress = context;
    double time = now(), seconds = time - progress->start;
    bool last = so_far->sequences == sequences;
    if (!last && time - progress->shown < 0.2) return true;
    progress->shown = time;
    double left = seconds * (double)(sequences - so_far->sequences) / (double)so_far->sequences;
    fprintf(stderr, "\r%.0f tokens, %.0f tokens/s, %.0f s left \033[K%s", so_far->tokens,
            so_far->tokens / seconds, left, last ? "\r\033[K" : "");
    return true;
}

/* The sequences of T positions. A task has as many symbols as fit. */
static EvaluationSource source_of(void *context, int64_t T) {
    Subject *s = context;
    if (is_task(s)) {
        if (T != s->config->model.context_length) s->config->data.task_length = T / 2;
        s->task.T = T;
        return task_validation(&s->task);
    }
    int64_t wanted = s->arguments.tokens;
    s->windows = wanted == 0
                     ? evaluation_windows_all(&s->ids, T, s->separator)
                     : evaluation_windows_spread(&s->ids, T, (wanted + T - 1) / T, s->separator);
    return evaluation_source(&s->windows);
}

static bool print_contexts(Subject *s, Error *error) {
    for (int64_t i = 0; i < s->context_count; i++)
        if (is_task(s) && s->contexts[i] < 2)
            return error_set(error, "--context %lld: a task needs at least 2 positions",
                             (long long)s->contexts[i]);
    const ModelConfig *c = &s->file.model->config;
    const char *scaling = c->position.type == POSITION_ROPE && c->position.scaling.type
                              ? rope_scaling_name(c->position.scaling.type)
                              : NULL;
    char *title =
        string_format("Loss by context length: %s%s%s in %s", position_type_name(c->position.type),
                      scaling ? ", " : "", scaling ? scaling : "", path_name(s->file.path));
    ContextStudy study = {.model = s->file.model,
                          .source = source_of,
                          .context = s,
                          .token_bytes = s->token_bytes,
                          .task = is_task(s),
                          .title = title,
                          .folder = s->arguments.folder};
    bool done = context_study(&study, s->contexts, s->context_count, error);
    free(title);
    return done;
}

static bool print_loss(Subject *s, Error *error) {
    EvaluationSource source = source_of(s, s->file.model->config.context_length);
    Progress progress = {.start = now()};
    EvaluationOptions options = {.token_bytes = s->token_bytes, .progress_context = &progress};
    if (isatty(STDERR_FILENO)) options.progress = show_progress;
    Evaluator *evaluator = evaluator_new(s->file.model, parallel_threads(), NULL);
    Evaluation result;
    bool evaluated = evaluate(evaluator, &source, &options, &result, error);
    evaluator_free(evaluator);
    if (!evaluated) return false;
    if (!s->token_bytes) result.bytes = s->text_bytes;
    printf("loss %.6f\nperplexity %.4f\n", evaluation_loss(&result),
           evaluation_perplexity(&result));
    if (result.bytes > 0) printf("bits per byte %.6f\n", evaluation_bits_per_byte(&result));
    printf("tokens %.0f\n", result.tokens);
    if (result.bytes > 0) printf("bytes %.0f\n", result.bytes);
    if (is_task(s))
        printf("accuracy %.6f\nsequences %lld\nwhole sequences right %.0f\n",
               result.correct / result.tokens, (long long)result.sequences, result.whole);
    const char *text = s->arguments.text ? s->arguments.text : s->corpus.valid_path;
    if (fflush(stdout) == 0 && !is_task(s) && !s->arguments.ids)
        print_line(stderr, "evaluate: measured on %s %s",
                   s->windows.spread ? "windows spread over" : "all of",
                   text ? text : "the text held out from training");
    return true;
}

static bool run(Subject *s, Error *error) {
    const Arguments *a = &s->arguments;
    if (a->context && !context_lengths_parse(a->context, &s->contexts, &s->context_count, error))
        return false;
    if (!open_model(s, error)) return false;
    bool opened = a->text  ? open_text(s, a->text, error)
                  : a->ids ? open_ids(s, a->ids, error)
                           : open_validation(s, error);
    if (!opened) return false;
    measure_tokens(s);
    if (a->context) return print_contexts(s, error);
    if (!a->logits) return print_loss(s, error);
    return logits_print(s->file.model, s->ids.data, s->ids.count, s->separator, stdout, error);
}

int main(int argc, char **argv) {
    Subject subject = {0};
    read_arguments(&subject.arguments, argc, argv);
    parallel_start((int)subject.arguments.threads);
    Error error;
    bool done = run(&subject, &error);
    close_subject(&subject);
    return done ? program_done("evaluate") : program_failed("evaluate", &error);
}
