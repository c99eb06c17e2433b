/* The learning curve of a run, drawn from its log.csv. */
#ifndef TINYLM_PICTURES_LOSS_CHART_H
#define TINYLM_PICTURES_LOSS_CHART_H

#include <stdbool.h>

#include "base/error.h"

/* Draws the curve of the run called `name`: training and validation loss against the step, and below it
 * the learning rate, from the columns step, train_loss, valid_loss and learning_rate of a log (found by
 * name in its first line; an empty field means not measured). Errors: the log cannot be read, lacks a
 * column, has a field that is not a number (the message names the line), or contains no loss. */
bool loss_chart_from_log(const char *log_csv_path, const char *name, const char *svg_path,
                         Error *error);

#endif
