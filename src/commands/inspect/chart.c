/* ./inspect chart: bars from a table of numbers, such as the results of the experiments. */
#include <stdlib.h>

#include "base/file.h"
#include "commands/inspect/inspect.h"
#include "commands/options.h"
#include "pictures/csv.h"
#include "pictures/svg_chart.h"

/* The first column names the groups of bars, the first line the series. */
static bool draw(const CsvTable *table, Chart chart, const char *output, Error *error) {
    int64_t groups = table->rows - 1, count = table->columns - 1;
    if (groups < 1 || count < 1)
        return error_set(error,
                         "%s: has no table: a line of names and lines of a name and numbers are "
                         "needed",
                         table->path);
    const char **names = allocate((size_t)groups, sizeof *names);
    double *values = allocate((size_t)(groups * count), sizeof *values);
    ChartSeries *series = allocate((size_t)count, sizeof *series);
    bool done = true;
    for (int64_t g = 0; g < groups; g++) names[g] = table->fields[(g + 1) * table->columns];
    for (int64_t s = 0; s < count; s++) {
        double *y = values + s * groups;
        for (int64_t g = 0; g < groups && done; g++)
            done = csv_number(table, g + 1, s + 1, &y[g], error);
        series[s] = (ChartSeries){.name = table->fields[s + 1], .y = y, .count = groups};
    }
    chart.groups = names;
    chart.group_count = (int)groups;
    chart.series = series;
    chart.series_count = (int)count;
    chart.width = groups < 8 ? 800 : 300 + 60 * (int)groups;
    done = done && svg_chart_write(output, &chart, 1, error);
    free(names);
    free(values);
    free(series);
    return done;
}

int inspect_chart(int argc, char **argv) {
    const char *path = NULL, *title = NULL, *unit = NULL, *output = "chart.svg";
    const Option options[] = {
        ARGUMENT("FILE.csv", &path,
                 "the table: names of series in the first line, of groups in the first column"),
        OPTION_TEXT("--title", "TEXT", &title, "title of the chart"),
        OPTION_TEXT("--unit", "TEXT", &unit, "what the numbers are"),
        OPTION_TEXT("--output", "FILE.svg", &output, "the picture"),
        OPTIONS_END,
    };
    const Program program = {"inspect chart", "Draws a table of numbers as groups of bars.",
                             "./inspect chart runs/positions/accuracy.csv --title \"Tasks\" "
                             "--output accuracy.svg",
                             options};
    options_read(&program, argc, argv);
    CsvTable table = {0};
    Error error;
    bool done =
        file_check_output(output, path, "the table", &error) && csv_read(&table, path, &error) &&
        draw(&table, (Chart){.title = title ? title : path, .y.title = unit}, output, &error);
    csv_free(&table);
    return done ? program_done("inspect chart") : program_failed("inspect chart", &error);
}
