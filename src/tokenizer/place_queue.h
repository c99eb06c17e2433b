/* The places of a pre-token where a merge is possible, by the merge's rank. Either all places of the
 * lowest rank come out together, from left to right: a list of places per rank, and a heap of the
 * ranks that have any, as in a run of one letter there are many places, but few ranks. Or they come
 * out one by one, the leftmost of the lowest rank first: a heap of places. */
#ifndef TINYLM_TOKENIZER_PLACE_QUEUE_H
#define TINYLM_TOKENIZER_PLACE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tokenizer/id_list.h"

#define PLACE_NONE UINT32_MAX

typedef struct PlaceQueue {
    bool one_by_one;
    /* Lowest first: rank << 32 | position one by one; all together rank << 32 of each rank that has
     * places, which are in `entries`. */
    uint64_t *heap;
    size_t heap_count, heap_capacity;
    /* all together: */
    uint32_t *last; /* by rank: the entry added last, or PLACE_NONE */
    uint32_t rank_count;
    struct PlaceEntry {
        uint32_t position, before; /* the entry of the same rank that was added before it */
    } * entries;
    size_t entry_count, entry_capacity;
} PlaceQueue;

/* For ranks below `rank_count`. */
void place_queue_init(PlaceQueue *queue, uint32_t rank_count, bool one_by_one);
void place_queue_free(PlaceQueue *queue);

void place_queue_add(PlaceQueue *queue, uint32_t rank, uint32_t position);
/* The lowest rank that has places, or PLACE_NONE. */
uint32_t place_queue_lowest(const PlaceQueue *queue);
/* Removes all places of the lowest rank, or one by one the first of them, into `places`, in ascending
 * order. */
void place_queue_take(PlaceQueue *queue, IdList *places);

#endif
