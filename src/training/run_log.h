/* log.csv of a run: one row for step 1, every log_every-th step, every evaluation and the last step. */
#ifndef TINYLM_TRAINING_RUN_LOG_H
#define TINYLM_TRAINING_RUN_LOG_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#define RUN_LOG_HEADER                                                                             \
    "step,tokens,seconds,learning_rate,train_loss,valid_loss,grad_norm,tokens_per_second"

typedef struct RunLogRow {
    int64_t step, tokens; /* tokens seen so far */
    double seconds;       /* cumulative over resumes */
    double learning_rate;
    double train_loss, grad_norm; /* of this step's batch; the norm before clipping */
    double valid_loss;            /* NAN: not measured, an empty field */
    double tokens_per_second;     /* since the row before */
} RunLogRow;

typedef struct RunLog {
    FILE *stream;
    char *path;
} RunLog;

/* Opens for appending after `last_step`: rows of later steps, which a run that was killed wrote after
 * its last checkpoint, are dropped, and so is a half-written row. last_step 0 starts a new file. */
bool run_log_open(RunLog *log, const char *path, int64_t last_step, Error *error);
/* Appends a row and hands it to the system. */
bool run_log_write(RunLog *log, const RunLogRow *row, Error *error);
void run_log_close(RunLog *log);
/* Step and training loss of the last row of a log; step 0 when it has none. False when the file cannot
 * be read or is not a log. */
bool run_log_last(const char *path, RunLogRow *row);

/* Keeps the part of a text file before the first line that begins a section of a later step:
 * sections begin with "=== step N". For samples.txt; a missing file is fine. */
bool samples_truncate(const char *path, int64_t last_step, Error *error);

#endif
