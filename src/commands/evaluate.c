/* ./evaluate: how well a model predicts a text, or its logits for given ids. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parallel.h"
#include "commands/logits.h"
#include "commands/options.h"
#include "formats/model_file.h"
#include "tokenizer/encoder.h"
#include "training/corpus.h"
#include "training/evaluation.h"
#include "training/run_directory.h"
#include "training/task.h"

typedef struct Arguments {
    const char *run, *model, *tokenizer, *text, *ids;
    bool logits;
    int64_t threads;
} Arguments;

/* A model, and ids to try it on with what they stand for. */
typedef struct Subject {
    Arguments arguments;
    ModelFile file;
    TrainConfig *config; /* with a run's own validation text or task */
    Corpus corpus;
    TaskSource task;
    IdList list; /* ids that are not a mapped file's */
    NpyArray ids;
    uint32_t *token_bytes;
    double text_bytes; /* of a text whose tokens have no bytes of their own; 0: see token_bytes */
    int64_t separator;
} Subject;

static void read_arguments(Arguments *a, int argc, char **argv) {
    const Option options[] = {
        OPTION_TEXT("--run", "DIR", &a->run, "folder of a run (default: the newest under runs/)"),
        OPTION_TEXT("--model", "PATH", &a->model,
                    "a model instead: run, checkpoint, Hugging Face directory, .gguf or .bin"),
        OPTION_TEXT("--tokenizer", "PATH", &a->tokenizer,
                    "a tokenizer in place of the model's own"),
        OPTION_TEXT("--text", "FILE", &a->text, "the text (default: the run's validation text)"),
        OPTION_TEXT("--ids", "IDS", &a->ids, "token ids instead of a text, such as \"1 2 3\""),
        OPTION_FLAG("--logits", &a->logits, "with --ids: print all logits, one line per position"),
        OPTION_WHOLE("--threads", "N", &a->threads, 0, 1024, "threads (0: all cores)"),
        OPTIONS_END,
    };
    const Program program = {
        "evaluate", "Prints loss, perplexity and bits per byte of a model on a text.",
        "./evaluate --run runs/tiny\n./evaluate --run runs/tiny --text story.txt\n"
        "./evaluate --model model.gguf --ids \"1 2 3\" --logits",
        options};
    options_read(&program, argc, argv);
    if (a->run && a->model)
        exit(program_misused("evaluate", "--run and --model exclude each other"));
    if (a->text && a->ids) exit(program_misused("evaluate", "--text and --ids exclude each other"));
    if (a->logits && !a->ids) exit(program_misused("evaluate", "--logits needs --ids \"1 2 3\""));
}

/* ---- what is evaluated ---- */

static bool open_model(Subject *s, Error *error) {
    const Arguments *a = &s->arguments;
    char *newest = a->run || a->model ? NULL : run_directory_newest("runs", error);
    const char *path = a->model ? a->model : a->run ? a->run : newest;
    bool read = path && model_file_read(&s->file, path, a->tokenizer, error);
    free(newest);
    for (int i = 0; read && i < s->file.warning_count; i++)
        fprintf(stderr, "evaluate: warning: %s\n", s->file.warnings[i]);
    return read;
}

static void print_notice(void *context, const char *line) {
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static bool is_task(const Subject *s) {
    return s->config && s->config->data.task != TASK_NONE;
}

/* The validation text that the run was trained with, from the cache when it is there; or its task, with
 * the sequences that it was validated on. */
static bool open_validation(Subject *s, Error *error) {
    if (s->file.format != MODEL_TINYLM || !directory_exists(s->file.path))
        return error_set(error,
                         "%s: is no run with a validation text of its own; give a text with --text",
                         s->file.path);
    RunDirectory run = run_directory_names(s->file.path);
    CorpusOptions options = {
        .cache = "data/cache", .run_tokenizer = run.tokenizer, .notice = print_notice};
    s->config = train_config_read(run.config, NULL, 0, error);
    bool opened = s->config && (is_task(s) || corpus_open(&s->corpus, s->config, &options, error));
    run_directory_free(&run);
    if (!opened) return false;
    s->ids = s->corpus.valid;
    s->task = (TaskSource){.data = &s->config->data,
                           .seed = s->config->seed,
                           .T = s->config->model.context_length,
                           .count = s->config->eval_batches * s->config->batch_size};
    return true;
}

static bool append_ids(void *context, const uint32_t *ids, size_t count, Error *error) {
    (void)error;
    IdList *list = context;
    id_list_reserve(list, count);
    if (count) memcpy(list->ids + list->count, ids, count * sizeof *ids);
    list->count += count;
    return true;
}

static bool open_text(Subject *s, const char *path, Error *error) {
    const ModelTokenizer *tokenizer = &s->file.tokenizer;
    bool read;
    if (tokenizer->bpe) {
        read = encode_file(tokenizer->bpe, path, 0, append_ids, &s->list, NULL, error);
    } else {
        MappedFile map;
        if (!file_map(&map, path, error)) return false;
        read = model_tokenizer_encode(tokenizer, map.data, map.size, &s->list.ids, &s->list.count,
                                      error);
        s->text_bytes = (double)map.size;
        file_unmap(&map);
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

static bool print_loss(Subject *s, Error *error) {
    int64_t T = s->file.model->config.context_length;
    EvaluationWindows windows = evaluation_windows_all(&s->ids, T, s->separator);
    EvaluationSource source = is_task(s) ? task_validation(&s->task) : evaluation_source(&windows);
    Progress progress = {.start = now()};
    EvaluationOptions options = {.token_bytes = s->token_bytes, .progress_context = &progress};
    if (isatty(STDERR_FILENO)) options.progress = show_progress;
    Evaluator *evaluator = evaluator_new(s->file.model, NULL);
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
    return true;
}

static bool run(Subject *s, Error *error) {
    const Arguments *a = &s->arguments;
    if (!open_model(s, error)) return false;
    bool opened = a->text  ? open_text(s, a->text, error)
                  : a->ids ? open_ids(s, a->ids, error)
                           : open_validation(s, error);
    if (!opened) return false;
    measure_tokens(s);
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
