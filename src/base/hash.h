/* The program's hash: one step for each 64-bit word, a multiplication and a shift, which never maps two
 * words to the same state. For hash tables, names of cached files and fingerprints; it is no protection
 * against forgery. (The checksum inside a checkpoint is FNV-1a, which that file's format fixes.) */
#ifndef TINYLM_BASE_HASH_H
#define TINYLM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9FB21C651E98DF25u;
    return hash ^ hash >> 29;
}

/* Continues `hash` with the length and the bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    uint64_t word = 0;
    hash = hash_word(hash, size);
    for (size_t left = size; left > 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = hash_word(hash, word);
    }
    if (size >= 8) { /* the last word overlaps the one before */
        memcpy(&word, (const uint8_t *)bytes + size - 8, 8);
    } else if (size > 0) {
        memcpy(&word, bytes, size);
    }
    return hash_word(hash, word);
}

#endif
