#include "tokenizer/chunks.h"

#include <stdlib.h>

#include "base/array.h"

/* Large enough to hide the handing out, small enough that text and ids stay in a core's cache and
 * that the threads finish together. */
enum { GOOD_SIZE = 1 << 19 };

void chunks_cut(Chunks *chunks, const uint8_t *text, size_t length, const Pretokenizer *kind,
                const SpecialTokens *specials, size_t bytes) {
    if (bytes == 0) bytes = GOOD_SIZE;
    const uint8_t *end = text + length;
    for (const uint8_t *next; text < end; text = next) {
        next = (size_t)(end - text) <= bytes
                   ? end
                   : special_tokens_cut(specials, kind, text, text + bytes, end);
        array_reserve(chunks->chunks, chunks->count, chunks->capacity, 1);
        chunks->chunks[chunks->count++] = (Chunk){text, (size_t)(next - text)};
    }
}

void chunks_free(Chunks *chunks) {
    free(chunks->chunks);
    *chunks = (Chunks){0};
}
