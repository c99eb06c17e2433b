/* The learning rate of each iteration.                                             [handout §4.4] */
#ifndef TINYLM_TRAINING_SCHEDULE_H
#define TINYLM_TRAINING_SCHEDULE_H

#include "training/train_config.h"

/* Rate at iteration t, counted from 0 (step s of the log uses t = s − 1). With Tw = warmup_steps and
 * Tc = cosine_steps:
 *   t <  Tw: max · t/Tw
 *   t <= Tc: min + ½(1 + cos(π(t − Tw)/(Tc − Tw)))(max − min)     (Tw = Tc: max at t = Tw)
 *   else   : min
 * The constant schedule has the warm-up and then stays at max. */
double schedule_rate(const ScheduleConfig *schedule, int64_t t);

#endif
