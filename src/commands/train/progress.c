#include "commands/train/progress.h"

#include <stdio.h>
#include <unistd.h>

static bool line_open = false;

static void format_time(double seconds, char *text, size_t size) {
    long long s = seconds > 0 ? (long long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(text, size, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(text, size, "%lldm%02llds", s / 60, s % 60);
}

void train_progress_end_line(void) {
    if (line_open) putchar('\n');
    line_open = false;
    fflush(stdout);
}

void train_progress_show(const TrainerReport *report) {
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
        train_progress_end_line();
    } else if (!terminal) {
        train_progress_end_line();
    }
    fflush(stdout);
}
