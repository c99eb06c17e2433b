/* The axes of charts and heat maps: the range of the data, ticks at round numbers or names, and how they are
 * drawn. */
#ifndef TINYLM_PICTURES_AXIS_H
#define TINYLM_PICTURES_AXIS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A closed interval; empty if low > high. */
typedef struct Range {
    double low, high;
} Range;

#define RANGE_EMPTY ((Range){1, 0})

bool range_is_empty(const Range *range);
/* Extends the range to a value. NaN and infinities are ignored; values beyond ±1e300 are clamped, so that
 * high − low is finite. */
void range_add(Range *range, double value);
/* Widens a range that is (nearly) a single point, such as that of constant data. */
void range_widen(Range *range);
/* The same for a logarithmic axis; both ends must be positive. */
void range_widen_log(Range *range);

enum { TICKS_MAX = 32, TICK_LABEL_SIZE = 32 };

typedef struct Ticks {
    int count;
    double values[TICKS_MAX];
    char labels[TICKS_MAX][TICK_LABEL_SIZE];
} Ticks;

/* At most `most` (≤ TICKS_MAX) multiples of 1, 2 or 5 times a power of ten inside the range, with
 * enough digits to differ. The range must have been widened. */
void ticks_linear(Ticks *ticks, Range range, int most);
/* Powers of ten, with 2 and 5 times them if there is room; linear ticks if the range is too short for
 * those. */
void ticks_log(Ticks *ticks, Range range, int most);

/* The shortest decimal form of a number with up to `digits` significant digits: 0.25, 1200, 1e-7. */
void tick_number(char label[TICK_LABEL_SIZE], double value, int digits);

/* ---- an axis on a picture ---- */

typedef struct Axis {
    const char *title; /* NULL: none */
    Range range;       /* widened */
    bool logarithmic;
    double start, end;  /* pixels where range.low and range.high are */
    Ticks ticks;        /* unless there are names: */
    char *const *names; /* of the values 0, 1, 2, …; NULL: numbers */
    int64_t name_count;
} Axis;

/* Lays the axis, whose range is set, between two pixels, with ticks at least so many pixels apart. */
void axis_place(Axis *axis, double start, double end, double pixels_per_tick);
/* The pixel of a value; values far outside the range are clamped to one axis length beyond its ends. */
double axis_pixel(const Axis *axis, double value);

/* How far labels and title reach outwards, in pixels. Names below a picture that have less than
 * `pixels` each are turned. */
double axis_room_left(const Axis *axis);
double axis_room_below(const Axis *axis, double pixels);

/* Draws marks, labels and title beside x = `at` or below y = `at` (an axis at the right has no title), and
 * a line from each mark across the data to `far` unless that is NAN. Names that have no room between their
 * neighbours are left out. */
typedef enum AxisSide { AXIS_LEFT, AXIS_RIGHT, AXIS_BELOW } AxisSide;
void axis_draw(FILE *out, const Axis *axis, AxisSide side, double at, double far);

#endif
