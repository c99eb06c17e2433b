#include "tokenizer/byte_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { FIRST_SLOTS_LOG2 = 10 };

static void allocate_slots(ByteMap *map, int log2) {
    map->slots = allocate_zeroed(1ull << log2, sizeof *map->slots);
    map->slot_mask = (1ull << log2) - 1;
    map->shift = 64 - log2;
}

void byte_map_init(ByteMap *map) {
    *map = (ByteMap){0};
    allocate_slots(map, FIRST_SLOTS_LOG2);
    map->starts = allocate_zeroed(map->starts_capacity = 64, sizeof *map->starts);
}

void byte_map_free(ByteMap *map) {
    free(map->slots);
    free(map->starts);
    free(map->bytes);
    *map = (ByteMap){0};
}

void byte_map_clear(ByteMap *map) {
    memset(map->slots, 0, (map->slot_mask + 1) * sizeof *map->slots);
    map->count = 0;
}

/* The slot that holds the string, or the free one where it belongs. */
static ByteMapSlot *probe(const ByteMap *map, uint64_t key, const uint8_t *text, size_t length) {
    for (uint64_t place = byte_map_place(map, key);; place = (place + 1) & map->slot_mask) {
        ByteMapSlot *slot = &map->slots[place];
        if (slot->length == 0) return slot;
        if (slot->key != key || slot->length != length) continue;
        if (length <= 8 || memcmp(map->bytes + map->starts[slot->index], text, length) == 0)
            return slot;
    }
}

uint32_t byte_map_find(const ByteMap *map, const uint8_t *text, size_t length) {
    const ByteMapSlot *slot = probe(map, byte_map_key(text, length, text + length), text, length);
    return slot->length ? slot->index : BYTE_MAP_NONE;
}

static void grow_slots(ByteMap *map) {
    ByteMapSlot *old = map->slots;
    uint64_t old_count = map->slot_mask + 1;
    allocate_slots(map, 64 - map->shift + 1);
    for (uint64_t i = 0; i < old_count; i++) {
        if (!old[i].length) continue;
        uint64_t place = byte_map_place(map, old[i].key);
        while (map->slots[place].length) place = (place + 1) & map->slot_mask;
        map->slots[place] = old[i];
    }
    free(old);
}

uint32_t byte_map_add_any(ByteMap *map, uint64_t key, const uint8_t *text, size_t length) {
    ByteMapSlot *slot = probe(map, key, text, length);
    if (slot->length) return slot->index;
    uint64_t used = map->starts[map->count];
    array_reserve(map->starts, map->count + 1ull, map->starts_capacity, 1);
    array_reserve(map->bytes, used, map->bytes_capacity, length);
    memcpy(map->bytes + used, text, length);
    map->starts[map->count + 1] = used + length;
    *slot = (ByteMapSlot){key, (uint32_t)length, map->count};
    uint32_t index = map->count++;
    if (2ull * map->count > map->slot_mask) grow_slots(map);
    return index;
}
