/* Tables of numbers: named columns, drawn as curves or bars, read and written as comma-separated text
 * (RFC 4180) with nine significant digits. NaN is an empty field; names with commas or quotes are quoted. */
#ifndef TINYLM_PICTURES_TABLE_H
#define TINYLM_PICTURES_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "pictures/svg_chart.h"

typedef struct Table {
    int64_t rows, columns;
    ChartSeries *series; /* (columns) owned, with their names and numbers; x is the first column */
    char **row_names;    /* (rows) owned; NULL: none */
} Table;

/* Adds a column of `rows` numbers, to be filled. The table becomes the owner of its name. */
double *table_add(Table *table, char *name);
/* The column with a name; NULL if there is none. */
const double *table_column(const Table *table, const char *name);
void table_free(Table *table);

/* Reads a file whose first line names the columns; if `named`, the first column names the rows and is
 * none of the numbers. A byte order mark, CR LF and blank lines are skipped; missing fields, empty ones,
 * "nan" and "inf" are NaN. Errors: a binary file, semicolons for commas, a quote that is not closed, a
 * line with more fields than the first, or a field that is not a number. Call table_free in any case. */
bool table_read(Table *table, const char *path, bool named, Error *error);
bool table_write(const Table *table, const char *path, Error *error);

#endif
