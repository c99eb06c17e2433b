#include "pictures/loss_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "pictures/svg_chart.h"

enum { STEP, TRAIN_LOSS, VALID_LOSS, LEARNING_RATE, COLUMN_COUNT };
static const char *const column_names[] = {"step", "train_loss", "valid_loss", "learning_rate"};

/* One line of the chart: the rows of the log in which this column was measured. */
typedef struct Curve {
    double *steps, *values;
    int64_t count;
} Curve;

static void curve_add(Curve *curve, double step, double value) {
    if (isnan(value)) return;
    curve->steps[curve->count] = step;
    curve->values[curve->count++] = value;
}

/* Cuts the line at `*at` into its next field; NULL after the last one. */
static char *next_field(char **at) {
    if (!*at) return NULL;
    char *field = *at, *comma = strchr(field, ',');
    if (comma) *comma = '\0';
    *at = comma ? comma + 1 : NULL;
    return field;
}

static char *next_line(char **at) {
    if (!**at) return NULL;
    char *line = *at, *end = strchr(line, '\n');
    *at = end ? end + 1 : line + strlen(line);
    if (end) *end = '\0';
    size_t length = strlen(line);
    if (length && line[length - 1] == '\r') line[length - 1] = '\0';
    return line;
}

static bool read_header(char *line, int where[COLUMN_COUNT], const char *path, Error *error) {
    for (int c = 0; c < COLUMN_COUNT; c++) where[c] = -1;
    char *field;
    for (int n = 0; (field = next_field(&line)); n++)
        for (int c = 0; c < COLUMN_COUNT; c++)
            if (strcmp(field, column_names[c]) == 0) where[c] = n;
    for (int c = 0; c < COLUMN_COUNT; c++)
        if (where[c] < 0)
            return error_set(error,
                             "%s: its first line has no column \"%s\"; is it the log of a run?",
                             path, column_names[c]);
    return true;
}

static bool read_row(char *line, const int where[COLUMN_COUNT], double row[COLUMN_COUNT],
                     int64_t line_number, const char *path, Error *error) {
    for (int c = 0; c < COLUMN_COUNT; c++) row[c] = NAN;
    char *field;
    for (int n = 0; (field = next_field(&line)); n++)
        for (int c = 0; c < COLUMN_COUNT; c++) {
            if (where[c] != n || !*field) continue;
            if (!text_to_real(field, &row[c]))
                return error_set(error, "%s: line %lld: \"%.40s\" in column %s is not a number",
                                 path, (long long)line_number, field, column_names[c]);
        }
    return true;
}

static bool read_curves(char *text, Curve curves[COLUMN_COUNT], const char *path, Error *error) {
    int where[COLUMN_COUNT];
    char *at = text, *line = next_line(&at);
    if (!line) return error_set(error, "%s: is empty; is it the log of a run?", path);
    if (!read_header(line, where, path, error)) return false;
    for (int64_t number = 2; (line = next_line(&at)); number++) {
        double row[COLUMN_COUNT];
        if (!*line) continue;
        if (!read_row(line, where, row, number, path, error)) return false;
        for (int c = 0; c < COLUMN_COUNT; c++) curve_add(&curves[c], row[STEP], row[c]);
    }
    return true;
}

static char *draw_curves(const Curve curves[COLUMN_COUNT], const char *path, Error *error) {
    const Curve *train = &curves[TRAIN_LOSS], *valid = &curves[VALID_LOSS];
    ChartSeries losses[] = {
        {"training", train->steps, train->values, train->count, false},
        {"validation", valid->steps, valid->values, valid->count, valid->count <= 60}};
    const Curve *rate = &curves[LEARNING_RATE];
    ChartSeries rates[] = {{"learning rate", rate->steps, rate->values, rate->count, false}};
    Chart charts[] = {{.title = "Loss",
                       .x = {.title = "step"},
                       .y = {.title = "cross-entropy (nats per token)"},
                       .series = losses,
                       .series_count = 2},
                      {.x = {.title = "step"},
                       .y = {.title = "learning rate"},
                       .series = rates,
                       .series_count = 1,
                       .height = 200}};
    return svg_chart_text(path, charts, rate->count > 0 ? 2 : 1, error);
}

char *loss_chart_text(const char *log_csv_path, Error *error) {
    size_t size;
    char *text = file_read(log_csv_path, (size_t)1 << 30, &size, error);
    if (!text) return NULL;
    int64_t lines = 1;
    for (const char *c = text; (c = strchr(c, '\n')); c++) lines++;
    Curve curves[COLUMN_COUNT];
    double *memory = allocate((uint64_t)lines, 2 * COLUMN_COUNT * sizeof(double));
    for (int c = 0; c < COLUMN_COUNT; c++)
        curves[c] = (Curve){memory + 2 * c * lines, memory + (2 * c + 1) * lines, 0};
    char *svg = NULL;
    if (read_curves(text, curves, log_csv_path, error))
        svg = draw_curves(curves, log_csv_path, error);
    free(memory);
    free(text);
    return svg;
}

bool loss_chart_from_log(const char *log_csv_path, const char *svg_path, Error *error) {
    char *svg = loss_chart_text(log_csv_path, error);
    bool done = svg && file_write(svg_path, svg, strlen(svg), error);
    free(svg);
    return done;
}
