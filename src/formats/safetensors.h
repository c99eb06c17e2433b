/* safetensors: named arrays in one file.
 *
 * Layout: 8 bytes n (little-endian), n bytes of JSON, the data. The JSON object maps each name to
 * {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]} (counted from the start of the
 * data); the name "__metadata__" maps strings to strings instead.
 * https://github.com/huggingface/safetensors (format description in its README). */
#ifndef TINYLM_FORMATS_SAFETENSORS_H
#define TINYLM_FORMATS_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"
#include "base/real.h"

typedef enum SafetensorsType {
    SAFETENSORS_F64,
    SAFETENSORS_I64,
    SAFETENSORS_U64,
    SAFETENSORS_F32,
    SAFETENSORS_I32,
    SAFETENSORS_U32,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_I16,
    SAFETENSORS_U16,
    SAFETENSORS_I8,
    SAFETENSORS_U8,
    SAFETENSORS_BOOL,
    SAFETENSORS_TYPE_COUNT
} SafetensorsType;

/* The type of a `real` array in memory. */
#define SAFETENSORS_REAL (sizeof(real) == 8 ? SAFETENSORS_F64 : SAFETENSORS_F32)

enum { SAFETENSORS_MAX_RANK = 8 };

/* The one name in a header that is no tensor. */
#define SAFETENSORS_METADATA "__metadata__"

const char *safetensors_type_name(SafetensorsType type); /* "F32" */
size_t safetensors_type_size(SafetensorsType type);      /* bytes of one number */

/* ---- reading ---- */

typedef struct SafetensorsTensor {
    const char *name;
    SafetensorsType type;
    int rank;
    int64_t shape[SAFETENSORS_MAX_RANK];
    int64_t count;       /* product of the shape; 1 for rank 0 */
    const uint8_t *data; /* inside the map; any alignment: copy, do not cast */
    size_t bytes;
} SafetensorsTensor;

typedef struct Safetensors {
    SafetensorsTensor *tensors; /* in the order of the header */
    int64_t count;
    char *path;
    const uint8_t *data; /* the whole file */
    size_t size;
    MappedFile map;             /* where safetensors_open put it */
    void *header;               /* the parsed JSON; names point into it */
    SafetensorsTensor **sorted; /* by name */
} Safetensors;

/* Maps a file and checks the whole header against it, as the reference implementation does: lengths,
 * types, shapes times size equal to the offsets' distance, data without holes or overlaps up to the
 * end of the file, no name twice. Errors name the file and the tensor. Nothing to close on error. */
bool safetensors_open(Safetensors *file, const char *path, Error *error);
/* The same on bytes in memory, which must outlive `file`; `name` stands for the file in messages. */
bool safetensors_parse(Safetensors *file, const void *data, size_t size, const char *name,
                       Error *error);
void safetensors_close(Safetensors *file);

const SafetensorsTensor *safetensors_find(const Safetensors *file, const char *name); /* or NULL */
const char *safetensors_metadata(const Safetensors *file, const char *key);           /* or NULL */

/* The numbers of an F64, F32, F16 or BF16 tensor as `real` [count]; false for the other types. */
bool safetensors_to_real(const SafetensorsTensor *tensor, real *out);

/* Compares the file with the checksum in its metadata. Errors: it has none, it differs. */
bool safetensors_verify(const Safetensors *file, Error *error);

/* ---- writing ---- */

typedef struct SafetensorsItem {
    const char *name;
    SafetensorsType type;
    int rank;
    int64_t shape[SAFETENSORS_MAX_RANK];
    const void *data; /* row-major, little-endian */
} SafetensorsItem;

/* Writes a complete file or none. Data starts at a multiple of 8 bytes; tensors of wider types come
 * first, otherwise in the given order, so that each is aligned to its type and there are no holes.
 * `metadata` are {key, value} pairs (NULL when metadata_count is 0). `keep_previous`: see
 * file_writer_commit. With `checksum` the first metadata entry is "checksum": 16 hexadecimal digits of
 * a 64-bit FNV-1a hash over the whole file, taken as little-endian 64-bit words (the last one
 * padded with zeros), with these 16 digits as '0'. Each word is mixed in by an invertible step, so
 * a change within any one word is always found. Errors: an unusable name, a failed write. */
bool safetensors_write(const char *path, const SafetensorsItem *items, int64_t count,
                       const char *const (*metadata)[2], int metadata_count, bool checksum,
                       const char *keep_previous, Error *error);

#endif
