/* Tensors as they lie in a file: the types of their numbers, lists with a look-up by name, and the checks
 * that every format needs. safetensors and GGUF fill such lists; model_weights reads models out of
 * them. */
#ifndef TINYLM_FORMATS_STORED_TENSOR_H
#define TINYLM_FORMATS_STORED_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/real.h"

/* The types of numbers. Values are GGUF's, and after them those that GGUF does not have; GGUF's blocks of
 * quantized numbers are known by name and size, so that they can be listed. */
typedef enum NumberType {
    NUMBER_F32 = 0,
    NUMBER_F16 = 1,
    NUMBER_I8 = 24,
    NUMBER_I16,
    NUMBER_I32,
    NUMBER_I64,
    NUMBER_F64,
    NUMBER_BF16 = 30,
    NUMBER_GGUF_COUNT,
    NUMBER_BOOL = NUMBER_GGUF_COUNT,
    NUMBER_U8,
    NUMBER_U16,
    NUMBER_U32,
    NUMBER_U64,
    NUMBER_TYPE_COUNT
} NumberType;

/* The type of a `real` array in memory. */
#define NUMBER_REAL (sizeof(real) == 8 ? NUMBER_F64 : NUMBER_F32)

const char *number_type_name(NumberType type); /* "F32"; NULL: there is no such type */
size_t number_type_size(NumberType type);      /* bytes of one number, or of one block */
/* The type of this name, quantized ones left out, or NUMBER_TYPE_COUNT. */
NumberType number_type_find(const char *name);

enum { STORED_MAX_RANK = 8 };

typedef struct StoredTensor {
    char *name;
    NumberType type;
    int rank;
    int64_t shape[STORED_MAX_RANK]; /* slowest dimension first */
    const void *data; /* row-major, little-endian, at any alignment: copy, do not cast */
    int64_t count;    /* product of the shape; 1 for rank 0 */
    size_t bytes;
} StoredTensor;

/* Sets count and bytes from type and shape. False when they overflow, when a length is negative or a row
 * is not a whole number of blocks. */
bool stored_tensor_measure(StoredTensor *tensor);

/* The numbers of an F64, F32, F16 or BF16 tensor as `real` [count]; false for the other types. F64 is
 * rounded to nearest when real is float; the other three are exact. */
bool stored_tensor_to_real(const StoredTensor *tensor, real *out);
bool stored_tensor_is_real(const StoredTensor *tensor); /* whether it is of one of the four */

/* Writes numbers as F32 or F16 (rounded to nearest). */
void write_reals(FILE *stream, NumberType type, const real *values, int64_t count);

/* "4096 x 128", for messages; the caller frees it. */
char *shape_text(int rank, const int64_t *shape);

typedef struct StoredTensors {
    StoredTensor *items; /* in the order of the file */
    int64_t count, capacity;
    StoredTensor **sorted; /* by name */
} StoredTensors;

/* Adds a tensor under a copy of `name`, which stored_tensors_free frees with `own_names`. */
void stored_tensors_add(StoredTensors *list, const char *name, StoredTensor tensor);
/* Makes the look-up. Returns a tensor whose name occurs twice, or NULL. */
const StoredTensor *stored_tensors_sort(StoredTensors *list);
/* The data of the tensors, all of it within [start, start + size), must not overlap: what lies in two
 * tensors at once is how a file deceives its reader. With `packed` there are no holes either, and the
 * last tensor ends where the file does. Call it before stored_tensors_sort. */
bool stored_tensors_check(StoredTensors *list, const uint8_t *start, size_t size, bool packed,
                          const char *path, Error *error);
const StoredTensor *stored_tensors_find(const StoredTensors *list, const char *name); /* or NULL */
/* Frees the list and, when they are its own, the names. */
void stored_tensors_free(StoredTensors *list, bool own_names);

#endif
