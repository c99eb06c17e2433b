#include "tokenizer/word_counts.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/file.h"
#include "base/parallel.h"
#include "tokenizer/chunks.h"
#include "tokenizer/pretokenizer.h"

void word_counts_init(WordCounts *counts) {
    *counts = (WordCounts){0};
    unicode_start();
    byte_map_init(&counts->words);
}

void word_counts_free(WordCounts *counts) {
    byte_map_free(&counts->words);
    free(counts->counts);
    *counts = (WordCounts){0};
}

static void grow(WordCounts *counts) {
    uint32_t old = counts->capacity;
    array_reserve(counts->counts, old, counts->capacity, 1);
    memset(counts->counts + old, 0, (counts->capacity - old) * sizeof *counts->counts);
}

static inline void add(WordCounts *counts, const uint8_t *word, size_t length, const uint8_t *end,
                       uint64_t times) {
    uint32_t index = byte_map_add(&counts->words, word, length, end);
    if (index >= counts->capacity) grow(counts);
    counts->counts[index] += times;
    counts->total += times;
}

void word_counts_add(WordCounts *counts, const uint8_t *word, size_t length, uint64_t times) {
    add(counts, word, length, word + length, times);
}

static void count_plain(WordCounts *counts, const uint8_t *text, const uint8_t *end) {
    PretokenWalk walk = {&pretokenizers[PRETOKENIZER_GPT2], text, end, NULL, 0};
    while (walk.text < end) {
        const uint8_t *word = walk.text;
        size_t length = pretoken_walk(&walk);
        add(counts, word, length, end, 1);
    }
}

static void count_chunk(WordCounts *counts, Chunk chunk, const SpecialTokens *specials) {
    const uint8_t *text = chunk.text, *end = text + chunk.length;
    while (text < end) {
        const SpecialToken *special = NULL;
        const uint8_t *wall = special_tokens_find(specials, text, end, &special);
        count_plain(counts, text, wall);
        text = special ? wall + special->length : end;
    }
}

static void count_chunks(WordCounts *counts, const Chunks *chunks, const SpecialTokens *specials,
                         bool mapped) {
#pragma omp parallel
    {
        WordCounts own;
        word_counts_init(&own);
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t i = 0; i < chunks->count; i++) {
            count_chunk(&own, chunks->chunks[i], specials);
            if (mapped) file_forget(chunks->chunks[i].text, chunks->chunks[i].length);
        }
#pragma omp critical(word_counts_merge)
        for (uint32_t i = 0; i < own.words.count; i++) {
            size_t length;
            const uint8_t *word = byte_map_string(&own.words, i, &length);
            word_counts_add(counts, word, length, own.counts[i]);
        }
        word_counts_free(&own);
    }
}

static void count_text(WordCounts *counts, MappedFile text, bool mapped,
                       const SpecialTokens *specials, size_t chunk_bytes) {
    Chunks chunks = {0};
    chunks_cut(&chunks, text.data, text.size, &pretokenizers[PRETOKENIZER_GPT2], specials,
               chunk_bytes);
    count_chunks(counts, &chunks, specials, mapped);
    counts->bytes += text.size;
    chunks_free(&chunks);
}

bool word_counts_add_file(WordCounts *counts, const char *path, const SpecialTokens *specials,
                          size_t chunk_bytes, Error *error) {
    MappedFile file;
    if (strcmp(path, "-") == 0) {
        char *text = file_read(path, SIZE_MAX / 4, &file.size, error);
        if (!text) return false;
        file.data = (const uint8_t *)text;
        count_text(counts, file, false, specials, chunk_bytes);
        free(text);
        return true;
    }
    if (!file_map(&file, path, error)) return false;
    count_text(counts, file, true, specials, chunk_bytes);
    file_unmap(&file);
    return true;
}
