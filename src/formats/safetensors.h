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
#include "formats/stored_tensor.h"

/* The one name in a header that is no tensor. */
#define SAFETENSORS_METADATA "__metadata__"

/* ---- reading ---- */

typedef struct Safetensors {
    StoredTensors tensors;
    char *path;
    const uint8_t *data; /* the whole file */
    size_t size;
    MappedFile map; /* where safetensors_open put it */
    void *header;   /* the parsed JSON; names point into it */
} Safetensors;

/* Maps a file and checks the whole header against it, as the reference implementation does: lengths,
 * types, shapes times size equal to the offsets' distance, data without holes or overlaps up to the
 * end of the file, no name twice. Errors name the file and the tensor. Nothing to close on error. */
bool safetensors_open(Safetensors *file, const char *path, Error *error);
/* The same on bytes in memory, which must outlive `file`; `name` stands for the file in messages. */
bool safetensors_parse(Safetensors *file, const void *data, size_t size, const char *name,
                       Error *error);
void safetensors_close(Safetensors *file);

const char *safetensors_metadata(const Safetensors *file, const char *key); /* or NULL */

/* Compares the file with the checksum in its metadata. Errors: it has none, it differs. */
bool safetensors_verify(const Safetensors *file, Error *error);

/* ---- writing ---- */

/* Writes a complete file or none; of each tensor name, type, rank, shape and data are used. Data starts at a multiple of 8 bytes; tensors of wider types come
 * first, otherwise in the given order, so that each is aligned to its type and there are no holes.
 * `metadata` are {key, value} pairs (NULL when metadata_count is 0). `keep_previous`: see
 * file_writer_commit. With `checksum` the first metadata entry is "checksum": 16 hexadecimal digits of
 * a 64-bit FNV-1a hash over the whole file, taken as little-endian 64-bit words (the last one
 * padded with zeros), with these 16 digits as '0'. Each word is mixed in by an invertible step, so
 * a change within any one word is always found. Errors: an unusable name, a failed write. */
bool safetensors_write(const char *path, const StoredTensor *items, int64_t count,
                       const char *const (*metadata)[2], int metadata_count, bool checksum,
                       const char *keep_previous, Error *error);

#endif
