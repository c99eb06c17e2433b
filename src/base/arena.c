#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"

enum { ALIGNMENT = 64, FIRST_CHUNK = 1 << 16 };

static size_t round_up(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* aligned_alloc that ends the program like allocate() does. */
static void *allocate_aligned(size_t bytes) {
    void *memory = aligned_alloc(ALIGNMENT, round_up(bytes));
    if (!memory) out_of_memory(1, bytes);
    return memory;
}

struct ArenaChunk {
    ArenaChunk *older;
    size_t start;    /* the arena's `used` when this chunk began */
    size_t capacity; /* bytes of memory[] */
    char *memory;
};

void *arena_take(Arena *arena, size_t bytes) {
    bytes = round_up(bytes);
    ArenaChunk *chunk = arena->chunks;
    size_t offset = arena->used;
    arena->used += bytes;
    if (arena->used > arena->peak) arena->peak = arena->used;
    if (arena->counting) return NULL;
    if (!chunk || offset - chunk->start + bytes > chunk->capacity) {
        size_t capacity = chunk ? 2 * chunk->capacity : FIRST_CHUNK;
        if (capacity < bytes) capacity = bytes;
        ArenaChunk *newer = allocate(1, sizeof *newer);
        *newer = (ArenaChunk){chunk, offset, capacity, allocate_aligned(capacity)};
        arena->chunks = chunk = newer;
    }
    return chunk->memory + (offset - chunk->start);
}

size_t arena_mark(const Arena *arena) {
    return arena->used;
}

static void drop_newest(Arena *arena) {
    ArenaChunk *chunk = arena->chunks;
    arena->chunks = chunk->older;
    free(chunk->memory);
    free(chunk);
}

void arena_rewind(Arena *arena, size_t mark) {
    /* A chunk that began after the mark is dropped, unless it is the only one. */
    while (arena->chunks && arena->chunks->older && arena->chunks->start >= mark)
        drop_newest(arena);
    arena->used = mark;
}

void arena_reset(Arena *arena) {
    if (arena->chunks && arena->chunks->older) {
        while (arena->chunks) drop_newest(arena);
        size_t peak = arena->peak;
        arena->used = 0;
        arena_take(arena, peak);
    }
    arena->used = 0;
}

void arena_free(Arena *arena) {
    while (arena->chunks) drop_newest(arena);
    *arena = (Arena){.counting = arena->counting};
}

/* The header lies before the block; its size keeps the block aligned. */
struct PoolBlock {
    _Alignas(ALIGNMENT) PoolBlock *next;
    size_t bytes;
};

void *pool_take(Pool *pool, size_t bytes) {
    bytes = round_up(bytes ? bytes : 1);
    for (PoolBlock **link = &pool->idle; *link; link = &(*link)->next) {
        PoolBlock *block = *link;
        if (block->bytes != bytes) continue;
        *link = block->next;
        return block + 1;
    }
    PoolBlock *block = allocate_aligned(sizeof *block + (pool->counting ? 0 : bytes));
    block->bytes = bytes;
    pool->bytes += bytes;
    return block + 1;
}

void pool_give(Pool *pool, void *memory) {
    if (!memory) return;
    PoolBlock *block = (PoolBlock *)memory - 1;
    block->next = pool->idle;
    pool->idle = block;
}

void pool_free(Pool *pool) {
    while (pool->idle) {
        PoolBlock *block = pool->idle;
        pool->idle = block->next;
        pool->bytes -= block->bytes;
        free(block);
    }
}
