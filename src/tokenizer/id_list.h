/* A growing array of token ids. Start it zeroed; free(list.ids) at the end. */
#ifndef TINYLM_TOKENIZER_ID_LIST_H
#define TINYLM_TOKENIZER_ID_LIST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"

typedef struct IdList {
    uint32_t *ids;
    size_t count, capacity;
} IdList;

/* Makes room for `more` ids behind the last one. */
static inline void id_list_reserve(IdList *list, size_t more) {
    array_reserve(list->ids, list->count, list->capacity, more);
}

static inline void id_list_push(IdList *list, uint32_t id) {
    id_list_reserve(list, 1);
    list->ids[list->count++] = id;
}

static inline void id_list_append(IdList *list, const uint32_t *ids, size_t count) {
    id_list_reserve(list, count);
    if (count) memcpy(list->ids + list->count, ids, count * sizeof *ids);
    list->count += count;
}

#endif
