/* What ./train shows while it works: one line that is rewritten on a terminal, plain lines for the
 * rows of the log elsewhere. */
#ifndef TINYLM_COMMANDS_TRAIN_PROGRESS_H
#define TINYLM_COMMANDS_TRAIN_PROGRESS_H

#include "training/trainer.h"

void train_progress_show(const TrainerReport *report);
/* Ends the line that is being rewritten, if there is one, before other text is printed. */
void train_progress_end_line(void);

#endif
