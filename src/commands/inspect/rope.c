/* ./inspect rope: checks on random vectors what rotating queries and keys does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "commands/inspect/inspect.h"
#include "commands/inspect/subject.h"
#include "formats/half.h"
#include "model/position_tables.h"
#include "tensor/plain/plain.h"

enum { FAR = 100000, VECTORS = 64 };

/* The rope of a config, and random vectors of a head's size. */
typedef struct Rope {
    const ModelConfig *config;
    const AttentionHooks *hooks;
    int64_t D, rotated;
    double *frequencies, magnitude;
    real *q, *k;     /* (VECTORS, D), standard normal */
    real *turned[2]; /* (D) each, scratch */
} Rope;

static void turn(const Rope *rope, int64_t m, const real *x, real *to) {
    rope->hooks->transform(rope->hooks->context, m, 1, rope->D, x, rope->D, to, rope->D, false);
}

static double product(int64_t D, const real *a, const real *b) {
    double sum = 0;
    for (int64_t d = 0; d < D; d++) sum += (double)a[d] * (double)b[d];
    return sum;
}

/* ⟨R_m q, R_n k⟩ / √D of vector pair v */
static double score(const Rope *rope, int64_t v, int64_t m, int64_t n) {
    turn(rope, m, rope->q + v * rope->D, rope->turned[0]);
    turn(rope, n, rope->k + v * rope->D, rope->turned[1]);
    return product(rope->D, rope->turned[0], rope->turned[1]) / sqrt((double)rope->D);
}

/* Root mean square over the vectors of the difference of two scores. */
static double score_difference(const Rope *rope, int64_t m, int64_t n, int64_t m2, int64_t n2) {
    double sum = 0;
    for (int64_t v = 0; v < VECTORS; v++) {
        double difference = score(rope, v, m, n) - score(rope, v, m2, n2);
        sum += difference * difference;
    }
    return sqrt(sum / VECTORS);
}

static void row(const char *what, double value, const char *expected) {
    printf("  %-62s %9.1e  %s\n", what, value, expected);
}

/* ---- relative effect ---- */

static void check_scores(const Rope *rope) {
    printf("Scores <R_m q, R_n k> / sqrt(d) of random vectors (they are about 1 large):\n");
    row("offset 5:  at 5, 10 against 6, 11", score_difference(rope, 5, 10, 6, 11), "the same");
    row("offset 5:  at 5, 10 against 50005, 50010", score_difference(rope, 5, 10, 50005, 50010),
        "the same");
    row("offset 31: at 0, 31 against 99960, 99991", score_difference(rope, 0, 31, 99960, 99991),
        "the same");
    row("offset 5 against offset 6: 5, 10 against 5, 11", score_difference(rope, 5, 10, 5, 11),
        "another score");
    row("offset 5 against offset -5: 5, 10 against 10, 5", score_difference(rope, 5, 10, 10, 5),
        "another score");
}

/* Largest difference of R_m x and what is expected times yarn's factor. */
static double turn_error(const Rope *rope, int64_t m, const real *x, const real *expected) {
    double largest = 0;
    turn(rope, m, x, rope->turned[0]);
    for (int64_t d = 0; d < rope->D; d++) {
        double factor = d < rope->rotated ? rope->magnitude : 1;
        largest = fmax(largest, fabs((double)rope->turned[0][d] - factor * (double)expected[d]));
    }
    return largest;
}

static void check_vectors(const Rope *rope) {
    int64_t D = rope->D, R = rope->rotated;
    double norm = 0, start = 0, plain = 0;
    bool halves = rope->config->position.layout == LAYOUT_HALF;
    for (int64_t v = 0; v < VECTORS; v++) {
        const real *x = rope->q + v * D;
        int64_t m = 1 + v * (FAR - 1) / VECTORS;
        start = fmax(start, turn_error(rope, 0, x, x));
        plain_rope(D, R, halves, (double)m, rope->frequencies, x, rope->turned[1]);
        plain = fmax(plain, turn_error(rope, m, x, rope->turned[1]));
        double expected =
            product(R, x, x) * rope->magnitude * rope->magnitude + product(D - R, x + R, x + R);
        norm = fmax(norm, fabs(sqrt(product(D, rope->turned[0], rope->turned[0]) / expected) - 1));
    }
    char *name = rope->magnitude == 1
                     ? string_copy("norm kept: | |R_m x| / |x| - 1 |")
                     : string_format("norm times %.4f (yarn): difference", rope->magnitude);
    printf("\nVectors:\n");
    row(name, norm, "zero");
    row("R_0 x = x", start, "zero");
    row("pairs turned one by one against the whole d x d matrix", plain, "zero");
    free(name);
}

/* ---- layouts ---- */

/* Largest difference of scores between the two layouts; if `permuted`, the elements of q and k are
 * reordered for the second. */
static double layout_difference(const Rope *rope, bool permuted) {
    int64_t D = rope->D;
    double largest = 0;
    real *x = allocate((size_t)D, sizeof *x);
    for (int64_t v = 0; v < VECTORS; v++) {
        double scores[2];
        for (int half = 0; half < 2; half++) {
            for (int side = 0; side < 2; side++) {
                const real *from = (side ? rope->k : rope->q) + v * D;
                for (int64_t d = 0; d < D; d++)
                    x[d] = from[half && permuted
                                    ? position_rope_half_from_interleaved(d, rope->rotated)
                                    : d];
                plain_rope(D, rope->rotated, half, side ? 13 : 40, rope->frequencies, x,
                           rope->turned[side]);
            }
            scores[half] = product(D, rope->turned[0], rope->turned[1]) / sqrt((double)D);
        }
        largest = fmax(largest, fabs(scores[0] - scores[1]));
    }
    free(x);
    return largest;
}

static void check_layouts(const Rope *rope) {
    printf("\nLayouts, interleaved (2i, 2i+1) and half (i, i+d/2), on the same weights:\n");
    row("difference of scores, weights as they are", layout_difference(rope, false),
        "two different functions");
    row("rows of W_q and W_k in the order evens, odds", layout_difference(rope, true), "the same");
}

/* ---- values ---- */

/* The output of attention over VECTORS positions from `first` on, for its last query. */
static void attend(const Rope *rope, int64_t first, bool rotate_values, double *out) {
    int64_t D = rope->D;
    real *query = rope->turned[0], *turned = rope->turned[1];
    double weights[VECTORS], sum = 0;
    turn(rope, first + VECTORS - 1, rope->q, query);
    for (int64_t v = 0; v < VECTORS; v++) {
        turn(rope, first + v, rope->k + v * D, turned);
        sum += weights[v] = exp(product(D, query, turned) / sqrt((double)D));
    }
    memset(out, 0, (size_t)D * sizeof *out);
    for (int64_t v = 0; v < VECTORS; v++) {
        const real *value = rope->q + v * D; /* any random vectors */
        if (rotate_values) turn(rope, first + v, value, turned);
        for (int64_t d = 0; d < D; d++)
            out[d] += weights[v] / sum * (double)(rotate_values ? turned[d] : value[d]);
    }
}

static double shift_change(const Rope *rope, bool rotate_values) {
    double *a = allocate((size_t)(2 * rope->D), sizeof *a), *b = a + rope->D, change = 0, size = 0;
    attend(rope, 0, rotate_values, a);
    attend(rope, 100, rotate_values, b);
    for (int64_t d = 0; d < rope->D; d++) {
        change += (a[d] - b[d]) * (a[d] - b[d]);
        size += a[d] * a[d];
    }
    free(a);
    return sqrt(change / size);
}

static void check_values(const Rope *rope) {
    printf("\nThe same words 100 positions later, relative change of attention's output:\n");
    row("values as they are", shift_change(rope, false), "none: only distances count");
    row("values rotated too (the classic mistake)", shift_change(rope, true),
        "absolute positions are back");
}

/* ---- precision ---- */

static double exact(double x) {
    return x;
}
static double fp32(double x) {
    return (double)(float)x;
}
static double fp16(double x) {
    return (double)half_to_float(half_from_float((float)x));
}
static double bf16(double x) {
    return (double)bfloat16_to_float(bfloat16_from_float((float)x));
}

enum { POWF, EXP_LOG, RECURRENCE, METHODS = 8 };
static const struct {
    const char *name;
    double (*frequency)(double), (*cosine)(double); /* the roundings; NULL: all in float */
} methods[METHODS] = {
    {"float: powf, angle and cosf in float", NULL, NULL},
    {"float: expf(-2i/d * logf(base)), angle in float", NULL, NULL},
    {"float: each position turned from the one before", NULL, NULL},
    {"double, stored as float (what this program does)", exact, fp32},
    {"double, stored as fp16", exact, fp16},
    {"double, stored as bf16", exact, bf16},
    {"frequencies in fp16, the rest in double", fp16, exact},
    {"frequencies in bf16, the rest in double", bf16, exact},
};

/* Largest error over all pairs and the window of up to 4096 positions that ends at `end`. */
static double largest_error(const Rope *rope, int method, int64_t end) {
    enum { WINDOW = 4096 };
    double largest = 0, base = rope->config->position.base;
    int64_t first = end > WINDOW ? end - WINDOW : 0;
    for (int64_t i = 0; i < rope->rotated / 2; i++) {
        double theta = pow(base, -2.0 * (double)i / (double)rope->rotated);
        float exponent = -2 * (float)i / (float)rope->rotated;
        float approximate =
            method == EXP_LOG ? expf(exponent * logf((float)base)) : powf((float)base, exponent);
        float c = 1, s = 0, step_c = cosf(approximate), step_s = sinf(approximate);
        for (int64_t m = method == RECURRENCE ? 0 : first; m <= end; m++) {
            double value;
            if (method == RECURRENCE)
                value = (double)c;
            else if (method < RECURRENCE)
                value = (double)cosf((float)m * approximate);
            else
                value = methods[method].cosine(cos((double)m * methods[method].frequency(theta)));
            if (m >= first) largest = fmax(largest, fabs(value - cos((double)m * theta)));
            float next = c * step_c - s * step_s;
            s = c * step_s + s * step_c;
            c = next;
        }
    }
    return largest;
}

static void check_precision(const Rope *rope) {
    static const int64_t ends[4] = {256, 2000, 10000, FAR};
    printf("\nLargest error of the cosines up to a position, by how they are computed:\n  %-50s",
           "");
    for (int n = 0; n < 4; n++) printf(" %9lld", (long long)ends[n]);
    putchar('\n');
    for (int method = 0; method < METHODS; method++) {
        printf("  %-50s", methods[method].name);
        for (int n = 0; n < 4; n++) printf("   %7.0e", largest_error(rope, method, ends[n]));
        putchar('\n');
    }
}

/* ---- the command ---- */

static bool run(const InspectSubject *subject, Error *error) {
    const ModelConfig *config = &subject->file.model->config;
    if (config->position.type != POSITION_ROPE)
        return error_set(error, "model.position.type is \"%s\"; this looks at \"rope\"",
                         position_type_name(config->position.type));
    Position *position = subject->file.model->position;
    if (!position_prepare(position, FAR + 1, error)) return false;
    int64_t D = config->d_model / config->num_heads;
    real *vectors = allocate((size_t)((2 * VECTORS + 2) * D), sizeof *vectors);
    for (int64_t n = 0; n < 2 * VECTORS * D; n++)
        vectors[n] = (real)random_truncated_normal(1, RANDOM_TEST, (uint64_t)n, 3);
    Rope rope = {.config = config,
                 .hooks = position_hooks(position, 0),
                 .D = D,
                 .rotated = position_rope_rotated(&config->position, D),
                 .frequencies = allocate((size_t)D, sizeof(double)),
                 .q = vectors,
                 .k = vectors + VECTORS * D,
                 .turned = {vectors + 2 * VECTORS * D, vectors + (2 * VECTORS + 1) * D}};
    position_rope_frequencies(&config->position, D, config->context_length, FAR + 1,
                              rope.frequencies, &rope.magnitude);
    printf("rope: theta %g, layout %s, %lld of %lld elements of a head turn, scaling %s\n\n",
           config->position.base, position_layout_name(POSITION_ROPE, config->position.layout),
           (long long)rope.rotated, (long long)D, rope_scaling_name(config->position.scaling.type));
    check_scores(&rope);
    check_vectors(&rope);
    check_layouts(&rope);
    check_values(&rope);
    check_precision(&rope);
    free(vectors);
    free(rope.frequencies);
    return true;
}

int inspect_rope(int argc, char **argv) {
    static const InspectCommand command = {
        .name = "inspect rope",
        .summary =
            "Checks on random vectors what rotating queries and keys does, and how exactly the angles\n"
            "must be computed, and prints it as a table.",
        .example = "./inspect rope configs/tiny.json",
        .run = run,
    };
    return inspect_run(&command, argc, argv);
}
