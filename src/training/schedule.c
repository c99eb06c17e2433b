#include "training/schedule.h"

#include <math.h>

double schedule_rate(const ScheduleConfig *schedule, int64_t t) {
    int64_t warmup = schedule->warmup_steps, end = schedule->cosine_steps;
    if (t < warmup) return schedule->max * (double)t / (double)warmup;
    if (schedule->type == SCHEDULE_CONSTANT) return schedule->max;
    if (t > end) return schedule->min;
    if (end == warmup) return schedule->max;
    double progress = (double)(t - warmup) / (double)(end - warmup);
    return schedule->min +
           0.5 * (1 + cos(3.14159265358979323846 * progress)) * (schedule->max - schedule->min);
}
