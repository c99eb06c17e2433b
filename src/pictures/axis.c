#include "pictures/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool range_is_empty(const Range *range) {
    return range->low > range->high;
}

void range_add(Range *range, double value) {
    if (!isfinite(value)) return;
    value = fmax(-1e300, fmin(value, 1e300));
    bool first = range_is_empty(range);
    if (first || value < range->low) range->low = value;
    if (first || value > range->high) range->high = value;
}

void range_widen(Range *range) {
    double size = fmax(fabs(range->low), fabs(range->high));
    /* Ticks closer than this would need more digits than a double has. */
    if (range->high - range->low > fmax(1e-9 * size, 1e-290)) return;
    double half = size > 1e-290 ? size / 2 : 0.5;
    range->low -= half;
    range->high += half;
}

void range_widen_log(Range *range) {
    range->low = fmax(range->low, 1e-300);
    if (range->high / range->low > 1.001) return;
    range->low /= 2;
    range->high *= 2;
}

/* "1.5e-07" → "1.5e-7", "2e+06" → "2e6" */
static void shorten_exponent(char *label) {
    char *from = strchr(label, 'e');
    if (!from) return;
    char *to = ++from;
    if (*from == '-') to++;
    if (*from == '-' || *from == '+') from++;
    while (*from == '0' && from[1]) from++;
    memmove(to, from, strlen(from) + 1);
}

void tick_number(char label[TICK_LABEL_SIZE], double value, int digits) {
    snprintf(label, TICK_LABEL_SIZE, "%.*g", digits, value == 0 ? 0 : value);
    shorten_exponent(label);
}

static void tick_add(Ticks *ticks, double value) {
    if (ticks->count < TICKS_MAX) ticks->values[ticks->count++] = value;
}

void ticks_linear(Ticks *ticks, Range range, int most) {
    ticks->count = 0;
    double width = range.high - range.low;
    int exponent = (int)floor(log10(width / most));
    /* A sum of ticks can be one more than width/step: hence the loop counts what really fits. */
    static const int multiples[] = {1, 2, 5, 10, 20, 50, 100};
    double step = 0, first = 0, last = 0;
    int decimals = 0;
    for (int i = 0; i < 7; i++) {
        step = multiples[i] * pow(10, exponent);
        decimals = -exponent - (multiples[i] >= 10) - (multiples[i] >= 100);
        first = ceil(range.low / step - 1e-9);
        last = floor(range.high / step + 1e-9);
        if (last - first + 1 <= most) break;
    }
    double largest = fmax(fabs(first), fabs(last)) * step;
    bool scientific = largest >= 1e6 || decimals > 5;
    for (double k = first; k <= last && ticks->count < TICKS_MAX; k++) {
        double value = k * step;
        tick_add(ticks, value);
        char *label = ticks->labels[ticks->count - 1];
        if (k == 0) {
            strcpy(label, "0");
        } else if (scientific) {
            int digits = (int)floor(log10(fabs(value)) + 1e-9) + decimals + 1;
            tick_number(label, value, digits < 1 ? 1 : digits > 15 ? 15 : digits);
        } else {
            snprintf(label, TICK_LABEL_SIZE, "%.*f", decimals < 0 ? 0 : decimals, value);
        }
    }
}

static int log_ticks_of(Ticks *ticks, Range range, const int *multiples, int multiple_count,
                        int decade_step) {
    ticks->count = 0;
    int total = 0, first = (int)floor(log10(range.low));
    for (int decade = first; decade <= 308 && pow(10, decade) <= range.high * (1 + 1e-9);
         decade++) {
        if (decade % decade_step) continue;
        for (int i = 0; i < multiple_count; i++) {
            double value = multiples[i] * pow(10, decade);
            if (value < range.low * (1 - 1e-9) || value > range.high * (1 + 1e-9)) continue;
            total++;
            tick_add(ticks, value);
        }
    }
    return total;
}

void ticks_log(Ticks *ticks, Range range, int most) {
    static const int multiples[] = {1, 2, 5};
    int total = log_ticks_of(ticks, range, multiples, 3, 1);
    if (total > most) total = log_ticks_of(ticks, range, multiples, 1, 1);
    for (int step = 2; total > most; step++) total = log_ticks_of(ticks, range, multiples, 1, step);
    if (total < 3) {
        Ticks decades = *ticks;
        ticks_linear(ticks, range, most);
        if (ticks->count > decades.count) return;
        *ticks = decades;
    }
    for (int i = 0; i < ticks->count; i++) tick_number(ticks->labels[i], ticks->values[i], 6);
}

void ticks_given(Ticks *ticks, Range range, const double *values, int count) {
    ticks->count = 0;
    for (int i = 0; i < count && ticks->count < TICKS_MAX; i++) {
        if (!(values[i] >= range.low && values[i] <= range.high)) continue;
        tick_number(ticks->labels[ticks->count], values[i], 6);
        tick_add(ticks, values[i]);
    }
}
