#include "pictures/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"

/* ---- reading ---- */

/* Cuts off the field at `*at`, in place and without its quotes. `*at` moves behind it, `*line` by the
 * line ends in it. Returns what ended it: ',', '\n', '\0', or '"' for a quote that is not closed. */
static char cut_field(char **at, int64_t *line) {
    char *from = *at, *to = from;
    bool quoted = *from == '"';
    for (from += quoted; *from && (quoted || (*from != ',' && *from != '\n')); from++) {
        if (quoted && *from == '"' && *++from != '"') {
            quoted = false;
            from--;
            continue;
        }
        *line += *from == '\n';
        *to++ = *from;
    }
    char end = quoted ? '"' : *from;
    if (end != ',' && to > *at && to[-1] == '\r') to--;
    *at = *from ? from + 1 : from;
    *to = '\0';
    return end;
}

static bool read_rows(CsvTable *table, char *at, Error *error) {
    const char *path = table->path;
    for (int64_t line = 1; *at; line++) {
        int64_t first = line, n = 0, columns = table->columns;
        char *blank = at + strspn(at, "\r");
        if (*blank == '\n' || !*blank) {
            at = blank + (*blank == '\n');
            continue;
        }
        for (char end = ','; end == ','; n++) {
            size_t place = (size_t)(table->rows * columns + n);
            if (table->rows > 0 && n == columns)
                return error_set(error, "%s: line %lld has more fields than the first line", path,
                                 (long long)first);
            if (table->rows == 0)
                table->fields = reallocate(table->fields, place + 1, sizeof *table->fields);
            table->fields[place] = at;
            end = cut_field(&at, &line);
            if (end == '"')
                return error_set(error, "%s: line %lld: a quote (\") is not closed", path,
                                 (long long)first);
        }
        if (table->rows == 0) table->columns = columns = n;
        if (columns == 1 && strchr(table->fields[0], ';'))
            return error_set(error, "%s: its fields are separated by ';'; save it with commas",
                             path);
        while (n < columns) table->fields[table->rows * columns + n++] = "";
        size_t rows = (size_t)++table->rows;
        table->lines = reallocate(table->lines, rows, sizeof *table->lines);
        table->lines[rows - 1] = first;
        table->fields =
            reallocate(table->fields, (rows + 1) * (size_t)columns, sizeof *table->fields);
    }
    return true;
}

bool csv_read(CsvTable *table, const char *path, Error *error) {
    size_t size;
    *table = (CsvTable){.path = string_copy(path),
                        .text = file_read(path, (size_t)1 << 30, &size, error)};
    if (!table->text) return false;
    if (strlen(table->text) != size)
        return error_set(error, "%s: is no text (it has zero bytes); save the table as UTF-8",
                         path);
    bool mark = strncmp(table->text, "\xEF\xBB\xBF", 3) == 0;
    return read_rows(table, table->text + (mark ? 3 : 0), error);
}

void csv_free(CsvTable *table) {
    free(table->path);
    free(table->text);
    free(table->fields);
    free(table->lines);
}

bool csv_number(const CsvTable *table, int64_t row, int64_t column, double *value, Error *error) {
    static const char *const gaps[] = {"", "nan", "-nan", "inf", "-inf"};
    const char *field = table->fields[row * table->columns + column];
    *value = NAN;
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        if (strcasecmp(field, gaps[i]) == 0) return true;
    return text_to_real(field, value) ||
           error_set(error, "%s: line %lld: \"%.40s\" in column %.40s is not a number", table->path,
                     (long long)table->lines[row], field, table->fields[column]);
}

/* ---- writing ---- */

static void write_number(FILE *out, double value) {
    if (!isnan(value)) fprintf(out, "%.9g", value);
}

static void write_name(FILE *out, const char *name) {
    if (!strpbrk(name, ",\"\r\n")) {
        fputs(name, out);
        return;
    }
    fputc('"', out);
    for (; *name; name++) {
        if (*name == '"') fputc('"', out);
        fputc(*name, out);
    }
    fputc('"', out);
}

static void write_name_or_number(FILE *out, const char *const *names, int64_t n) {
    if (names)
        write_name(out, names[n]);
    else
        fprintf(out, "%lld", (long long)n);
}

bool csv_write_matrix(const char *path, const double *values, int64_t rows, int64_t columns,
                      const char *const *row_names, const char *const *column_names, Error *error) {
    FileWriter writer;
    if (!file_writer_open(&writer, path, error)) return false;
    FILE *out = writer.stream;
    for (int64_t column = 0; column < columns; column++) {
        fputc(',', out); /* the first field, above the row names, is empty */
        write_name_or_number(out, column_names, column);
    }
    fputc('\n', out);
    for (int64_t row = 0; row < rows; row++) {
        write_name_or_number(out, row_names, row);
        for (int64_t column = 0; column < columns; column++) {
            fputc(',', out);
            write_number(out, values[row * columns + column]);
        }
        fputc('\n', out);
    }
    return file_writer_commit(&writer, NULL, error);
}

bool csv_write_columns(const char *path, const char *const *names, const double *const *columns,
                       int64_t column_count, int64_t rows, Error *error) {
    FileWriter writer;
    if (!file_writer_open(&writer, path, error)) return false;
    for (int64_t column = 0; column < column_count; column++) {
        if (column) fputc(',', writer.stream);
        write_name(writer.stream, names[column]);
    }
    fputc('\n', writer.stream);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t column = 0; column < column_count; column++) {
            if (column) fputc(',', writer.stream);
            write_number(writer.stream, columns[column][row]);
        }
        fputc('\n', writer.stream);
    }
    return file_writer_commit(&writer, NULL, error);
}
