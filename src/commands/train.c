/* ./train CONFIG: from text files to a trained model in a run directory. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "commands/interrupt.h"
#include "commands/train/report.h"
#include "commands/train/sample.h"
#include "commands/train/session.h"
#include "commands/train/start.h"
#include "pictures/loss_chart.h"

static volatile sig_atomic_t stop_signal = 0;

/* The first signal asks for a clean stop; a second one ends the program at once. */
static void on_signal(int number) {
    stop_signal = number;
    signal(number, SIG_DFL);
}

static void read_arguments(TrainArguments *a, int argc, char **argv) {
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

/* ---- the run ---- */

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
    if (!session_read_config(s, error) || !session_open_run(s, error) ||
        !session_open_data(s, error))
        return false;
    report_data(s);
    const TrainConfig *config = s->config;
    open_sources(s);
    TrainerSetup setup = {
        .config = config,
        .run = &s->run,
        .source = session_is_task(s) ? task_training(&s->task) : window_source(&s->windows),
        .validation =
            session_is_task(s) ? task_validation(&s->task) : evaluation_source(&s->validation),
        .token_bytes = s->corpus.token_bytes,
        .separator = s->validation.separator,
        .tokenizer = s->corpus.tokenizer ? tokenizer_fingerprint(s->corpus.tokenizer) : 0,
        .data = session_data_fingerprint(s),
        .resume = s->arguments.resume,
        .plain = s->arguments.plain,
    };
    if (!session_check_memory(s, &setup, error)) return false;
    s->model = setup.model = model_create(&config->model, false, error);
    if (!s->model) return false;
    model_initialize(s->model, config->seed);
    if (s->arguments.init_from && !s->resuming &&
        !start_from_run(s->model, s->corpus.tokenizer, s->arguments.init_from, error))
        return false;
    if (!session_write_run(s, error)) return false;
    setup.config_json = s->config_json;
    report_model(s);

    TrainerEvents events = {.context = s,
                            .step = report_step,
                            .saved = on_saved,
                            .other_data = on_other_data,
                            .stop = &stop_signal};
    if (s->corpus.tokenizer) events.sample = on_sample;
    interrupt_handle(on_signal, true);
    TrainerResult result;
    if (!trainer_run(&setup, &events, &result, error)) {
        report_end_line();
        return false;
    }
    *status = report_result(s, &result, stop_signal);
    return true;
}

int main(int argc, char **argv) {
    Session session = {.run.lock = -1};
    Error error;
    read_arguments(&session.arguments, argc, argv);
    parallel_start((int)session.arguments.threads);
    int status = 1;
    interrupt_cleanly(
        "\ntrain: interrupted before the first step; no partial files are left, run the "
        "same command again to restart");
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
