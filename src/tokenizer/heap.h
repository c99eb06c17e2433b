/* A priority queue, as a binary heap in an array.
 *
 *     static bool is_lower(const void *context, uint64_t a, uint64_t b) { return a < b; }
 *     DEFINE_HEAP(PlaceHeap, place_heap, uint64_t, is_lower)
 *
 * defines the type PlaceHeap, place_heap_push(heap, context, item), and place_heap_pop(heap, context),
 * which removes and returns items[0], the item that goes before all others; the heap must not be empty.
 * `context` is passed on to the comparison. Start with a zeroed struct; free(heap.items) at the end. */
#ifndef TINYLM_TOKENIZER_HEAP_H
#define TINYLM_TOKENIZER_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"

#define DEFINE_HEAP(Heap, prefix, Item, goes_before)                                               \
    typedef struct Heap {                                                                          \
        Item *items;                                                                               \
        size_t count, capacity;                                                                    \
    } Heap;                                                                                        \
    static void prefix##_push(Heap *heap, const void *context, Item item) {                        \
        array_reserve(heap->items, heap->count, heap->capacity, 1);                                \
        size_t at = heap->count++;                                                                 \
        for (; at > 0 && goes_before(context, item, heap->items[(at - 1) / 2]); at = (at - 1) / 2) \
            heap->items[at] = heap->items[(at - 1) / 2];                                           \
        heap->items[at] = item;                                                                    \
    }                                                                                              \
    static Item prefix##_pop(Heap *heap, const void *context) {                                    \
        Item *items = heap->items, top = items[0], moved = items[--heap->count];                   \
        size_t at = 0;                                                                             \
        for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {                       \
            if (child + 1 < heap->count && goes_before(context, items[child + 1], items[child]))   \
                child++;                                                                           \
            if (!goes_before(context, items[child], moved)) break;                                 \
            items[at] = items[child];                                                              \
        }                                                                                          \
        items[at] = moved;                                                                         \
        return top;                                                                                \
    }

#endif
