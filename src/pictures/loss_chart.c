#include "pictures/loss_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pictures/csv.h"
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

static bool read_curves(const CsvTable *log, Curve curves[COLUMN_COUNT], Error *error) {
    int64_t where[COLUMN_COUNT];
    for (int c = 0; c < COLUMN_COUNT; c++) {
        for (where[c] = 0; where[c] < log->columns; where[c]++)
            if (strcmp(log->fields[where[c]], column_names[c]) == 0) break;
        if (where[c] == log->columns)
            return error_set(error,
                             "%s: its first line has no column \"%s\"; is it the log of a run?",
                             log->path, column_names[c]);
    }
    for (int64_t row = 1; row < log->rows; row++) {
        double values[COLUMN_COUNT];
        for (int c = 0; c < COLUMN_COUNT; c++)
            if (!csv_number(log, row, where[c], &values[c], error)) return false;
        for (int c = 0; c < COLUMN_COUNT; c++) curve_add(&curves[c], values[STEP], values[c]);
    }
    return true;
}

static bool draw_curves(const Curve curves[COLUMN_COUNT], const char *name, const char *path,
                        Error *error) {
    const Curve *train = &curves[TRAIN_LOSS], *valid = &curves[VALID_LOSS];
    ChartSeries losses[] = {
        {"training", train->steps, train->values, train->count, false},
        {"validation", valid->steps, valid->values, valid->count, valid->count <= 60}};
    const Curve *rate = &curves[LEARNING_RATE];
    ChartSeries rates[] = {{"learning rate", rate->steps, rate->values, rate->count, false}};
    char *title = string_format("Loss of %s", name);
    Chart charts[] = {{.title = title,
                       .x = {.title = "step"},
                       .y = {.title = "cross-entropy (nats per token)"},
                       .series = losses,
                       .series_count = 2},
                      {.x = {.title = "step"},
                       .y = {.title = "learning rate"},
                       .series = rates,
                       .series_count = 1,
                       .height = 200}};
    bool done = svg_chart_write(path, charts, rate->count > 0 ? 2 : 1, error);
    free(title);
    return done;
}

bool loss_chart_from_log(const char *log_csv_path, const char *name, const char *svg_path,
                         Error *error) {
    CsvTable log;
    bool done = false;
    if (csv_read(&log, log_csv_path, error)) {
        Curve curves[COLUMN_COUNT];
        int64_t rows = log.rows + 1;
        double *memory = allocate((uint64_t)rows, 2 * COLUMN_COUNT * sizeof(double));
        for (int c = 0; c < COLUMN_COUNT; c++)
            curves[c] = (Curve){memory + 2 * c * rows, memory + (2 * c + 1) * rows, 0};
        done = read_curves(&log, curves, error) && draw_curves(curves, name, svg_path, error);
        free(memory);
    }
    csv_free(&log);
    return done;
}
