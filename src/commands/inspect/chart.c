/* ./inspect chart: bars from a table of numbers, such as the results of the experiments. */
#include "base/file.h"
#include "commands/inspect/inspect.h"
#include "commands/options.h"
#include "pictures/table.h"

/* The first column names the groups of bars, the first line the series. */
static bool draw(const Table *table, const char *path, const char *title, const char *unit,
                 const char *output, Error *error) {
    if (table->rows < 1 || table->columns < 1)
        return error_set(error,
                         "%s: has no table: a line of names and lines of a name and numbers are "
                         "needed",
                         path);
    const Chart chart = {.title = title ? title : path,
                         .y.title = unit,
                         .series = table->series,
                         .series_count = (int)table->columns,
                         .groups = table->row_names,
                         .group_count = (int)table->rows,
                         .width = table->rows < 8 ? 800 : 300 + 60 * (int)table->rows};
    return svg_chart_write(output, &chart, 1, error);
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
                             "./inspect chart accuracy.csv --title \"Tasks\" "
                             "--output accuracy.svg",
                             options};
    options_read(&program, argc, argv);
    Table table = {0};
    Error error;
    bool done = file_check_output(output, path, "the table", &error) &&
                table_read(&table, path, true, &error) &&
                draw(&table, path, title, unit, output, &error);
    table_free(&table);
    return done ? program_done("inspect chart") : program_failed("inspect chart", &error);
}
