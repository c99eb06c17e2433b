#include "commands/train/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parallel.h"
#include "base/printable.h"
#include "commands/options.h"

/* ---- before the first step ---- */

void report_data(const Session *s) {
    const Corpus *c = &s->corpus;
    if (session_is_task(s)) {
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

void report_model(const Session *s) {
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

/* ---- steps ---- */

static bool line_open = false;

static void format_time(double seconds, char *text, size_t size) {
    long long s = seconds > 0 ? (long long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(text, size, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(text, size, "%lldm%02llds", s / 60, s % 60);
}

void report_end_line(void) {
    if (line_open) putchar('\n');
    line_open = false;
    fflush(stdout);
}

void report_step(void *context, const TrainerReport *report) {
    (void)context;
    bool terminal = isatty(STDOUT_FILENO);
    if (!terminal && !report->row) return;
    char left[32];
    format_time(report->seconds_left, left, sizeof left);
    printf("%sstep %lld/%lld  loss %.4f  lr %.1e  norm %.2f  %.0f tok/s  %s left",
           terminal ? "\r\033[K" : "", (long long)report->step, (long long)report->max_steps,
           report->train_loss, report->learning_rate, report->grad_norm, report->tokens_per_second,
           left);
    line_open = true;
    if (report->validation) {
        double bits = evaluation_bits_per_byte(report->validation);
        printf("\n  validation loss %.4f", evaluation_loss(report->validation));
        if (isfinite(bits)) printf(", %.4f bits per byte", bits);
        report_end_line();
    } else if (!terminal) {
        report_end_line();
    }
    fflush(stdout);
}

/* ---- the end ---- */

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
    if (session_is_task(s))
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

int report_result(const Session *s, const TrainerResult *result, int stop_signal) {
    report_end_line();
    if (result->stopped) {
        printf("stopped after step %lld, everything is saved; resume with: ./train ",
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
            "nothing to do: the run already has all %lld steps; raise training.max_steps to continue\n",
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
    if (session_is_task(s)) {
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
