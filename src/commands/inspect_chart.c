/* ./inspect chart: bars from a table of numbers, such as the results of the experiments. */
#include <stdlib.h>

#include "base/file.h"
#include "commands/inspect.h"
#include "commands/options.h"
#include "pictures/csv.h"
#include "pictures/svg_chart.h"

/* The first column names the groups of bars, the first line the series. */
static bool draw(const CsvTable *table, BarChart chart, const char *output, Error *error) {
    int64_t groups = table->rows - 1, series = table->columns - 1;
    if (groups < 1 || series < 1)
        return error_set(error,
                         "%s: has no table: a line of names and lines of a name and numbers are "
                         "needed",
                         table->path);
    const char **names = allocate((size_t)groups, sizeof *names);
    double *values = allocate((size_t)(groups * series), sizeof *values);
    bool done = true;
    for (int64_t g = 0; g < groups; g++) {
        names[g] = table->fields[(g + 1) * table->columns];
        for (int64_t s = 0; s < series && done; s++)
            done = csv_number(table, g + 1, s + 1, &values[g * series + s], error);
    }
    chart.groups = names;
    chart.group_count = (int)groups;
    chart.series = table->fields + 1;
    chart.series_count = (int)series;
    chart.values = values;
    chart.width = groups < 8 ? 800 : 300 + 60 * (int)groups;
    done = done && svg_bar_chart_write(output, &chart, error);
    free(names);
    free(values);
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
        draw(&table, (BarChart){.title = title ? title : path, .y_title = unit}, output, &error);
    csv_free(&table);
    return done ? program_done("inspect chart") : program_failed("inspect chart", &error);
}
