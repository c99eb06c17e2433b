/* ./train CONFIG: from text files to a trained model in a run directory. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "commands/interrupt.h"
#include "commands/options.h"
#include "commands/train/progress.h"
#include "commands/train/resume.h"
#include "commands/train/sample.h"
#include "commands/train/start.h"
#include "pictures/loss_chart.h"
#include "training/corpus.h"
#include "training/task.h"
#include "training/trainer.h"

typedef struct Arguments {
    const char *config, *run, *text, *init_from;
    OptionList overrides;
    bool resume, fresh, plain, help_config;
    int64_t threads;
} Arguments;

/* Everything a run needs, in the order in which it is made. */
typedef struct Session {
    Arguments arguments;
    TrainConfig *config;
    RunDirectory run;
    bool made_folder; /* the run's folder was not there before */
    bool resuming;    /* from a checkpoint that is there */
    Corpus corpus;
    Model *model;
    char *config_json;
    WindowSource windows;
    EvaluationWindows validation;
    TaskSource task; /* in place of corpus, windows and validation when the config names a task */
} Session;

static volatile sig_atomic_t stop_signal = 0;

/* The first signal asks for a clean stop; a second one ends the program at once. */
static void on_signal(int number) {
    stop_signal = number;
    signal(number, SIG_DFL);
}

static void read_arguments(Arguments *a, int argc, char **argv) {
    const Option options[] = {
        ARGUMENT_OPTIONAL("CONFIG", &a->config,
                          "JSON file that describes the run (README, Config)"),
        OPTION_TEXT("--text", "FILE", &a->text, "train on this text in place of the config's data"),
        OPTION_LIST("--set", "KEY=VALUE", &a->overrides,
                    "change a value of the config, such as training.max_steps=50"),
        OPTION_TEXT("--run", "DIR", &a->run, "folder of the run", .absent = "runs/NAME"),
        OPTION_FLAG("--resume", &a->resume, "resume from the run's last checkpoint"),
        OPTION_FLAG("--fresh", &a->fresh,
                    "start over: remove an earlier run from the folder first"),
        OPTION_THREADS(&a->threads),
        OPTION_TEXT(
            "--init-from", "RUN", &a->init_from,
            "start from the weights of another run; the context length and position scaling may "
            "differ"),
        OPTION_FLAG("--plain", &a->plain,
                    "compute with the plain definitions in src/tensor/plain (slow)"),
        OPTION_FLAG("--help-config", &a->help_config,
                    "list the keys of a config: default, meaning, allowed values"),
        OPTIONS_END,
    };
    const Program program = {
        "train", "Trains a Transformer language model from text files.",
        "./train configs/tiny.json\n./train configs/tiny.json --set training.max_steps=50 --run "
        "runs/short\n./train runs/tiny/config.json --run runs/tiny --resume",
        options};
    options_read(&program, argc, argv);
    if (a->help_config) {
        train_config_print_keys(stdout);
        exit(program_done("train"));
    }
    if (a->resume && a->fresh)
        exit(program_misused("train", "--resume and --fresh exclude each other"));
    if (!a->config && !(a->run && a->resume))
        exit(program_misused("train", "name a config, such as configs/tiny.json"));
}

/* ---- config and run directory ---- */

/* The name of a run on a text of one's own: the file's, without its ending. */
static char *name_of_text(const char *path) {
    char *name = string_copy(path_name(path)), *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = '\0';
    return name;
}

static bool read_config(Session *s, Error *error) {
    const Arguments *a = &s->arguments;
    /* --text FILE is short for two overrides; those of the user come after and win. */
    char *data = NULL, *name = NULL;
    int count = 0;
    const char **overrides = allocate((size_t)a->overrides.count + 2, sizeof *overrides);
    if (a->text) {
        char *base = name_of_text(a->text);
        char *quoted = json_finish(cJSON_CreateString(a->text), 0);
        char *title = json_finish(cJSON_CreateString(base), 0);
        overrides[count++] = data = string_format("data={\"train\": %s}", quoted);
        overrides[count++] = name = string_format("name=%s", title);
        free(base);
        free(quoted);
        free(title);
    }
    for (int i = 0; i < a->overrides.count; i++) overrides[count++] = a->overrides.items[i];
    char *config_path = a->config ? string_copy(a->config) : path_join(a->run, "config.json");
    s->config = train_config_read(config_path, overrides, count, error);
    free(config_path);
    free(overrides);
    free(data);
    free(name);
    return s->config != NULL;
}

static bool open_run(Session *s, Error *error) {
    const Arguments *a = &s->arguments;
    char *path = a->run ? string_copy(a->run) : path_join("runs", s->config->name);
    s->run = run_directory_names(path);
    free(path);
    bool trained = file_exists(s->run.checkpoint);
    bool has_model = trained || file_exists(s->run.model);
    s->resuming = trained && a->resume;
    s->made_folder = !directory_exists(s->run.path);
    if (a->resume && s->made_folder)
        return error_set(error,
                         "%s: no such folder to resume; check --run, or leave out --resume to "
                         "start a run there",
                         s->run.path);
    if (trained && !a->resume && !a->fresh)
        return error_set(error,
                         "%s: holds a trained run already; go on with --resume, start over with "
                         "--fresh, or name another folder with --run",
                         s->run.path);
    if (has_model && !trained && !a->fresh)
        return error_set(error,
                         "%s: holds a model, and no checkpoint to go on from; name another folder "
                         "with --run (and start from this model with --init-from %s), or start "
                         "over with --fresh",
                         s->run.path, s->run.path);
    if (!trained && a->resume)
        print_line(stdout, "%s: has no checkpoint to resume yet; this starts with step 1",
                   s->run.path);
    if (trained && a->resume && a->init_from)
        print_line(stdout, "%s: has a checkpoint to resume; --init-from %s is not used",
                   s->run.path, a->init_from);
    return run_directory_lock(&s->run, error) &&
           (!s->resuming || resume_check(s->config, &s->run, error));
}

/* ---- data and model ---- */

static void print_notice(void *context, const char *line) {
    (void)context;
    print_line(stdout, "%s", line);
    fflush(stdout);
}

static bool is_task(const Session *s) {
    return s->config->data.task != TASK_NONE;
}

static bool open_data(Session *s, Error *error) {
    if (is_task(s)) {
        s->corpus.separator = -1;
        return !s->config->model.document_mask ||
               error_set(error,
                         "model.document_mask does not go with data.task: the answer would not see "
                         "the question; leave one of them out");
    }
    file_remove_stale("data/cache");
    CorpusOptions options = {.cache = "data/cache",
                             .run_tokenizer = s->resuming ? s->run.tokenizer : NULL,
                             .notice = print_notice};
    if (!corpus_open(&s->corpus, s->config, &options, error)) {
        bool there =
            s->config->data.train.count == 1 && file_exists(s->config->data.train.items[0]);
        return s->resuming && !there ? run_directory_name_start(&s->run, error) : false;
    }
    if (s->config->model.document_mask && s->corpus.separator < 0)
        return error_set(
            error, "model.document_mask is true, but there is no separator between documents; "
                   "give tokenizer.special_tokens");
    return true;
}

/* Refuses a model that cannot fit before its memory is taken. */
static bool check_memory(const Session *s, const TrainerSetup *setup, Error *error) {
    Model *dry = model_create(&s->config->model, true, error);
    if (!dry) return false;
    TrainStepConfig config = trainer_step_config(setup);
    TrainPlan plan = train_step_plan(dry, &config, parallel_threads());
    model_free(dry);
    double needed = (double)plan.parameter_bytes + (double)plan.activation_bytes + plan.batch_bytes;
    double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double container = (double)cgroup_memory(""), there = fmin(machine, container);
    printf("memory: %.0f MB for weights, moments and gradients, %.0f MB for activations\n",
           (double)plan.parameter_bytes / 1e6, (double)plan.activation_bytes / 1e6);
    return needed <= there ||
           error_set(error,
                     "this training needs %.1f GB of memory and the %s has %.1f GB; make "
                     "training.batch_size, model.context_length or the model smaller, or set "
                     "training.recompute=true",
                     needed / 1e9, container < machine ? "container" : "machine", there / 1e9);
}

static void print_data(const Session *s) {
    const Corpus *c = &s->corpus;
    if (is_task(s)) {
        printf("task: %s %lld symbols out of %lld\n", task_name(s->config->data.task),
               (long long)s->config->data.task_length, (long long)s->config->data.task_symbols);
        return;
    }
    char which[128] = "";
    if (c->choice > 0)
        snprintf(which, sizeof which,
                 " (candidate %lld of %lld in data.train; those before are missing)",
                 (long long)c->choice + 1, (long long)c->choices);
    print_line(stdout, "data: %s%s, %lld tokens; validation: %s%s %lld tokens%s", c->train_path,
               which, (long long)c->train.count, c->valid_path ? c->valid_path : "its last",
               c->valid_path ? "," : "", (long long)c->valid.count,
               c->valid_path ? "" : ", held out");
    if (c->tokenizer)
        print_line(stdout, "tokenizer: %lld tokens, %s",
                   (long long)tokenizer_vocab_size(c->tokenizer), s->run.tokenizer);
    else
        printf("tokenizer: none (the data are ids)\n");
}

static void print_model(const Session *s) {
    const Parameters *p = &s->model->parameters;
    int64_t embeddings = tensor_size(s->model->token_embeddings);
    int64_t total = parameters_total(p);
    int64_t rows = s->config->batch_size * s->config->gradient_accumulation;
    printf("parameters: %lld, %lld without embeddings\n", (long long)total,
           (long long)(total - embeddings));
    printf("tokens per step: %lld\n", (long long)(rows * s->config->model.context_length));
    printf("threads: %d, OpenBLAS kernel: %s\n", parallel_threads(), parallel_blas_kernel());
    const ScheduleConfig *rate = &s->config->learning_rate;
    if (!s->resuming && rate->warmup_steps > 0)
        printf("learning rate: rises from 0 to %.3g in the first %lld steps\n", rate->max,
               (long long)rate->warmup_steps);
    int64_t tokens = rows * s->config->model.context_length * s->config->max_steps;
    if (s->corpus.train.count > 0 && tokens > 20 * s->corpus.train.count)
        printf(
            "note: the run reads this text %.0f times; a model may learn it by heart (overfitting): "
            "watch the validation loss\n",
            (double)tokens / (double)s->corpus.train.count);
    fflush(stdout);
}

/* config.json and tokenizer/, before the first step. Only now, when all there is to refuse has been
 * refused and --init-from has been read, an earlier run gives way to --fresh. */
static bool write_run(Session *s, Error *error) {
    if (s->arguments.fresh && !run_directory_clear(&s->run, error)) return false;
    s->config_json = train_config_to_json(s->config);
    return run_directory_note_start(&s->run, error) &&
           file_write(s->run.config, s->config_json, strlen(s->config_json), error) &&
           (!s->corpus.tokenizer || tokenizer_save(s->corpus.tokenizer, s->run.tokenizer, error));
}

/* ---- the run ---- */

static void on_step(void *context, const TrainerReport *report) {
    (void)context;
    train_progress_show(report);
}

static void on_saved(void *context, int64_t step) {
    (void)step;
    Session *s = context;
    Error ignored; /* a picture that cannot be drawn must not end a training */
    loss_chart_from_log(s->run.log, path_name(s->run.path), s->run.loss_chart, &ignored);
}

static void on_other_data(void *context) {
    const Session *s = context;
    print_line(stdout,
               "note: %s or the validation text has changed since the last checkpoint; the run "
               "resumes with what is there now",
               s->corpus.train_path);
}

static bool on_sample(void *context, int64_t step, FILE *out, Error *error) {
    (void)step;
    const Session *s = context;
    return train_sample_write(s->model, s->corpus.tokenizer, s->corpus.separator, s->config->seed,
                              out, error);
}

/* A path as a shell reads it back. */
static void print_shell_word(const char *path) {
    if (!path[strcspn(path, " '\"\\$`&|;<>()*?[]#~!{}\t\n")]) {
        print_text(stdout, path, strlen(path));
        return;
    }
    putchar('\'');
    for (size_t length; *path; path += length) {
        length = *path == '\'' ? 1 : strcspn(path, "'");
        if (*path == '\'')
            fputs("'\\''", stdout);
        else
            print_text(stdout, path, length);
    }
    putchar('\'');
}

/* What the loss above was measured on, since ./evaluate measures more than training takes time for. */
static void print_measured(const Session *s, const Evaluation *v) {
    const Corpus *c = &s->corpus;
    if (is_task(s))
        printf(" (%lld sequences)\n", (long long)v->sequences);
    else if (v->tokens + 1 >= (double)c->valid.count)
        printf(" (all %.0f tokens held out)\n", v->tokens);
    else {
        putchar('\n');
        print_line(stdout,
                   "  measured on %lld windows, %.0f of %lld tokens of %s; ./evaluate takes all",
                   (long long)v->sequences, v->tokens, (long long)c->valid.count,
                   c->valid_path ? c->valid_path : "the held-out text");
    }
}

static int finish(const Session *s, const TrainerResult *result) {
    train_progress_end_line();
    if (result->stopped) {
        printf("stopped after step %lld, everything is saved; go on with: ./train ",
               (long long)result->state.step);
        print_shell_word(s->run.config);
        printf(" --run ");
        print_shell_word(s->run.path);
        printf(" --resume\n");
        fflush(stdout);
        return 128 + stop_signal;
    }
    if (result->first_step == result->state.step && result->state.step > 0)
        printf(
            "nothing to do: the run has its %lld steps already; raise training.max_steps to go on\n",
            (long long)result->state.step);
    const Evaluation *v = &result->validation;
    double guessing = log((double)s->config->model.vocab_size);
    bool failed = v->tokens > 0 && evaluation_loss(v) > guessing + 0.5;
    if (v->tokens > 0) {
        printf("validation: loss %.4f, perplexity %.2f", evaluation_loss(v),
               evaluation_perplexity(v));
        if (isfinite(evaluation_bits_per_byte(v)))
            printf(", %.4f bits per byte", evaluation_bits_per_byte(v));
        print_measured(s, v);
    }
    if (failed)
        fprintf(
            stderr,
            "train: warning: the loss is far above %.2f, that of guessing (the logarithm of the "
            "vocabulary): the training diverged; lower training.learning_rate.max or raise its "
            "warmup_steps\n",
            guessing);
    if (is_task(s)) {
        if (v->tokens > 0)
            printf("accuracy: %.2f %% of the symbols, %.2f %% of the answers whole\n",
                   100 * v->correct / v->tokens, 100 * v->whole / (double)v->sequences);
        print_line(stdout, "the run is in %s", s->run.path);
        return program_done("train");
    }
    printf("the run is in ");
    print_text(stdout, s->run.path, strlen(s->run.path));
    if (s->corpus.tokenizer && !failed) {
        printf("; a story: ./generate --run ");
        print_shell_word(s->run.path);
    }
    putchar('\n');
    return program_done("train");
}

/* Of the training and validation ids; 0 without. */
static uint64_t data_fingerprint(const Corpus *corpus) {
    const NpyArray *const arrays[] = {&corpus->train, &corpus->valid};
    uint64_t hash = 0;
    for (int k = 0; k < 2; k++)
        hash = hash_bytes(hash, arrays[k]->data,
                          (size_t)arrays[k]->count * (arrays[k]->type == NPY_UINT16 ? 2 : 4));
    return corpus->train.count ? hash : 0;
}

/* Where the sequences of training and validation come from. */
static void open_sources(Session *s) {
    const TrainConfig *config = s->config;
    int64_t T = config->model.context_length;
    int64_t rows = config->batch_size * config->gradient_accumulation;
    int64_t validated = config->eval_batches * config->batch_size;
    s->task = (TaskSource){.data = &config->data,
                           .seed = config->seed,
                           .rows_per_step = rows,
                           .T = T,
                           .count = validated};
    s->windows = (WindowSource){
        .ids = &s->corpus.train, .seed = config->seed, .rows_per_step = rows, .T = T};
    s->validation = evaluation_windows_spread(
        &s->corpus.valid, T, validated, config->model.document_mask ? s->corpus.separator : -1);
}

static bool run_session(Session *s, int *status, Error *error) {
    if (!read_config(s, error) || !open_run(s, error) || !open_data(s, error)) return false;
    print_data(s);
    const TrainConfig *config = s->config;
    open_sources(s);
    TrainerSetup setup = {
        .config = config,
        .run = &s->run,
        .source = is_task(s) ? task_training(&s->task) : window_source(&s->windows),
        .validation = is_task(s) ? task_validation(&s->task) : evaluation_source(&s->validation),
        .token_bytes = s->corpus.token_bytes,
        .separator = s->validation.separator,
        .tokenizer = s->corpus.tokenizer ? tokenizer_fingerprint(s->corpus.tokenizer) : 0,
        .data = data_fingerprint(&s->corpus),
        .resume = s->arguments.resume,
        .plain = s->arguments.plain,
    };
    if (!check_memory(s, &setup, error)) return false;
    s->model = setup.model = model_create(&config->model, false, error);
    if (!s->model) return false;
    model_initialize(s->model, config->seed);
    if (s->arguments.init_from && !s->resuming &&
        !start_from_run(s->model, s->corpus.tokenizer, s->arguments.init_from, error))
        return false;
    if (!write_run(s, error)) return false;
    setup.config_json = s->config_json;
    print_model(s);

    TrainerEvents events = {.context = s,
                            .step = on_step,
                            .saved = on_saved,
                            .other_data = on_other_data,
                            .stop = &stop_signal};
    if (s->corpus.tokenizer) events.sample = on_sample;
    interrupt_handle(on_signal, true);
    TrainerResult result;
    if (!trainer_run(&setup, &events, &result, error)) {
        train_progress_end_line();
        return false;
    }
    *status = finish(s, &result);
    return true;
}

int main(int argc, char **argv) {
    Session session = {.run.lock = -1};
    Error error;
    read_arguments(&session.arguments, argc, argv);
    parallel_start((int)session.arguments.threads);
    int status = 1;
    interrupt_cleanly(
        "\ntrain: interrupted before the first step, nothing half-made is left; the same "
        "command starts again");
    if (!run_session(&session, &status, &error)) {
        status = program_failed("train", &error);
        /* A refusal leaves no empty folder behind; one that holds something stays. */
        if (session.made_folder) rmdir(session.run.path);
    }
    model_free(session.model);
    corpus_close(&session.corpus);
    train_config_free(session.config);
    run_directory_free(&session.run);
    free(session.config_json);
    option_list_free(&session.arguments.overrides);
    return status;
}
