/* A hash table from byte strings to the numbers 0, 1, 2, … in order of first appearance. It counts
 * pre-tokens, is the key of the encoder's cache, and finds tokens and merges by their bytes. The caller
 * keeps the value of a string in an array indexed by its number.
 *
 * Strings may hold any bytes (also NUL); none is empty. Up to 8 bytes, nearly all words, the string
 * itself is the key in the table, compared as one number; longer ones are compared by a 64-bit hash,
 * then byte by byte. Open addressing, linear probing, at most half full. */
#ifndef TINYLM_TOKENIZER_BYTE_MAP_H
#define TINYLM_TOKENIZER_BYTE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "tokenizer/pretokenizer.h"

#define BYTE_MAP_NONE UINT32_MAX

typedef struct ByteMapSlot {
    uint64_t key;    /* the bytes, first one lowest, padded with zeros; or the hash */
    uint32_t length; /* 0: the slot is free */
    uint32_t index;
} ByteMapSlot;

typedef struct ByteMap {
    ByteMapSlot *slots;
    uint64_t slot_mask;
    int shift;        /* 64 - log2(slots) */
    uint32_t count;   /* strings in the map */
    uint64_t *starts; /* (count + 1): where each string begins in `bytes` */
    uint8_t *bytes;
    uint64_t starts_capacity, bytes_capacity;
} ByteMap;

void byte_map_init(ByteMap *map); /* empty */
void byte_map_free(ByteMap *map);
void byte_map_clear(ByteMap *map); /* empty, but keeps its memory */

/* String number `index` (below count); valid until the next addition. */
static inline const uint8_t *byte_map_string(const ByteMap *map, uint32_t index, size_t *length) {
    *length = (size_t)(map->starts[index + 1] - map->starts[index]);
    return map->bytes + map->starts[index];
}

/* The number of a string, or BYTE_MAP_NONE. Thread-safe as long as no thread adds. */
uint32_t byte_map_find(const ByteMap *map, const uint8_t *text, size_t length);

/* The number of a string, which is added if it is new (its number is then the previous count). length
 * is from 1 to 2^32 - 1. `end`: where the memory around the text ends; 8 bytes are read at `text` at
 * once if they lie before it. */
static inline uint32_t byte_map_add(ByteMap *map, const uint8_t *text, size_t length,
                                    const uint8_t *end);

/* ---- the part that must be fast ---- */

uint32_t byte_map_add_any(ByteMap *map, uint64_t key, const uint8_t *text, size_t length);

static inline uint64_t byte_map_place(const ByteMap *map, uint64_t key) {
    return (key ^ key >> 32) * 0x9E3779B97F4A7C15u >> map->shift; /* Fibonacci hashing */
}

static inline uint64_t byte_map_key(const uint8_t *text, size_t length, const uint8_t *end) {
    if (length > 8) return hash_bytes(0, text, length);
    if (end - text >= 8) return pretoken_load(text) & UINT64_MAX >> (64 - 8 * length);
    uint8_t padded[8] = {0};
    memcpy(padded, text, length);
    return pretoken_load(padded);
}

static inline uint32_t byte_map_add(ByteMap *map, const uint8_t *text, size_t length,
                                    const uint8_t *end) {
    uint64_t key = byte_map_key(text, length, end);
    if (length <= 8) {
        const ByteMapSlot *slot = &map->slots[byte_map_place(map, key)];
        if (slot->key == key && slot->length == length) return slot->index;
    }
    return byte_map_add_any(map, key, text, length);
}

#endif
