#include "tokenizer/bpe_trainer.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tokenizer/byte_map.h"
#include "tokenizer/heap.h"
#include "tokenizer/id_list.h"

/* All distinct words lie one after another in `cells`, one cell per byte, with a WALL before and after
 * each. A symbol of n bytes has its id in its first and its last cell (where its neighbours look),
 * and DEAD in those between. As symbols only grow, no links are needed. */
#define WALL UINT32_MAX
#define DEAD (UINT32_MAX - 1)

typedef struct Pair {
    uint32_t left, right;
    bool raised;      /* by the current merge; enters the heap afterwards */
    uint64_t count;   /* occurrences, each times the count of its word */
    IdList positions; /* first cells; some may be out of date */
} Pair;

/* ---- the most frequent pair ---- */

typedef struct HeapEntry {
    uint64_t count; /* the pair's count when it was entered: an upper bound of the present one */
    uint32_t left, right, pair;
} HeapEntry;

static int compare_tokens(const Tokenizer *tokenizer, uint32_t a, uint32_t b) {
    if (a == b) return 0;
    size_t a_length, b_length;
    const uint8_t *a_bytes = tokenizer_token(tokenizer, a, &a_length);
    const uint8_t *b_bytes = tokenizer_token(tokenizer, b, &b_length);
    int order = memcmp(a_bytes, b_bytes, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static inline bool goes_first(const void *tokenizer, HeapEntry a, HeapEntry b) {
    if (a.count != b.count) return a.count > b.count;
    int order = compare_tokens(tokenizer, a.left, b.left);
    if (order == 0) order = compare_tokens(tokenizer, a.right, b.right);
    return order > 0;
}
DEFINE_HEAP(PairHeap, pair_heap, HeapEntry, goes_first)

typedef struct Trainer {
    Tokenizer *tokenizer;
    uint32_t *cells, *word_of_cell;
    uint64_t cell_count;
    const uint64_t *word_counts;
    ByteMap pair_numbers; /* of the two ids, 8 bytes: the index in `pairs` */
    Pair *pairs;
    uint32_t pair_count, pair_capacity;
    PairHeap heap; /* most frequent first */
    IdList raised; /* pairs */
} Trainer;

static void enter(Trainer *trainer, uint32_t index) {
    const Pair *pair = &trainer->pairs[index];
    pair_heap_push(&trainer->heap, trainer->tokenizer,
                   (HeapEntry){pair->count, pair->left, pair->right, index});
}

/* The most frequent pair; false when no pair is left. */
static bool best_pair(Trainer *trainer, uint32_t *best) {
    while (trainer->heap.count > 0) {
        HeapEntry top = pair_heap_pop(&trainer->heap, trainer->tokenizer);
        uint64_t count = trainer->pairs[top.pair].count;
        if (count == 0) continue;
        if (count == top.count) {
            *best = top.pair;
            return true;
        }
        enter(trainer, top.pair); /* its count has decreased since; re-enter it */
    }
    return false;
}

/* ---- counting pairs ---- */

static uint32_t find_pair(Trainer *trainer, uint32_t left, uint32_t right) {
    const uint32_t ids[] = {left, right};
    const uint8_t *key = (const uint8_t *)ids, *end = key + sizeof ids;
    uint32_t index = byte_map_add(&trainer->pair_numbers, key, sizeof ids, end);
    if (index < trainer->pair_count) return index;
    array_reserve(trainer->pairs, trainer->pair_count, trainer->pair_capacity, 1);
    trainer->pairs[trainer->pair_count++] = (Pair){.left = left, .right = right};
    return index;
}

static void add_place(Trainer *trainer, uint32_t left, uint32_t right, uint32_t position,
                      uint64_t count) {
    uint32_t index = find_pair(trainer, left, right);
    Pair *pair = &trainer->pairs[index];
    pair->count += count;
    id_list_push(&pair->positions, position);
    if (!pair->raised) id_list_push(&trainer->raised, index);
    pair->raised = true;
}

static void remove_place(Trainer *trainer, uint32_t left, uint32_t right, uint64_t count) {
    trainer->pairs[find_pair(trainer, left, right)].count -= count;
}

/* Enters the pairs that gained places since the last call. */
static void enter_raised(Trainer *trainer) {
    for (size_t i = 0; i < trainer->raised.count; i++) {
        uint32_t pair = trainer->raised.ids[i];
        trainer->pairs[pair].raised = false;
        if (trainer->pairs[pair].count) enter(trainer, pair);
    }
    trainer->raised.count = 0;
}

/* ---- one merge ---- */

static size_t length_of(const Trainer *trainer, uint32_t id) {
    size_t length;
    tokenizer_token(trainer->tokenizer, id, &length);
    return length;
}

/* Merges the pair at one position if it is still there. */
static void merge_at(Trainer *trainer, uint32_t position, const Pair *pair, size_t left_length,
                     size_t right_length, uint32_t result) {
    uint32_t *cells = trainer->cells;
    uint32_t middle = position + (uint32_t)left_length, after = middle + (uint32_t)right_length;
    if (cells[position] != pair->left || cells[middle] != pair->right) return;
    uint64_t count = trainer->word_counts[trainer->word_of_cell[position]];
    uint32_t before = cells[position - 1], behind = cells[after];
    if (before != WALL) {
        uint32_t start = position - (uint32_t)length_of(trainer, before);
        remove_place(trainer, before, pair->left, count);
        add_place(trainer, before, result, start, count);
    }
    if (behind != WALL) {
        remove_place(trainer, pair->right, behind, count);
        add_place(trainer, result, behind, position, count);
    }
    cells[middle - 1] = cells[middle] = DEAD;
    cells[position] = cells[after - 1] = result;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void merge_everywhere(Trainer *trainer, uint32_t index, uint32_t result) {
    Pair pair = trainer->pairs[index]; /* a copy: the array may move */
    trainer->pairs[index].positions = (IdList){0};
    /* In "aaa" the left place goes first; places were not always found in that order. */
    if (pair.left == pair.right)
        qsort(pair.positions.ids, pair.positions.count, sizeof *pair.positions.ids, ascending);
    size_t left_length = length_of(trainer, pair.left),
           right_length = length_of(trainer, pair.right);
    for (size_t i = 0; i < pair.positions.count; i++)
        merge_at(trainer, pair.positions.ids[i], &pair, left_length, right_length, result);
    free(pair.positions.ids);
    trainer->pairs[index].count = 0;
    enter_raised(trainer);
}

/* ---- all of it ---- */

static bool lay_out_words(Trainer *trainer, const WordCounts *counts, Error *error) {
    uint64_t letters = counts->words.starts[counts->words.count];
    trainer->cell_count = letters + counts->words.count + 1;
    if (trainer->cell_count >= DEAD)
        return error_set(error,
                         "the text has more than 4 GB of different words; train on less of it");
    trainer->cells = allocate(trainer->cell_count, sizeof *trainer->cells);
    trainer->word_of_cell = allocate(trainer->cell_count, sizeof *trainer->word_of_cell);
    trainer->word_counts = counts->counts;
    uint32_t at = 0;
    trainer->cells[at++] = WALL;
    for (uint32_t word = 0; word < counts->words.count; word++) {
        size_t length;
        const uint8_t *bytes = byte_map_string(&counts->words, word, &length);
        for (size_t i = 0; i < length; i++, at++) {
            trainer->cells[at] = trainer->tokenizer->id_of_byte[bytes[i]];
            trainer->word_of_cell[at] = word;
        }
        trainer->cells[at++] = WALL;
    }
    return true;
}

static void find_all_pairs(Trainer *trainer) {
    for (uint64_t i = 1; i + 1 < trainer->cell_count; i++) {
        uint32_t left = trainer->cells[i], right = trainer->cells[i + 1];
        if (left != WALL && right != WALL)
            add_place(trainer, left, right, (uint32_t)i,
                      trainer->word_counts[trainer->word_of_cell[i]]);
    }
    enter_raised(trainer);
}

static void trainer_free(Trainer *trainer) {
    for (uint32_t i = 0; i < trainer->pair_count; i++) free(trainer->pairs[i].positions.ids);
    free(trainer->pairs);
    byte_map_free(&trainer->pair_numbers);
    free(trainer->heap.items);
    free(trainer->raised.ids);
    free(trainer->cells);
    free(trainer->word_of_cell);
}

bool bpe_learn(Tokenizer *tokenizer, const WordCounts *counts, int64_t vocab_size,
               const BpeOptions *options, Error *error) {
    Trainer trainer = {.tokenizer = tokenizer};
    byte_map_init(&trainer.pair_numbers);
    bool done = lay_out_words(&trainer, counts, error);
    if (done) find_all_pairs(&trainer);
    for (uint32_t best; done && tokenizer->vocab_size < vocab_size && best_pair(&trainer, &best);) {
        const Pair *pair = &trainer.pairs[best];
        done = tokenizer_learn_merge(tokenizer, pair->left, pair->right, error);
        if (!done) break;
        merge_everywhere(&trainer, best, tokenizer->merges[tokenizer->merge_count - 1].result);
        if (options && options->progress && tokenizer->merge_count % 256 == 0)
            options->progress(options->context, tokenizer->vocab_size, vocab_size);
    }
    trainer_free(&trainer);
    return done;
}

/* Adds the special tokens that are a single byte, or those that are not. */
static bool add_specials(Tokenizer *tokenizer, const char *const *specials, int count, bool bytes,
                         Error *error) {
    for (int i = 0; i < count; i++)
        if ((strlen(specials[i]) == 1) == bytes &&
            !tokenizer_add_special(tokenizer, specials[i], error))
            return false;
    return true;
}

Tokenizer *bpe_start(const char *const *specials, int special_count, Error *error) {
    Tokenizer *tokenizer = tokenizer_new();
    bool done = add_specials(tokenizer, specials, special_count, false, error);
    for (int byte = 0; done && byte < 256; byte++)
        tokenizer_add_token(tokenizer, tokenizer->vocab_size, &(uint8_t){(uint8_t)byte}, 1, NULL);
    done = done && add_specials(tokenizer, specials, special_count, true, error);
    return tokenizer_keep_if(tokenizer, done);
}

Tokenizer *bpe_train(const char *const *paths, int path_count, int64_t vocab_size,
                     const char *const *specials, int special_count, const BpeOptions *options,
                     BpeStats *stats, Error *error) {
    Tokenizer *tokenizer = bpe_start(specials, special_count, error);
    if (!tokenizer) return NULL;
    if (vocab_size < tokenizer->vocab_size || vocab_size > 1 << 30) {
        error_set(error,
                  "vocab_size %lld: must be from %lld (256 bytes and the special tokens) to %d",
                  (long long)vocab_size, (long long)tokenizer->vocab_size, 1 << 30);
        return tokenizer_keep_if(tokenizer, false);
    }
    double start = omp_get_wtime();
    WordCounts counts;
    word_counts_init(&counts);
    bool done = true;
    for (int i = 0; done && i < path_count; i++)
        done = word_counts_add_file(&counts, paths[i], &tokenizer->specials,
                                    options ? options->chunk_bytes : 0, error);
    double counted = omp_get_wtime();
    if (done) done = bpe_learn(tokenizer, &counts, vocab_size, options, error);
    if (stats)
        *stats = (BpeStats){counts.bytes,
                            counts.total,
                            counts.words.count,
                            counted - start,
                            omp_get_wtime() - counted,
                            tokenizer->vocab_size < vocab_size};
    word_counts_free(&counts);
    return tokenizer_keep_if(tokenizer, done);
}
