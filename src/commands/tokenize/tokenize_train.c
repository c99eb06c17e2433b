#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "commands/tokenize/tokenize_commands.h"
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

int tokenize_train(int argc, char **argv) {
    Session session = {0};
    OptionList inputs = {0};
    const char *output = NULL;
    int64_t vocab_size = 0;
    const Option options[] = {
        OPTION_LIST("--input", "FILE", &inputs, "text to learn from; default: standard input"),
        OPTION_WHOLE(
            "--vocab-size", "N", &vocab_size, 1, 1 << 30,
            "needed: entries of the vocabulary, that is special tokens, 256 bytes, merges"),
        OPTION_LIST("--special", "TOKEN", &session.specials,
                    "a special token, e.g. '<|endoftext|>'"),
        OPTION_TEXT("--output", "DIR", &output, "needed: where the tokenizer is written; created"),
        OPTION_THREADS(&session.threads),
        OPTIONS_END,
    };
    const Program program = {"tokenize train", "Learns a byte-level BPE vocabulary.",
                             "./tokenize train --input text.txt --vocab-size 4096 "
                             "--special '<|endoftext|>' --output my_tokenizer",
                             options};
    if (!session_open(&session, &program, argc, argv)) return 1;

    double start = omp_get_wtime();
    static const char *const standard_input[] = {"-"};
    bool progress = isatty(STDERR_FILENO);
    BpeOptions bpe = {0, progress ? print_progress : NULL, NULL};
    BpeStats stats;
    Tokenizer *tokenizer = NULL;
    if (file_exists(output)) /* reported before the work, not after it */
        error_set(&session.error, "%s: is not a directory; remove it or choose another name",
                  output);
    else
        tokenizer = bpe_train(inputs.count ? inputs.items : standard_input,
                              inputs.count ? inputs.count : 1, vocab_size, session.specials.items,
                              session.specials.count, &bpe, &stats, &session.error);
    if (progress) fprintf(stderr, "\r");
    option_list_free(&inputs);
    session.tokenizer = tokenizer;
    if (!tokenizer) return session_close(&session, &program, false);
    print_learned(tokenizer, &stats, vocab_size);
    double learned = omp_get_wtime();
    bool saved = tokenizer_save(tokenizer, output, &session.error);
    double end = omp_get_wtime();
    if (saved)
        printf("written to %s in %.3f s; %.3f s in all; peak memory %.0f MB\n", output,
               end - learned, end - start, peak_megabytes());
    return session_close(&session, &program, saved);
}
