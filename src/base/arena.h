/* An arena (stack allocator) and a pool of reusable blocks. After the first training step neither asks
 * the system for memory. */
#ifndef TINYLM_BASE_ARENA_H
#define TINYLM_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/* ---- Arena: a stack of bytes ---- */

typedef struct ArenaChunk ArenaChunk;
typedef struct Arena {
    ArenaChunk *chunks; /* newest first; after arena_reset a single one that holds everything */
    size_t used;        /* bytes given out now, all chunks together */
    size_t peak;        /* the largest `used` so far */
    bool counting;      /* plan: count, and return NULL */
} Arena;

/* `bytes` of uninitialised memory, aligned to 64 (a cache line). NULL only when counting. */
void *arena_take(Arena *arena, size_t bytes);
/* A place to return to: everything taken since is given back by arena_rewind. */
size_t arena_mark(const Arena *arena);
void arena_rewind(Arena *arena, size_t mark);
/* Gives everything back; merges the chunks into one that is large enough for the peak. */
void arena_reset(Arena *arena);
void arena_free(Arena *arena);

/* ---- Pool: blocks of recurring sizes ---- */

typedef struct PoolBlock PoolBlock;
typedef struct Pool {
    PoolBlock *idle; /* blocks waiting for their next use */
    size_t bytes;    /* of all blocks that exist: the peak */
    bool counting;   /* plan: no memory behind the blocks */
} Pool;

/* A block of exactly this size class: an idle one, or a new one. Uninitialised, aligned to 64. In a
 * plan the address is unique but must not be touched. */
void *pool_take(Pool *pool, size_t bytes);
void pool_give(Pool *pool, void *block); /* NULL is fine */
void pool_free(Pool *pool);              /* frees the idle blocks: give all back before */

#endif
