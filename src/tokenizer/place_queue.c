#include "tokenizer/place_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void place_queue_init(PlaceQueue *queue, uint32_t rank_count, bool one_by_one) {
    *queue = (PlaceQueue){.rank_count = rank_count, .one_by_one = one_by_one};
    if (one_by_one) return;
    queue->last = allocate(rank_count, sizeof *queue->last);
    for (uint32_t i = 0; i < rank_count; i++) queue->last[i] = PLACE_NONE;
}

void place_queue_free(PlaceQueue *queue) {
    free(queue->places);
    free(queue->last);
    free(queue->entries);
    free(queue->ranks.ids);
    *queue = (PlaceQueue){0};
}

static void push_rank(IdList *heap, uint32_t rank) {
    id_list_push(heap, rank);
    uint32_t *ranks = heap->ids;
    size_t at = heap->count - 1;
    for (; at > 0 && ranks[(at - 1) / 2] > rank; at = (at - 1) / 2) ranks[at] = ranks[(at - 1) / 2];
    ranks[at] = rank;
}

static uint32_t pop_rank(IdList *heap) {
    uint32_t *ranks = heap->ids, top = ranks[0], moved = ranks[--heap->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && ranks[child + 1] < ranks[child]) child++;
        if (ranks[child] >= moved) break;
        ranks[at] = ranks[child];
    }
    ranks[at] = moved;
    return top;
}

static void push_place(PlaceQueue *queue, uint64_t place) {
    if (queue->place_count == queue->place_capacity) {
        queue->place_capacity = 2 * queue->place_capacity + 64;
        queue->places = reallocate(queue->places, queue->place_capacity, sizeof *queue->places);
    }
    uint64_t *places = queue->places;
    size_t at = queue->place_count++;
    for (; at > 0 && places[(at - 1) / 2] > place; at = (at - 1) / 2)
        places[at] = places[(at - 1) / 2];
    places[at] = place;
}

static uint64_t pop_place(PlaceQueue *queue) {
    uint64_t *places = queue->places, top = places[0], moved = places[--queue->place_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < queue->place_count; at = child) {
        if (child + 1 < queue->place_count && places[child + 1] < places[child]) child++;
        if (places[child] >= moved) break;
        places[at] = places[child];
    }
    places[at] = moved;
    return top;
}

void place_queue_add(PlaceQueue *queue, uint32_t rank, uint32_t position) {
    if (queue->one_by_one) {
        push_place(queue, (uint64_t)rank << 32 | position);
        return;
    }
    if (queue->entry_count == queue->entry_capacity) {
        queue->entry_capacity = 2 * queue->entry_capacity + 64;
        queue->entries = reallocate(queue->entries, queue->entry_capacity, sizeof *queue->entries);
    }
    if (queue->last[rank] == PLACE_NONE) push_rank(&queue->ranks, rank);
    queue->entries[queue->entry_count] = (struct PlaceEntry){position, queue->last[rank]};
    queue->last[rank] = (uint32_t)queue->entry_count++;
}

uint32_t place_queue_lowest(const PlaceQueue *queue) {
    if (queue->one_by_one)
        return queue->place_count ? (uint32_t)(queue->places[0] >> 32) : PLACE_NONE;
    return queue->ranks.count ? queue->ranks.ids[0] : PLACE_NONE;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void place_queue_take(PlaceQueue *queue, IdList *places) {
    if (queue->one_by_one) {
        places->count = 0;
        id_list_push(places, (uint32_t)pop_place(queue));
        return;
    }
    uint32_t rank = pop_rank(&queue->ranks);
    size_t count = 0;
    for (uint32_t i = queue->last[rank]; i != PLACE_NONE; i = queue->entries[i].before) count++;
    places->count = 0;
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
    if (queue->ranks.count == 0) queue->entry_count = 0;
}
