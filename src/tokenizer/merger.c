#include "tokenizer/merger.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/heap.h"

enum { SHORT = 64 }; /* up to this length scanning beats the queue */

/* Places where a merge is possible, as rank << 32 | position: the lowest rank first, then the leftmost
 * place. */
static inline bool goes_before(const void *context, uint64_t a, uint64_t b) {
    (void)context;
    return a < b;
}
DEFINE_HEAP(PlaceHeap, place_heap, uint64_t, goes_before)

void merger_init(Merger *merger, const Tokenizer *tokenizer) {
    *merger = (Merger){.tokenizer = tokenizer, .rank_limit = TOKEN_NONE};
    merger->places = allocate_zeroed(1, sizeof *merger->places);
}

void merger_free(Merger *merger) {
    free(merger->symbols);
    if (merger->places) free(merger->places->items);
    free(merger->places);
    free(merger->batch.ids);
    free(merger->window.ids);
    free(merger->trial.ids);
    *merger = (Merger){0};
}

/* The token of a byte; without one, TOKEN_NONE, and missing_byte is set. */
static uint32_t id_of_byte(Merger *merger, uint8_t byte) {
    uint32_t id = merger->tokenizer->id_of_byte[byte];
    if (id == TOKEN_NONE) merger->missing_byte = byte;
    return id;
}

static uint32_t rank_of(const Merger *merger, uint32_t left, uint32_t right) {
    const Merge *merge = tokenizer_merge(merger->tokenizer, left, right);
    return merge && merge->rank < merger->rank_limit ? merge->rank : TOKEN_NONE;
}

/* ---- short: scan for the lowest rank ---- */

/* Merges all places of `rank` (with one_place only the first), in place; returns the new count.
 * ranks[i] belongs to the pair (i, i + 1). */
static size_t merge_rank(const Merger *merger, uint32_t *ids, uint32_t *ranks, size_t count,
                         uint32_t rank) {
    const Tokenizer *tokenizer = merger->tokenizer;
    size_t to = 0;
    bool changed = false; /* the symbol written last is new */
    bool enough = false;
    for (size_t from = 0; from < count;) {
        bool merge = !enough && from + 1 < count && ranks[from] == rank;
        uint32_t id =
            merge ? tokenizer_merge(tokenizer, ids[from], ids[from + 1])->result : ids[from];
        if (to > 0 && (merge || changed)) ranks[to - 1] = rank_of(merger, ids[to - 1], id);
        uint32_t next_rank = from + 1 < count ? ranks[from] : TOKEN_NONE;
        ids[to] = id;
        ranks[to++] = next_rank;
        from += merge ? 2 : 1;
        changed = merge;
        enough = enough || (merge && tokenizer->one_place);
    }
    return to;
}

static bool merge_short(Merger *merger, const uint8_t *text, size_t length, IdList *out) {
    uint32_t ids[SHORT], ranks[SHORT];
    for (size_t i = 0; i < length; i++)
        if ((ids[i] = id_of_byte(merger, text[i])) == TOKEN_NONE) return false;
    for (size_t i = 0; i + 1 < length; i++) ranks[i] = rank_of(merger, ids[i], ids[i + 1]);
    for (;;) {
        uint32_t lowest = TOKEN_NONE;
        for (size_t i = 0; i + 1 < length; i++)
            if (ranks[i] < lowest) lowest = ranks[i];
        if (lowest == TOKEN_NONE) break;
        length = merge_rank(merger, ids, ranks, length, lowest);
    }
    id_list_append(out, ids, length);
    return true;
}

/* ---- long: a queue of places ---- */

static void add_place(Merger *merger, uint32_t position) {
    const Symbol *symbol = &merger->symbols[position];
    if (symbol->next == TOKEN_NONE) return;
    uint32_t rank = rank_of(merger, symbol->id, merger->symbols[symbol->next].id);
    if (rank != TOKEN_NONE) place_heap_push(merger->places, NULL, (uint64_t)rank << 32 | position);
}

/* Merges the pair at a position if it still has that rank: entries of the queue become stale. */
static void merge_at(Merger *merger, uint32_t position, uint32_t rank) {
    Symbol *symbols = merger->symbols, *left = &symbols[position];
    if (left->id == TOKEN_NONE || left->next == TOKEN_NONE) return;
    Symbol *right = &symbols[left->next];
    const Merge *merge = tokenizer_merge(merger->tokenizer, left->id, right->id);
    if (!merge || merge->rank != rank) return;
    left->id = merge->result;
    left->next = right->next;
    right->id = TOKEN_NONE;
    if (left->next != TOKEN_NONE) symbols[left->next].previous = position;
    if (left->previous != TOKEN_NONE) add_place(merger, left->previous);
    add_place(merger, position);
}

static bool merge_long(Merger *merger, const uint8_t *text, size_t length, IdList *out) {
    array_reserve(merger->symbols, 0, merger->symbol_capacity, length);
    Symbol *symbols = merger->symbols;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t id = id_of_byte(merger, text[i]);
        if (id == TOKEN_NONE) return false;
        symbols[i] = (Symbol){id, i + 1 < length ? i + 1 : TOKEN_NONE, i > 0 ? i - 1 : TOKEN_NONE};
    }
    for (uint32_t i = 0; i < length; i++) add_place(merger, i);
    PlaceHeap *places = merger->places;
    while (places->count > 0) {
        /* Usually all places of the rank: a pair that appears while they are merged must wait, even
         * if its own rank is lower. */
        uint32_t rank = (uint32_t)(places->items[0] >> 32);
        merger->batch.count = 0;
        do id_list_push(&merger->batch, (uint32_t)place_heap_pop(places, NULL));
        while (!merger->tokenizer->one_place && places->count > 0 &&
               places->items[0] >> 32 == rank);
        for (size_t i = 0; i < merger->batch.count; i++)
            merge_at(merger, merger->batch.ids[i], rank);
    }
    for (uint32_t i = 0; i != TOKEN_NONE; i = symbols[i].next) id_list_push(out, symbols[i].id);
    return true;
}

bool merger_merge(Merger *merger, const uint8_t *text, size_t length, IdList *out) {
    return length <= SHORT ? merge_short(merger, text, length, out)
                           : merge_long(merger, text, length, out);
}

/* ---- very long: window by window ---- */

/* First token of the text. */
static uint32_t first_token(Merger *merger, const uint8_t *text, size_t length) {
    merger->trial.count = 0;
    merger_merge(merger, text, length, &merger->trial);
    return merger->trial.ids[0];
}

/* True when two tokens side by side are what their bytes are encoded to. */
static bool neighbours(Merger *merger, uint32_t left, uint32_t right, const uint8_t *border) {
    size_t left_length, right_length;
    tokenizer_token(merger->tokenizer, left, &left_length);
    tokenizer_token(merger->tokenizer, right, &right_length);
    merger->trial.count = 0;
    merger_merge(merger, border - left_length, left_length + right_length, &merger->trial);
    return merger->trial.count == 2 && merger->trial.ids[0] == left &&
           merger->trial.ids[1] == right;
}

/* True when every continuation of the text has a border at `border`, where token `before` ends. */
static bool border_is_final(Merger *merger, const uint8_t *border, const uint8_t *end,
                            uint32_t before) {
    uint32_t last_tried = TOKEN_NONE;
    for (size_t less = 0; less < merger->tokenizer->longest_token; less++) {
        uint32_t first = first_token(merger, border, (size_t)(end - border) - less);
        if (first == last_tried) continue;
        if (!neighbours(merger, before, first, border)) return false;
        last_tried = first;
    }
    return true;
}

bool merger_settle(Merger *merger, const uint8_t *text, size_t length, IdList *out,
                   size_t *settled) {
    *settled = 0;
    size_t longest = merger->tokenizer->longest_token;
    /* Tokens of thousands of bytes (trained on one endless word) would make the test expensive and
     * useless; such a pre-token is encoded as a whole. */
    if (longest > 2048 || length < MERGER_WINDOW) return true;
    IdList *window = &merger->window;
    window->count = 0;
    if (!merger_merge(merger, text, length, window)) return false;
    size_t count = window->count, border = length, tail = 2 * longest + 64;
    for (; tail < length; tail *= 2) {
        while (count > 0 && length - border < tail) {
            size_t token_length;
            tokenizer_token(merger->tokenizer, window->ids[--count], &token_length);
            border -= token_length;
        }
        if (count == 0) return true;
        if (!border_is_final(merger, text + border, text + length, window->ids[count - 1]))
            continue;
        id_list_append(out, window->ids, count);
        *settled = border;
        return true;
    }
    return true;
}

bool merger_apply(Merger *merger, const uint8_t *text, size_t length, IdList *out) {
    const Tokenizer *tokenizer = merger->tokenizer;
    if (tokenizer->rank_files || tokenizer->whole_tokens) {
        uint32_t id = tokenizer_find(tokenizer, text, length);
        if (id != TOKEN_NONE) {
            id_list_push(out, id);
            return true;
        }
    }
    size_t before = out->count, window = MERGER_WINDOW, settled;
    while (length > 2 * window) {
        if (!merger_settle(merger, text, window, out, &settled)) {
            out->count = before;
            return false;
        }
        window = settled ? MERGER_WINDOW : 2 * window;
        text += settled;
        length -= settled;
    }
    if (!merger_merge(merger, text, length, out)) {
        out->count = before;
        return false;
    }
    return true;
}
