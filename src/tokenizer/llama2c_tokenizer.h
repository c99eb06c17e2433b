/* The tokenizer of llama2.c: pieces with scores, merged greedily. It is SentencePiece's BPE with
 * byte fallback, reduced to what llama2.c's `run` needs; stories260K was trained with it.
 *
 * File (tokenizer.bin): int32 longest piece, then per id: float32 score, int32 length, the bytes. The
 * number of pieces is not in the file; it is the model's vocabulary.
 * Ids 0, 1, 2 are <unk>, <s> (begin) and </s> (end); 3 … 258 stand for the bytes 0 … 255, written
 * "<0x41>" or as the byte itself; the others are pieces of text, with a leading space where there is one.
 * Source: llama2.c (Karpathy 2023), run.c, functions build_tokenizer, encode and decode. */
#ifndef TINYLM_TOKENIZER_LLAMA2C_TOKENIZER_H
#define TINYLM_TOKENIZER_LLAMA2C_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tokenizer/byte_map.h"

enum { LLAMA2C_UNKNOWN = 0, LLAMA2C_BEGIN = 1, LLAMA2C_END = 2, LLAMA2C_FIRST_BYTE = 3 };

/* A piece must score more than this to be merged. */
#define LLAMA2C_NEVER_MERGED (-1e10F)

typedef struct Llama2cPiece {
    uint8_t *bytes; /* not NUL-terminated */
    size_t length;
    float score; /* the higher, the earlier it is merged */
} Llama2cPiece;

typedef struct Llama2cTokenizer {
    Llama2cPiece *pieces; /* by id */
    int64_t count;
    ByteMap texts;            /* bytes of the pieces … */
    uint32_t *id_of_text;     /* … and the id of each */
    uint8_t byte_values[256]; /* 0, 1, 2, …: what the pieces "<0x00>" … decode to */
} Llama2cTokenizer;

/* Reads a file that must hold exactly `count` pieces. NULL on error. */
Llama2cTokenizer *llama2c_tokenizer_read(const char *path, int64_t count, Error *error);
/* The same from memory; `name` stands for the file in messages. */
Llama2cTokenizer *llama2c_tokenizer_parse(const void *data, size_t size, int64_t count,
                                          const char *name, Error *error);
bool llama2c_tokenizer_write(const Llama2cTokenizer *tokenizer, const char *path, Error *error);
void llama2c_tokenizer_free(Llama2cTokenizer *tokenizer);

/* Makes one from pieces; the array and all bytes are copied. Errors: fewer than the 259 ids above,
 * more than 2^24 pieces. NULL on error. */
Llama2cTokenizer *llama2c_tokenizer_new(const Llama2cPiece *pieces, int64_t count, Error *error);

/* Ids of a text, in memory that the caller frees: <s>, then, as in run.c, a space before a text that
 * is not empty, each character as a piece or else as its bytes, then merging: always the neighbours
 * whose joined bytes are the piece of the highest score above LLAMA2C_NEVER_MERGED, the leftmost of
 * equals. */
void llama2c_tokenizer_encode(const Llama2cTokenizer *tokenizer, const uint8_t *text, size_t length,
                              uint32_t **ids, size_t *count);

/* Bytes that `id` prints when it follows `previous`: a leading space right after <s> is dropped,
 * "<0x41>" is that byte, <unk>, <s> and </s> print nothing. NULL for an id that does not exist. */
const uint8_t *llama2c_tokenizer_bytes(const Llama2cTokenizer *tokenizer, uint32_t previous,
                                       uint32_t id, size_t *length);

#endif
