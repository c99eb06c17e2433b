#include "pictures/loss_chart.h"

#include <math.h>
#include <stdlib.h>

#include "pictures/table.h"

/* A curve through the rows of the log in which a column was measured; its x, followed by its y, is the
 * caller's to free. */
static bool read_curve(const Table *log, const char *path, const char *column, char *name,
                       ChartSeries *curve, Error *error) {
    const double *steps = table_column(log, "step"), *values = table_column(log, column);
    if (!steps || !values)
        return error_set(error, "%s: its first line has no column \"%s\"; is it the log of a run?",
                         path, steps ? column : "step");
    double *x = allocate((size_t)log->rows, 2 * sizeof *x);
    *curve = (ChartSeries){.name = name, .x = x, .y = x + log->rows};
    for (int64_t row = 0; row < log->rows; row++) {
        if (isnan(values[row])) continue;
        x[curve->count] = steps[row];
        curve->y[curve->count++] = values[row];
    }
    return true;
}

bool loss_chart_from_log(const char *log_csv_path, const char *name, const char *svg_path,
                         Error *error) {
    Table log;
    ChartSeries curves[3] = {{0}};
    bool done = table_read(&log, log_csv_path, false, error) &&
                read_curve(&log, log_csv_path, "train_loss", "training", &curves[0], error) &&
                read_curve(&log, log_csv_path, "valid_loss", "validation", &curves[1], error) &&
                read_curve(&log, log_csv_path, "learning_rate", "learning rate", &curves[2], error);
    if (done) {
        curves[1].points = curves[1].count <= 60;
        char *title = string_format("Loss of %s", name);
        Chart charts[] = {{.title = title,
                           .x.title = "step",
                           .y.title = "cross-entropy (nats per token)",
                           .series = curves,
                           .series_count = 2},
                          {.x.title = "step",
                           .y.title = "learning rate",
                           .series = &curves[2],
                           .series_count = 1,
                           .height = 200}};
        done = svg_chart_write(svg_path, charts, curves[2].count > 0 ? 2 : 1, error);
        free(title);
    }
    for (int i = 0; i < 3; i++) free((double *)curves[i].x);
    table_free(&log);
    return done;
}
