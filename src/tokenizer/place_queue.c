#include "tokenizer/place_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void place_queue_init(PlaceQueue *queue, uint32_t rank_count, bool one_by_one) {
    *queue = (PlaceQueue){.rank_count = rank_count, .one_by_one = one_by_one};
    if (one_by_one) return;
    queue->last = allocate(rank_count, sizeof *queue->last);
    for (uint32_t i = 0; i < rank_count; i++) queue->last[i] = PLACE_NONE;
}

void place_queue_free(PlaceQueue *queue) {
    free(queue->heap);
    free(queue->last);
    free(queue->entries);
    *queue = (PlaceQueue){0};
}

static void push(PlaceQueue *queue, uint64_t entry) {
    array_reserve(queue->heap, queue->heap_count, queue->heap_capacity, 1);
    uint64_t *heap = queue->heap;
    size_t at = queue->heap_count++;
    for (; at > 0 && heap[(at - 1) / 2] > entry; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = entry;
}

static uint64_t pop(PlaceQueue *queue) {
    uint64_t *heap = queue->heap, top = heap[0], moved = heap[--queue->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < queue->heap_count; at = child) {
        if (child + 1 < queue->heap_count && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= moved) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
    return top;
}

void place_queue_add(PlaceQueue *queue, uint32_t rank, uint32_t position) {
    if (queue->one_by_one) {
        push(queue, (uint64_t)rank << 32 | position);
        return;
    }
    array_reserve(queue->entries, queue->entry_count, queue->entry_capacity, 1);
    if (queue->last[rank] == PLACE_NONE) push(queue, (uint64_t)rank << 32);
    queue->entries[queue->entry_count] = (struct PlaceEntry){position, queue->last[rank]};
    queue->last[rank] = (uint32_t)queue->entry_count++;
}

uint32_t place_queue_lowest(const PlaceQueue *queue) {
    return queue->heap_count ? (uint32_t)(queue->heap[0] >> 32) : PLACE_NONE;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void place_queue_take(PlaceQueue *queue, IdList *places) {
    uint64_t lowest = pop(queue);
    places->count = 0;
    if (queue->one_by_one) {
        id_list_push(places, (uint32_t)lowest);
        return;
    }
    uint32_t rank = (uint32_t)(lowest >> 32);
    size_t count = 0;
    for (uint32_t i = queue->last[rank]; i != PLACE_NONE; i = queue->entries[i].before) count++;
    id_list_reserve(places, count);
    places->count = count;
    bool sorted = true; /* as they usually were added */
    for (uint32_t i = queue->last[rank]; i != PLACE_NONE; i = queue->entries[i].before) {
        places->ids[--count] = queue->entries[i].position;
        sorted =
            sorted && (count + 1 == places->count || places->ids[count] <= places->ids[count + 1]);
    }
    if (!sorted) qsort(places->ids, places->count, sizeof *places->ids, ascending);
    queue->last[rank] = PLACE_NONE;
    if (queue->heap_count == 0) queue->entry_count = 0;
}
