/* The numbers of a picture beside it, as comma-separated text with nine significant digits. NaN is
 * an empty field; names with commas or quotes are quoted (RFC 4180). */
#ifndef TINYLM_PICTURES_CSV_H
#define TINYLM_PICTURES_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* One line per row of a matrix [rows][columns], after a line of column names; each begins with the
 * name of its row. Names that are NULL are numbers from 0. */
bool csv_write_matrix(const char *path, const double *values, int64_t rows, int64_t columns,
                      const char *const *row_names, const char *const *column_names, Error *error);

/* Columns of equal length beside each other, such as the x and the series of a chart. */
bool csv_write_columns(const char *path, const char *const *names, const double *const *columns,
                       int64_t column_count, int64_t rows, Error *error);

#endif
