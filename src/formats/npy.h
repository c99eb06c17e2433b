/* NumPy's .npy files, as far as token ids need them: one array of uint16 or uint32.
 *
 * Layout: "\x93NUMPY", major and minor version, header length (2 bytes in version 1, 4 bytes in 2
 * and 3), the header: a Python dictionary with descr, fortran_order and shape, then the numbers.
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef TINYLM_FORMATS_NPY_H
#define TINYLM_FORMATS_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"

typedef enum NpyType { NPY_UINT16, NPY_UINT32 } NpyType;

/* ---- reading ---- */

typedef struct NpyArray {
    const void *data; /* uint16_t or uint32_t [count], inside the map */
    NpyType type;
    int64_t count;
    MappedFile file;
} NpyArray;

/* Maps a file. Errors: not an .npy file, another version, not one-dimensional little-endian uint16
 * or uint32 in C order, a size of the file that is not exactly header + numbers. */
bool npy_open(NpyArray *array, const char *path, Error *error);
void npy_close(NpyArray *array);

static inline uint32_t npy_get(const NpyArray *array, int64_t index) {
    return array->type == NPY_UINT16 ? ((const uint16_t *)array->data)[index]
                                     : ((const uint32_t *)array->data)[index];
}

/* ---- writing ---- */

/* Writes ids in pieces; the count need not be known before. The file appears under its name when
 * it is committed, and not before. */
typedef struct NpyWriter {
    FileWriter file;
    NpyType type;
    int64_t count;
    uint32_t too_large; /* the first id that does not fit the type, or 0 */
} NpyWriter;

bool npy_writer_open(NpyWriter *writer, const char *path, NpyType type, Error *error);
/* False when a write failed or an id does not fit the type; commit then says which. */
bool npy_writer_write(NpyWriter *writer, const uint32_t *ids, size_t count);
/* Closes the writer either way. On failure there is no file, and what was there before still is. */
bool npy_writer_commit(NpyWriter *writer, Error *error);
void npy_writer_abort(NpyWriter *writer);

#endif
