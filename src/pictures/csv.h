/* Tables of comma-separated text (RFC 4180): the numbers of a picture beside it, with nine significant
 * digits, and tables to draw. NaN is an empty field; names with commas or quotes are quoted. */
#ifndef TINYLM_PICTURES_CSV_H
#define TINYLM_PICTURES_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A table as it was read. Row 0 holds the names of the columns. */
typedef struct CsvTable {
    char *path, *text;   /* the fields point into the text */
    const char **fields; /* [rows][columns]; "" where a line ends early */
    int64_t *lines;      /* (rows) the number of the line that each row begins in */
    int64_t rows, columns;
} CsvTable;

/* Reads a file. A byte order mark, CR LF and blank lines do not count. Errors: no text, no row of names,
 * semicolons for commas, a quote that is not closed, or a line with more fields than the first.
 * Release with csv_free in any case. */
bool csv_read(CsvTable *table, const char *path, Error *error);
void csv_free(CsvTable *table);
/* A field as a number; NaN when it is empty or a number that is not finite. */
bool csv_number(const CsvTable *table, int64_t row, int64_t column, double *value, Error *error);

/* One line per row of a matrix [rows][columns], after a line of column names; each begins with the
 * name of its row. Names that are NULL are numbers from 0. */
bool csv_write_matrix(const char *path, const double *values, int64_t rows, int64_t columns,
                      const char *const *row_names, const char *const *column_names, Error *error);

/* Columns of equal length beside each other, such as the x and the series of a chart. */
bool csv_write_columns(const char *path, const char *const *names, const double *const *columns,
                       int64_t column_count, int64_t rows, Error *error);

#endif
