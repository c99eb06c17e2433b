/* What every picture has at its edges: the range of the data, round numbers inside it with their labels
 * or names in their place, and the drawing of both. */
#ifndef TINYLM_PICTURES_AXIS_H
#define TINYLM_PICTURES_AXIS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A closed interval. Starts empty, grows over the data. */
typedef struct Range {
    double low, high;
} Range;

#define RANGE_EMPTY ((Range){1, 0})

bool range_is_empty(const Range *range);
/* Takes a value in. NaN and infinities are ignored; values beyond ±1e300 count as ±1e300, so that
 * high − low stays finite. */
void range_add(Range *range, double value);
/* Gives a range that is (nearly) one point, for instance that of constant data, some width. */
void range_widen(Range *range);
/* The same for a logarithmic axis; both ends must be above 0. */
void range_widen_log(Range *range);

enum { TICKS_MAX = 32, TICK_LABEL_SIZE = 32 };

typedef struct Ticks {
    int count;
    double values[TICKS_MAX];
    char labels[TICKS_MAX][TICK_LABEL_SIZE];
} Ticks;

/* At most `most` (≤ TICKS_MAX) multiples of 1, 2 or 5 times a power of ten inside the range, with
 * as many digits as they need to differ. The range must have been widened. */
void ticks_linear(Ticks *ticks, Range range, int most);
/* Powers of ten, with their double and fivefold where there is room; a range too short for those
 * gets linear ticks. */
void ticks_log(Ticks *ticks, Range range, int most);

/* The shortest usual form of a number with up to `digits` significant digits: 0.25, 1200, 1e-7. */
void tick_number(char label[TICK_LABEL_SIZE], double value, int digits);

/* ---- an axis in its place ---- */

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
/* The pixel of a value; a little past the ends at most. */
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
