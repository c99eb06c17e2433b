/* build/bench shuffle FILE MEGABYTES: the stories of a file again and again, each time in another order, until
 * there are that many bytes; to standard output.
 * build/bench tokenizer FILE [VOCAB_SIZE]: where the time of training and encoding goes. Every stage runs
 * alone over the whole mapped file with all threads, so that the next bottleneck is visible; the whole
 * programs are timed by scripts/bench_tokenizer.sh. */
#define _GNU_SOURCE /* memmem */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parallel.h"
#include "base/random.h"
#include "bench.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/chunks.h"
#include "tokenizer/encoder.h"
#include "tokenizer/pretokenizer.h"

/* Processor time of all threads: less disturbed by other programs than the clock on the wall. */
static double processor_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct Stopwatch {
    double wall, processor;
} Stopwatch;

static Stopwatch start(void) {
    return (Stopwatch){omp_get_wtime(), processor_seconds()};
}

static void report(const char *stage, Stopwatch from, uint64_t bytes) {
    double wall = omp_get_wtime() - from.wall, processor = processor_seconds() - from.processor;
    printf("%-28s %8.3f s %8.0f MB/s %8.3f s of processor time, %6.0f MB/s each\n", stage, wall,
           (double)bytes / 1e6 / wall, processor, (double)bytes / 1e6 / processor);
    fflush(stdout);
}

/* Touches every cache line: what it costs to have the bytes at all. */
static uint64_t read_chunk(Chunk chunk) {
    uint64_t sum = 0;
    for (size_t i = 0; i < chunk.length; i += 64) sum += chunk.text[i];
    return sum;
}

static uint64_t split_chunk(Chunk chunk) {
    PretokenWalk walk = {&pretokenizers[PRETOKENIZER_GPT2], chunk.text, chunk.text + chunk.length,
                         NULL, 0};
    uint64_t count = 0, lengths = 0;
    for (; walk.text < walk.end; count++) lengths += pretoken_walk(&walk);
    return lengths == chunk.length ? count : 0;
}

static uint64_t over_chunks(const Chunks *chunks, uint64_t (*stage)(Chunk)) {
    uint64_t sum = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
    for (int64_t i = 0; i < chunks->count; i++) sum += stage(chunks->chunks[i]);
    return sum;
}

static bool drop_ids(void *context, const uint32_t *ids, size_t count, Error *error) {
    (void)context, (void)ids, (void)count, (void)error;
    return true;
}

static bool learn_and_encode(const char *path, const WordCounts *counts, int64_t vocab_size,
                             Error *error) {
    static const char *const special = "<|endoftext|>";
    Tokenizer *tokenizer = bpe_start(&special, 1, error);
    Stopwatch watch = start();
    bool done = bpe_learn(tokenizer, counts, vocab_size, NULL, error);
    report("merge", watch, counts->bytes);
    char folder[] = "/tmp/tinylm_bench_XXXXXX";
    if (done && mkdtemp(folder)) {
        watch = start();
        done = tokenizer_save(tokenizer, folder, error);
        report("write the tokenizer", watch, counts->bytes);
        static const char *const members[] = {"vocab.json", "merges.txt", "special_tokens.json",
                                              "tokenizer.json"};
        for (int i = 0; i < 4; i++) {
            char *member = path_join(folder, members[i]);
            unlink(member);
            free(member);
        }
        rmdir(folder);
    }
    watch = start();
    done = done && encode_file(tokenizer, path, 0, drop_ids, NULL, NULL, error);
    report("encode (ids dropped)", watch, counts->bytes);
    tokenizer_free(tokenizer);
    return done;
}

int bench_tokenizer(int argc, char **argv) {
    if (argc < 1) {
        fprintf(stderr, "usage: bench [--threads N] tokenizer FILE [VOCAB_SIZE]\n");
        return 2;
    }
    int64_t vocab_size = argc > 1 ? atoll(argv[1]) : 10000;
    Error error;
    MappedFile file;
    if (!file_map(&file, argv[0], &error)) {
        fprintf(stderr, "bench: %s\n", error.message);
        return 1;
    }
    unicode_start();
    SpecialTokens specials = {0};
    special_tokens_add(&specials, "<|endoftext|>", 0);
    Chunks chunks = {0};
    chunks_cut(&chunks, file.data, file.size, &pretokenizers[PRETOKENIZER_GPT2], &specials, 0);
    printf("%s: %.1f MB, %d threads\n", argv[0], (double)file.size / 1e6, parallel_threads());
    Stopwatch watch = start();
    uint64_t sum = over_chunks(&chunks, read_chunk);
    report("read", watch, file.size);
    watch = start();
    uint64_t pretokens = over_chunks(&chunks, split_chunk);
    report("split", watch, file.size);
    WordCounts counts;
    word_counts_init(&counts);
    watch = start();
    bool done = word_counts_add_file(&counts, argv[0], &specials, 0, &error);
    report("read, split and count", watch, file.size);
    printf("%llu pre-tokens, %llu with special tokens split, %u distinct (%llu)\n",
           (unsigned long long)counts.total, (unsigned long long)pretokens,
           (unsigned)counts.words.count, (unsigned long long)(sum % 10));
    done = done && learn_and_encode(argv[0], &counts, vocab_size, &error);
    word_counts_free(&counts);
    chunks_free(&chunks);
    special_tokens_free(&specials);
    file_unmap(&file);
    if (!done) fprintf(stderr, "bench: %s\n", error.message);
    return done ? 0 : 1;
}

/* ---- shuffle ---- */

/* Where the stories begin, with their end behind the last one; to be freed. */
static size_t *story_starts(MappedFile file, size_t *count) {
    static const char mark[] = "<|endoftext|>\n";
    size_t *starts = NULL;
    *count = 0;
    for (size_t at = 0; at < file.size;) {
        if ((*count & (*count - 1)) == 0)
            starts = reallocate(starts, 2 * *count + 2, sizeof *starts);
        starts[(*count)++] = at;
        const uint8_t *end = memmem(file.data + at, file.size - at, mark, sizeof mark - 1);
        at = end ? (size_t)(end - file.data) + sizeof mark - 1 : file.size;
    }
    starts = reallocate(starts, *count + 1, sizeof *starts);
    starts[*count] = file.size;
    return starts;
}

int bench_shuffle(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: bench shuffle FILE MEGABYTES\n");
        return 2;
    }
    Error error;
    MappedFile file;
    if (!file_map(&file, argv[0], &error)) {
        fprintf(stderr, "bench: %s\n", error.message);
        return 1;
    }
    size_t count, wanted = (size_t)atoll(argv[1]) * 1000000, written = 0;
    size_t *starts = story_starts(file, &count), *order = allocate(count, sizeof *order);
    for (uint64_t round = 0; count && written < wanted; round++) {
        for (size_t i = 0; i < count; i++) { /* Fisher and Yates, inside out */
            size_t other = random_below(round, RANDOM_TEST, i, i + 1);
            order[i] = order[other];
            order[other] = i;
        }
        for (size_t i = 0; i < count && written < wanted; i++) {
            size_t length = starts[order[i] + 1] - starts[order[i]];
            written += fwrite(file.data + starts[order[i]], 1, length, stdout);
        }
    }
    free(starts);
    free(order);
    file_unmap(&file);
    return fflush(stdout) == 0 ? 0 : 1;
}
