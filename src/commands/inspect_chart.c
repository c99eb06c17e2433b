/* ./inspect chart: bars from a table of numbers, such as the results of the experiments. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "commands/inspect.h"
#include "commands/options.h"
#include "pictures/svg_chart.h"

/* A CSV file without quotes: the first column names the groups of bars, the first line the series. */
typedef struct Table {
    char *text; /* the names point into it */
    const char **groups, **series;
    int group_count, series_count;
    double *values; /* (groups, series); NAN for an empty field */
} Table;

static void table_free(Table *table) {
    free(table->text);
    free(table->groups);
    free(table->series);
    free(table->values);
}

/* Cuts the next field off a line. */
static char *next_field(char **line) {
    char *field = *line, *comma = strchr(field, ',');
    if (comma) *comma = '\0';
    *line = comma ? comma + 1 : field + strlen(field);
    return field;
}

static bool read_row(Table *table, char *line, int number, const char *path, Error *error) {
    int n = table->group_count++, columns = table->series_count;
    table->groups = reallocate(table->groups, (size_t)n + 1, sizeof *table->groups);
    table->values =
        reallocate(table->values, (size_t)(n + 1) * (size_t)columns, sizeof *table->values);
    table->groups[n] = next_field(&line);
    for (int i = 0; i < columns; i++) {
        char *field = next_field(&line);
        double *value = &table->values[n * columns + i];
        *value = NAN;
        if (*field && !text_to_real(field, value))
            return error_set(error, "%s: line %d: \"%s\" is no number", path, number, field);
    }
    return *line == '\0' ||
           error_set(error, "%s: line %d has more fields than the first line", path, number);
}

static bool table_read(Table *table, const char *path, Error *error) {
    enum { LIMIT = 1 << 24 };
    size_t size;
    table->text = file_read(path, LIMIT, &size, error);
    if (!table->text) return false;
    int number = 0;
    for (char *line = table->text, *next; *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        else
            next = line + strlen(line);
        if (number++ > 0) {
            if (!read_row(table, line, number, path, error)) return false;
            continue;
        }
        next_field(&line);
        while (*line) {
            size_t n = (size_t)table->series_count++;
            table->series = reallocate(table->series, n + 1, sizeof *table->series);
            table->series[n] = next_field(&line);
        }
    }
    return (table->group_count > 0 && table->series_count > 0) ||
           error_set(error,
                     "%s: has no table: a line of names and lines of a name and numbers are "
                     "needed",
                     path);
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
    Table table = {0};
    Error error;
    bool done =
        file_check_output(output, path, "the table", &error) && table_read(&table, path, &error);
    if (done) {
        BarChart chart = {.title = title ? title : path,
                          .y_title = unit,
                          .groups = table.groups,
                          .group_count = table.group_count,
                          .series = table.series,
                          .series_count = table.series_count,
                          .values = table.values,
                          .width = 300 + 60 * table.group_count};
        if (chart.width < 800) chart.width = 800;
        done = svg_bar_chart_write(output, &chart, &error);
    }
    table_free(&table);
    return done ? program_done("inspect chart") : program_failed("inspect chart", &error);
}
