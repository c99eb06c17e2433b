/* Encoding a file with all threads. Chunks are encoded in any order and passed to the sink in text
 * order: a thread that has finished a chunk puts its ids into a ring of slots and continues; a thread
 * that finds the next chunk in order ready, and no other thread writing, writes all that is ready. So
 * no thread waits for another one as long as the ring has room. (With OpenMP's `ordered` they would
 * wait for each other: half the speed on a busy machine.) */
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/parallel.h"
#include "tokenizer/chunks.h"
#include "tokenizer/encoder.h"

typedef struct Slot {
    IdList ids;
    bool ready, failed;
    Error error;
} Slot;

typedef struct Job {
    const Chunks *chunks;
    IdSink sink;
    void *context;
    pthread_mutex_t mutex; /* guards all that follows */
    pthread_cond_t room;
    Slot *slots; /* chunk i belongs into slot i % slot_count */
    int64_t slot_count;
    int64_t taken, written; /* chunks */
    bool writing, stopped;
    uint64_t tokens;
    Error error; /* the first one in the order of the text */
} Job;

/* The next chunk to encode, once its slot is free; -1 if there is none. */
static int64_t take_chunk(Job *job) {
    pthread_mutex_lock(&job->mutex);
    while (!job->stopped && job->taken < job->chunks->count &&
           job->taken >= job->written + job->slot_count)
        pthread_cond_wait(&job->room, &job->mutex);
    int64_t chunk = job->stopped || job->taken >= job->chunks->count ? -1 : job->taken++;
    pthread_mutex_unlock(&job->mutex);
    return chunk;
}

/* Writes the chunks that are ready, from the next one on. Called with the mutex held. */
static void write_ready(Job *job) {
    job->writing = true;
    for (Slot *slot;
         (slot = &job->slots[job->written % job->slot_count])->ready && !job->stopped;) {
        pthread_mutex_unlock(&job->mutex);
        bool done =
            !slot->failed && job->sink(job->context, slot->ids.ids, slot->ids.count, &slot->error);
        pthread_mutex_lock(&job->mutex);
        if (!done) {
            job->stopped = true;
            job->error = slot->error;
        }
        job->tokens += slot->ids.count;
        slot->ready = false;
        job->written++;
        pthread_cond_broadcast(&job->room);
    }
    job->writing = false;
}

static void encode_chunks(Job *job, Encoder *encoder) {
    for (int64_t i; (i = take_chunk(job)) >= 0;) {
        const Chunk *chunk = &job->chunks->chunks[i];
        Slot *slot = &job->slots[i % job->slot_count];
        slot->ids.count = 0;
        slot->failed =
            !encoder_encode(encoder, chunk->text, chunk->length, &slot->ids, &slot->error);
        file_forget(chunk->text, chunk->length);
        pthread_mutex_lock(&job->mutex);
        slot->ready = true;
        if (!job->writing) write_ready(job);
        pthread_mutex_unlock(&job->mutex);
    }
}

bool encode_into_list(void *list, const uint32_t *ids, size_t count, Error *error) {
    (void)error;
    id_list_append(list, ids, count);
    return true;
}

bool encode_file(const Tokenizer *tokenizer, const char *path, size_t chunk_bytes, IdSink sink,
                 void *context, EncodeStats *stats, Error *error) {
    double start = omp_get_wtime();
    MappedFile file;
    if (!file_map(&file, path, error)) return false;
    Chunks chunks = {0};
    chunks_cut(&chunks, file.data, file.size, tokenizer->pretokenizer, &tokenizer->specials,
               chunk_bytes);
    Job job = {.chunks = &chunks,
               .sink = sink,
               .context = context,
               .mutex = PTHREAD_MUTEX_INITIALIZER,
               .room = PTHREAD_COND_INITIALIZER,
               .slot_count = 4 * parallel_threads()};
    job.slots = allocate_zeroed((unsigned long long)job.slot_count, sizeof *job.slots);
    if (tokenizer->begin != TOKEN_NONE) {
        job.stopped = !sink(context, &tokenizer->begin, 1, &job.error);
        job.tokens = 1;
    }
#pragma omp parallel
    {
        Encoder *encoder = encoder_new(tokenizer);
        encode_chunks(&job, encoder);
        encoder_free(encoder);
    }
    if (job.stopped) error_set(error, "%s: %s", path, job.error.message);
    if (stats) *stats = (EncodeStats){file.size, job.tokens, omp_get_wtime() - start};
    for (int64_t i = 0; i < job.slot_count; i++) free(job.slots[i].ids.ids);
    free(job.slots);
    chunks_free(&chunks);
    file_unmap(&file);
    return !job.stopped;
}
