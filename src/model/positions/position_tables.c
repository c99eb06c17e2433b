#include "model/position_tables.h"

#include <math.h>
#include <stdlib.h>

/* ---- sinusoidal ---- */

int64_t position_sinusoidal_count(int64_t d, PositionLayout layout) {
    return layout == LAYOUT_INTERLEAVED ? d / 2 + d % 2 : d / 2;
}

void position_sinusoidal_frequencies(int64_t d, double base, PositionLayout layout,
                                     double *frequencies) {
    int64_t count = position_sinusoidal_count(d, layout);
    for (int64_t i = 0; i < count; i++) frequencies[i] = pow(base, -2.0 * (double)i / (double)d);
}

void position_sinusoidal_row(double m, int64_t d, PositionLayout layout, const double *frequencies,
                             double *row) {
    int64_t count = position_sinusoidal_count(d, layout);
    for (int64_t i = 0; i < count; i++) {
        double angle = m * frequencies[i];
        int64_t sine = layout == LAYOUT_INTERLEAVED ? 2 * i : i;
        int64_t cosine = layout == LAYOUT_INTERLEAVED ? 2 * i + 1 : i + count;
        row[sine] = sin(angle);
        if (cosine < d) row[cosine] = cos(angle);
    }
    if (layout == LAYOUT_HALF && d % 2) row[d - 1] = 0;
}

/* ---- learned ---- */

PositionBlend position_stretch(int64_t row, int64_t rows, int64_t new_rows) {
    if (new_rows < 2) return (PositionBlend){0, 0};
    /* In whole numbers, so that rows which coincide with old ones get a fraction of exactly 0. */
    int64_t numerator = row * (rows - 1), denominator = new_rows - 1;
    return (PositionBlend){numerator / denominator,
                           (double)(numerator % denominator) / (double)denominator};
}

/* ---- what is added to a score ---- */

void position_alibi_slopes(int64_t heads, double *slopes) {
    int64_t power = 1;
    while (power <= heads / 2) power *= 2;
    for (int64_t h = 0; h < heads; h++) {
        double exponent = h < power ? (double)(h + 1) / (double)power
                                    : (double)(2 * (h - power) + 1) / (double)(2 * power);
        slopes[h] = exp2(-8 * exponent);
    }
}

/* A whole number of any size, least significant limb first; only multiplied and compared here. */
typedef struct BigNumber {
    uint64_t *limbs;
    int64_t count;
} BigNumber;

static void big_multiply(BigNumber *number, uint64_t factor) {
    uint64_t carry = 0;
    for (int64_t i = 0; i < number->count; i++) {
        unsigned __int128 product = (unsigned __int128)number->limbs[i] * factor + carry;
        number->limbs[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
    if (carry) number->limbs[number->count++] = carry;
}

/* a^m · b^n with positive a and b */
static BigNumber big_product(int64_t a, int64_t m, int64_t b, int64_t n) {
    BigNumber number = {allocate((uint64_t)(m + n + 1), sizeof(uint64_t)), 1};
    number.limbs[0] = 1;
    while (m-- > 0) big_multiply(&number, (uint64_t)a);
    while (n-- > 0) big_multiply(&number, (uint64_t)b);
    return number;
}

static bool big_less(const BigNumber *a, const BigNumber *b) {
    if (a->count != b->count) return a->count < b->count;
    for (int64_t i = a->count - 1; i >= 0; i--)
        if (a->limbs[i] != b->limbs[i]) return a->limbs[i] < b->limbs[i];
    return false;
}

/* Is distance ≥ e·(max/e)^(t/steps)? Multiplied out: distance^steps ≥ max^t · e^(steps−t). */
static bool t5_reaches(int64_t distance, int64_t t, int64_t steps, int64_t e, int64_t max) {
    BigNumber reached = big_product(distance, steps, 1, 0);
    BigNumber border = big_product(max, t, e, steps - t);
    bool result = !big_less(&reached, &border);
    free(reached.limbs);
    free(border.limbs);
    return result;
}

int64_t position_t5_bucket(int64_t distance, int64_t buckets, int64_t max_distance) {
    int64_t e = buckets / 2, steps = buckets - e;
    if (distance < 0) distance = 0;
    if (distance < e) return distance;
    if (distance >= max_distance || e == 0) return buckets - 1;
    double t =
        (double)steps * log((double)distance / (double)e) / log((double)max_distance / (double)e);
    double nearest = round(t);
    /* Far from a border the logarithm decides; near one, whole numbers do. */
    if (fabs(t - nearest) < 1e-9 * (double)steps) {
        int64_t border = (int64_t)nearest;
        t = t5_reaches(distance, border, steps, e, max_distance) ? nearest : nearest - 1;
    }
    return e + (int64_t)fmin(t, (double)(steps - 1));
}

int64_t position_window_row(int64_t i, int64_t j, int64_t max_distance) {
    int64_t distance = i - j;
    bool fits = distance < max_distance && -distance < max_distance;
    return fits ? distance + max_distance - 1 : -1;
}

int64_t position_shaw_row(int64_t i, int64_t j, int64_t max_distance) {
    int64_t offset = j - i;
    if (offset < -max_distance) offset = -max_distance;
    if (offset > max_distance) offset = max_distance;
    return offset + max_distance;
}

/* ---- how similarity falls with distance ---- */

double position_sinusoidal_product(double k, int64_t d, double base) {
    double sum = 0;
    for (int64_t i = 0; i < d / 2; i++) sum += cos(k * pow(base, -2.0 * (double)i / (double)d));
    return sum;
}

double position_sinusoidal_integral(double k, int64_t d, double base) {
    /* Simpson's rule; the integrand swings fastest at t = 0, k·ln(base) radians per unit of t, and
     * about 64 intervals per radian there keep the error far below what a picture shows. */
    int64_t intervals = 2 * (int64_t)fmin(fmax(32 * fabs(k * log(base)), 500), 1e7);
    double width = 1.0 / (double)intervals, sum = 0;
    for (int64_t n = 0; n <= intervals; n++) {
        double weight = n == 0 || n == intervals ? 1 : n % 2 ? 4 : 2;
        sum += weight * cos(k * pow(base, -(double)n * width));
    }
    return (double)d / 2 * sum * width / 3;
}

double position_rope_decay_bound(double k, int64_t count, const double *frequencies) {
    double real_part = 0, imaginary = 0, sum = 0;
    for (int64_t i = 0; i < count; i++) {
        real_part += cos(k * frequencies[i]);
        imaginary += sin(k * frequencies[i]);
        sum += hypot(real_part, imaginary);
    }
    return sum / (double)count;
}
