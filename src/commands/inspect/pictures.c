#include "commands/inspect/pictures.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/printable.h"
#include "pictures/csv.h"

/* The two files of a picture. */
typedef struct Output {
    char *title, *svg, *csv;
} Output;

static bool output_begin(Output *output, const InspectSubject *subject, const char *name,
                         const char *what, Error *error) {
    char *svg = string_format("%s.svg", name), *csv = string_format("%s.csv", name);
    *output = (Output){string_format("%s: %s", subject->title, what),
                       path_join(subject->folder, svg), path_join(subject->folder, csv)};
    free(svg);
    free(csv);
    return directory_create(subject->folder, error);
}

static bool output_end(Output *output, bool written, const char *what) {
    if (written) print_line(stdout, "%-44s %s", output->svg, what);
    free(output->title);
    free(output->svg);
    free(output->csv);
    return written;
}

/* ---- maps ---- */

static bool write_numbers(const char *path, const HeatMap *map, Error *error) {
    int64_t rows = map->panel_count * map->rows;
    char **names = allocate((size_t)rows, sizeof *names);
    for (int64_t n = 0; n < rows; n++) {
        int64_t i = n % map->rows;
        char *label = map->y.labels ? string_copy(map->y.labels[i])
                                    : string_format("%g", map->y.first + (double)i);
        const char *panel = map->panel_titles ? map->panel_titles[n / map->rows] : NULL;
        names[n] = panel ? string_format("%s: %s", panel, label) : string_copy(label);
        free(label);
    }
    bool written = csv_write_matrix(path, map->values, rows, map->columns,
                                    (const char *const *)names, map->x.labels, error);
    for (int64_t n = 0; n < rows; n++) free(names[n]);
    free(names);
    return written;
}

bool inspect_draw_map(const InspectSubject *subject, const char *name, const char *what,
                      HeatMap map, bool numbers, Error *error) {
    Output output;
    bool written = output_begin(&output, subject, name, what, error);
    map.title = output.title;
    if (map.panel_count == 0) map.panel_count = 1;
    written = written && heat_map_write(output.svg, &map, error) &&
              (!numbers || write_numbers(output.csv, &map, error));
    return output_end(&output, written, what);
}

/* ---- curves ---- */

double *curves_add(Curves *curves, const char *name) {
    size_t n = (size_t)curves->count++;
    curves->names = reallocate(curves->names, n + 1, sizeof *curves->names);
    curves->values = reallocate(curves->values, n + 1, sizeof *curves->values);
    curves->series = reallocate(curves->series, n + 1, sizeof *curves->series);
    curves->names[n] = string_copy(name);
    curves->values[n] = allocate((size_t)curves->rows, sizeof(double));
    curves->series[n] = (ChartSeries){.name = curves->names[n],
                                      .x = curves->values[0],
                                      .y = curves->values[n],
                                      .count = curves->rows};
    return curves->values[n];
}

void curves_free(Curves *curves) {
    for (int64_t n = 0; n < curves->count; n++) free(curves->names[n]), free(curves->values[n]);
    free(curves->names);
    free(curves->values);
    free(curves->series);
}

bool inspect_draw_charts(const InspectSubject *subject, const char *name, const char *what,
                         Chart *charts, int count, const Curves *curves, Error *error) {
    Output output;
    bool written = output_begin(&output, subject, name, what, error);
    charts[0].title = output.title;
    written = written && svg_chart_write(output.svg, charts, count, error) &&
              csv_write_columns(output.csv, (const char *const *)curves->names,
                                (const double *const *)curves->values, curves->count, curves->rows,
                                error);
    return output_end(&output, written, what);
}
