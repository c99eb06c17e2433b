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

/* ---- an axis in its place ---- */

static const char *frame_color = "#888888", *grid_color = "#e3e3e3";
enum { TITLE_ROOM = 22, MARK = 5, NAME_PIXELS = 13 };

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

static double widest_label(const Axis *axis) {
    double widest = 0;
    for (int64_t i = 0; i < label_count(axis); i++)
        widest = fmax(widest, svg_text_width(SVG_SMALL,
                                             axis->names ? axis->names[i] : axis->ticks.labels[i]));
    return fmin(widest, 220);
}

static double name_pixels(const Axis *axis) {
    return fabs(axis_pixel(axis, 1) - axis_pixel(axis, 0));
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

/* Every how many-th label is drawn. */
static int64_t label_step(const Axis *axis, double room) {
    return axis->names ? (int64_t)ceil(fmax(room, 1) / fmax(name_pixels(axis), 0.01)) : 1;
}

void axis_draw_right(FILE *out, const Axis *axis, double x) {
    for (int i = 0; i < axis->ticks.count; i++) {
        double y = axis_pixel(axis, axis->ticks.values[i]);
        svg_line(out, x, y, x + MARK, y, frame_color, 1, NULL);
        svg_text(out, x + MARK + 3, y + 4, (SvgText){.size = SVG_SMALL}, axis->ticks.labels[i]);
    }
}

void axis_draw_left(FILE *out, const Axis *axis, double x, double far) {
    SvgText style = {.size = SVG_SMALL, .anchor = SVG_END};
    int64_t step = label_step(axis, NAME_PIXELS);
    for (int64_t i = 0; i < label_count(axis); i += step) {
        double y = axis_pixel(axis, axis->names ? (double)i : axis->ticks.values[i]);
        if (!isnan(far)) svg_line(out, x, y, far, y, grid_color, 1, NULL);
        svg_line(out, x - MARK, y, x, y, frame_color, 1, NULL);
        svg_text(out, x - MARK - 3, y + 4, style,
                 axis->names ? axis->names[i] : axis->ticks.labels[i]);
    }
    style = (SvgText){.size = SVG_NORMAL, .anchor = SVG_MIDDLE, .rotate = -90};
    if (axis->title)
        svg_text(out, x - axis_room_left(axis) + 14, (axis->start + axis->end) / 2, style,
                 axis->title);
}

void axis_draw_below(FILE *out, const Axis *axis, double y, double far) {
    double pixels = axis->names ? name_pixels(axis) : 0;
    SvgText style = {.size = SVG_SMALL, .anchor = SVG_MIDDLE};
    bool turned = is_turned(axis, pixels);
    if (turned) style = (SvgText){.size = SVG_SMALL, .anchor = SVG_END, .rotate = -60};
    int64_t step = label_step(axis, turned ? NAME_PIXELS : 0);
    for (int64_t i = 0; i < label_count(axis); i += step) {
        double x = axis_pixel(axis, axis->names ? (double)i : axis->ticks.values[i]);
        if (!isnan(far)) svg_line(out, x, y, x, far, grid_color, 1, NULL);
        svg_line(out, x, y, x, y + MARK, frame_color, 1, NULL);
        svg_text(out, turned ? x + 4 : x, y + (turned ? 14 : 18), style,
                 axis->names ? axis->names[i] : axis->ticks.labels[i]);
    }
    style = (SvgText){.size = SVG_NORMAL, .anchor = SVG_MIDDLE};
    if (axis->title)
        svg_text(out, (axis->start + axis->end) / 2, y + axis_room_below(axis, pixels) - 10, style,
                 axis->title);
}
