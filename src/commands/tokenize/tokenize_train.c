#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "commands/tokenize/tokenize.h"
#include "tokenizer/bpe_trainer.h"

static void print_progress(void *context, int64_t vocab_size, int64_t wanted) {
    (void)context;
    fprintf(stderr, "\rvocabulary %lld of %lld ", (long long)vocab_size, (long long)wanted);
}

static double peak_megabytes(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#ifdef __APPLE__
    return (double)usage.ru_maxrss / 1e6; /* bytes */
#else
    return (double)usage.ru_maxrss * 1024 / 1e6;
#endif
}

static void print_learned(const Tokenizer *tokenizer, const BpeStats *stats, int64_t wanted) {
    double megabytes = (double)stats->bytes / 1e6;
    printf("pre-tokens: %llu, of which %llu are distinct; %.1f MB counted in %.3f s (%.0f MB/s)\n",
           (unsigned long long)stats->pretokens, (unsigned long long)stats->distinct_pretokens,
           megabytes, stats->count_seconds,
           stats->count_seconds > 0 ? megabytes / stats->count_seconds : 0);
    printf("vocabulary: %lld entries, %lld merges learned in %.3f s\n",
           (long long)tokenizer->vocab_size, (long long)tokenizer->merge_count,
           stats->merge_seconds);
    if (stats->stopped_early)
        printf(
            "stopped early: no pair is left to merge, so the vocabulary has %lld entries, not %lld\n",
            (long long)tokenizer->vocab_size, (long long)wanted);
    uint32_t longest = tokenize_longest(tokenizer, NULL);
    size_t length;
    tokenizer_token(tokenizer, longest, &length);
    printf("longest token: ");
    tokenize_print_token(tokenizer, longest);
    printf(", %zu bytes, id %lu\n", length, (unsigned long)longest);
}

bool tokenize_train(Session *session) {
    const char *output = session->output;
    if (file_exists(output)) /* reported before the work, not after it */
        return error_set(&session->error,
                         "%s: is not a directory; remove it or choose another name", output);
    double start = omp_get_wtime();
    static const char *const standard_input[] = {"-"};
    const OptionList *inputs = &session->inputs, *specials = &session->specials;
    bool progress = isatty(STDERR_FILENO);
    BpeOptions bpe = {0, progress ? print_progress : NULL, NULL};
    BpeStats stats;
    session->tokenizer = bpe_train(inputs->count ? inputs->items : standard_input,
                                   inputs->count ? inputs->count : 1, session->vocab_size,
                                   specials->items, specials->count, &bpe, &stats, &session->error);
    if (progress) fprintf(stderr, "\r");
    if (!session->tokenizer) return false;
    print_learned(session->tokenizer, &stats, session->vocab_size);
    double learned = omp_get_wtime();
    if (!tokenizer_save(session->tokenizer, output, &session->error)) return false;
    double end = omp_get_wtime();
    printf("written to %s in %.3f s; %.3f s in all; peak memory %.0f MB\n", output, end - learned,
           end - start, peak_megabytes());
    return true;
}
