/* The places of a pre-token where a merge is possible, by the merge's rank: all places of the lowest
 * rank come out together, from left to right. A list of places per rank, and a heap of the ranks
 * that have any: in a run of one letter there are many places, but few ranks. */
#ifndef TINYLM_TOKENIZER_PLACE_QUEUE_H
#define TINYLM_TOKENIZER_PLACE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tokenizer/id_list.h"

#define PLACE_NONE UINT32_MAX

typedef struct PlaceQueue {
    uint32_t *last; /* by rank: the entry added last, or PLACE_NONE */
    uint32_t rank_count;
    struct PlaceEntry {
        uint32_t position, before; /* the entry of the same rank that was added before it */
    } * entries;
    size_t entry_count, entry_capacity;
    IdList ranks; /* heap, lowest first */
} PlaceQueue;

void place_queue_init(PlaceQueue *queue, uint32_t rank_count);
void place_queue_free(PlaceQueue *queue);

void place_queue_add(PlaceQueue *queue, uint32_t rank, uint32_t position);
/* The lowest rank that has places, or PLACE_NONE. */
uint32_t place_queue_lowest(const PlaceQueue *queue);
/* Removes all places of the lowest rank into `places`, in ascending order. */
void place_queue_take(PlaceQueue *queue, IdList *places);

#endif
