/* What ./train prints: what it trains on, its steps, and how the run ended. */
#ifndef TINYLM_COMMANDS_TRAIN_REPORT_H
#define TINYLM_COMMANDS_TRAIN_REPORT_H

#include "commands/train/session.h"
#include "training/trainer.h"

/* Data files or task, and tokenizer. */
void report_data(const Session *session);
/* Parameters, tokens per step, threads, warm-up. */
void report_model(const Session *session);

/* TrainerEvents.step: one line that is rewritten on a terminal; elsewhere a line for each row of the log. */
void report_step(void *context, const TrainerReport *report);
/* Ends the line that is being rewritten, if any, before other text is printed. */
void report_end_line(void);

/* The final losses, or after `stop_signal` the command that resumes the run. Returns the exit status. */
int report_result(const Session *session, const TrainerResult *result, int stop_signal);

#endif
