#include "pictures/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pictures/svg.h"

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
    /* Closer ticks would need more digits than a double has. */
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
    /* There may be one tick more than width/step: count those inside the range. */
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

/* Every step-th power of ten in the range; all of them with their double and fivefold if step is 0.
 * Returns how many there are, of which the first TICKS_MAX are taken. */
static int ticks_of_decades(Ticks *ticks, Range range, int step) {
    static const int multiples[] = {1, 2, 5};
    int total = 0;
    ticks->count = 0;
    for (int decade = (int)floor(log10(range.low)); decade <= 308; decade++)
        for (int i = 0; i < (step ? 1 : 3); i++) {
            double value = multiples[i] * pow(10, decade);
            if ((step && decade % step) || value < range.low * (1 - 1e-9) ||
                value > range.high * (1 + 1e-9))
                continue;
            total++;
            tick_add(ticks, value);
        }
    return total;
}

void ticks_log(Ticks *ticks, Range range, int most) {
    for (int step = 0; ticks_of_decades(ticks, range, step) > most; step++) continue;
    if (ticks->count < 3) {
        Ticks decades = *ticks;
        ticks_linear(ticks, range, most);
        if (ticks->count > decades.count) return;
        *ticks = decades;
    }
    for (int i = 0; i < ticks->count; i++) tick_number(ticks->labels[i], ticks->values[i], 6);
}

/* ---- an axis on a picture ---- */

static const char *grid_color = "#e3e3e3";
enum { TITLE_ROOM = 22, MARK = 5, NAME_PIXELS = 13 };

void axis_place(Axis *axis, double start, double end, double pixels_per_tick) {
    axis->start = start;
    axis->end = end;
    int most = (int)fmax(2, fmin(fabs(end - start) / pixels_per_tick, TICKS_MAX));
    (axis->logarithmic ? ticks_log : ticks_linear)(&axis->ticks, axis->range, most);
}

double axis_pixel(const Axis *axis, double value) {
    Range range = axis->range;
    double share = axis->logarithmic ? log(value / range.low) / log(range.high / range.low)
                                     : (value - range.low) / (range.high - range.low);
    /* 1.7e308 is past the largest Range */
    return axis->start + fmax(-1, fmin(share, 2)) * (axis->end - axis->start);
}

static int64_t label_count(const Axis *axis) {
    return axis->names ? axis->name_count : axis->ticks.count;
}

static const char *label_text(const Axis *axis, int64_t i) {
    return axis->names ? axis->names[i] : axis->ticks.labels[i];
}

static double widest_label(const Axis *axis) {
    double widest = 0;
    for (int64_t i = 0; i < label_count(axis); i++)
        widest = fmax(widest, svg_text_width(SVG_SMALL, label_text(axis, i)));
    return fmin(widest, 220);
}

static bool is_turned(const Axis *axis, double pixels) {
    return axis->names && widest_label(axis) + 8 > pixels;
}

double axis_room_left(const Axis *axis) {
    return 12 + widest_label(axis) + (axis->title ? TITLE_ROOM : 0);
}

double axis_room_below(const Axis *axis, double pixels) {
    double labels = is_turned(axis, pixels) ? 12 + widest_label(axis) * 0.87 : 22;
    return labels + (axis->title ? TITLE_ROOM : 0) + 8;
}

void axis_draw(FILE *out, const Axis *axis, AxisSide side, double at, double far) {
    bool below = side == AXIS_BELOW;
    double pixels = axis->names ? fabs(axis_pixel(axis, 1) - axis_pixel(axis, 0)) : 0;
    bool turned = below && is_turned(axis, pixels);
    double outwards = side == AXIS_LEFT ? -1 : 1, outer = at + outwards * MARK;
    SvgText style = {.size = SVG_SMALL, .rotate = turned ? -60 : 0};
    style.anchor = turned || side == AXIS_LEFT ? SVG_END : below ? SVG_MIDDLE : SVG_START;
    double room = below && !turned ? 1 : NAME_PIXELS; /* that a name takes */
    int64_t step = axis->names ? (int64_t)ceil(room / fmax(pixels, 0.01)) : 1;
    for (int64_t i = 0; i < label_count(axis); i += step) {
        double p = axis_pixel(axis, axis->names ? (double)i : axis->ticks.values[i]);
        if (below) {
            if (!isnan(far)) svg_line(out, p, at, p, far, grid_color, 1, NULL);
            svg_line(out, p, at, p, outer, SVG_FRAME, 1, NULL);
            svg_text(out, turned ? p + 4 : p, at + (turned ? 14 : 18), style, label_text(axis, i));
        } else {
            if (!isnan(far)) svg_line(out, at, p, far, p, grid_color, 1, NULL);
            svg_line(out, at, p, outer, p, SVG_FRAME, 1, NULL);
            svg_text(out, outer + outwards * 3, p + 4, style, label_text(axis, i));
        }
    }
    double middle = (axis->start + axis->end) / 2;
    style = (SvgText){.size = SVG_NORMAL, .anchor = SVG_MIDDLE, .rotate = below ? 0 : -90};
    if (axis->title && below)
        svg_text(out, middle, at + axis_room_below(axis, pixels) - 10, style, axis->title);
    else if (axis->title)
        svg_text(out, at - axis_room_left(axis) + 14, middle, style, axis->title);
}
