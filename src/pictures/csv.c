#include "pictures/csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

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
