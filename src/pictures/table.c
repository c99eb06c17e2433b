#include "pictures/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"

double *table_add(Table *table, char *name) {
    size_t n = (size_t)table->columns++;
    table->series = reallocate(table->series, n + 1, sizeof *table->series);
    double *y = allocate((size_t)table->rows, sizeof *y);
    table->series[n] =
        (ChartSeries){.name = name, .x = n ? table->series[0].y : y, .y = y, .count = table->rows};
    return y;
}

const double *table_column(const Table *table, const char *name) {
    for (int64_t n = 0; n < table->columns; n++)
        if (strcmp(table->series[n].name, name) == 0) return table->series[n].y;
    return NULL;
}

void table_free(Table *table) {
    for (int64_t n = 0; n < table->columns; n++)
        free(table->series[n].name), free(table->series[n].y);
    for (int64_t n = 0; table->row_names && n < table->rows; n++) free(table->row_names[n]);
    free(table->series);
    free(table->row_names);
}

/* ---- reading ---- */

/* Terminates the field at `*at` in place, without its quotes, and advances `*at` past it and `*line` by the
 * line ends inside it. Returns the delimiter: ',', '\n', '\0', or '"' if a quote is not closed. */
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

static bool read_number(const char *field, double *value) {
    static const char *const gaps[] = {"", "nan", "-nan", "inf", "-inf"};
    *value = NAN;
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        if (strcasecmp(field, gaps[i]) == 0) return true;
    return text_to_real(field, value);
}

/* One line of fields: the names of the columns if `header`, or else one more row. */
static bool read_line(Table *table, char **at, int64_t *line, bool header, const char *path,
                      Error *error) {
    long long first = *line;
    int64_t row = table->rows - 1, named = table->row_names != NULL;
    char *start = *at, end = ',';
    for (int64_t n = -named; end == ','; n++) {
        char *field = *at;
        end = cut_field(at, line);
        if (end == '"')
            return error_set(error, "%s: line %lld: a quote (\") is not closed", path, first);
        if (header && n >= 0) table_add(table, string_copy(field));
        if (header) continue;
        if (n == table->columns)
            return error_set(error, "%s: line %lld has more fields than the first line", path,
                             first);
        if (n < 0)
            table->row_names[row] = string_copy(field);
        else if (!read_number(field, &table->series[n].y[row]))
            return error_set(error, "%s: line %lld: \"%.40s\" in column %.40s is not a number",
                             path, first, field, table->series[n].name);
    }
    if (header && table->columns + named == 1 && strchr(start, ';'))
        return error_set(error, "%s: its fields are separated by ';'; save it with commas", path);
    return true;
}

static bool read_lines(Table *table, char *at, bool named, const char *path, Error *error) {
    int64_t most = 1;
    for (const char *c = at; *c; c++) most += *c == '\n';
    if (named) table->row_names = allocate_zeroed((size_t)most, sizeof *table->row_names);
    bool header = true, good = true;
    table->rows = most; /* what table_add allocates */
    for (int64_t line = 1; *at && good; line++) {
        char *blank = at + strspn(at, "\r");
        if (*blank == '\n' || !*blank) {
            at = blank + (*blank == '\n');
            continue;
        }
        if (!header) table->rows++;
        for (int64_t n = 0; !header && n < table->columns; n++)
            table->series[n].y[table->rows - 1] = NAN;
        good = read_line(table, &at, &line, header, path, error);
        if (header) table->rows = 0;
        header = false;
    }
    if (header) table->rows = 0;
    for (int64_t n = 0; n < table->columns; n++) table->series[n].count = table->rows;
    return good;
}

bool table_read(Table *table, const char *path, bool named, Error *error) {
    size_t size;
    *table = (Table){0};
    char *text = file_read(path, (size_t)1 << 30, &size, error);
    if (!text) return false;
    bool mark = strncmp(text, "\xEF\xBB\xBF", 3) == 0;
    bool done =
        strlen(text) == size
            ? read_lines(table, text + (mark ? 3 : 0), named, path, error)
            : error_set(error, "%s: is not text (it has zero bytes); save the table as UTF-8",
                        path);
    free(text);
    return done;
}

/* ---- writing ---- */

static void write_name(FILE *out, const char *name) {
    bool quoted = strpbrk(name, ",\"\r\n");
    if (quoted) fputc('"', out);
    for (; *name; name++) {
        if (*name == '"') fputc('"', out);
        fputc(*name, out);
    }
    if (quoted) fputc('"', out);
}

bool table_write(const Table *table, const char *path, Error *error) {
    FileWriter writer;
    if (!file_writer_open(&writer, path, error)) return false;
    FILE *out = writer.stream;
    for (int64_t row = -1; row < table->rows; row++) {
        if (table->row_names && row >= 0) write_name(out, table->row_names[row]);
        for (int64_t n = 0; n < table->columns; n++) {
            if (n || table->row_names) fputc(',', out);
            if (row < 0)
                write_name(out, table->series[n].name);
            else if (!isnan(table->series[n].y[row]))
                fprintf(out, "%.9g", table->series[n].y[row]);
        }
        fputc('\n', out);
    }
    return file_writer_commit(&writer, NULL, error);
}
