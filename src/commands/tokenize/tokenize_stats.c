/* ./tokenize stats and compare: how well a vocabulary fits a text. */
#include <stdlib.h>

#include "commands/tokenize/tokenize.h"

/* How often each id occurs. */
typedef struct Usage {
    const Tokenizer *tokenizer;
    uint64_t *counts;
    EncodeStats stats;
} Usage;

static bool count_ids(void *context, const uint32_t *ids, size_t count, Error *error) {
    (void)error;
    Usage *usage = context;
    for (size_t i = 0; i < count; i++) usage->counts[ids[i]]++;
    return true;
}

/* Encodes a text and counts its ids; free usage->counts. */
static bool usage_of(Usage *usage, const Tokenizer *tokenizer, const char *input, Error *error) {
    usage->tokenizer = tokenizer;
    usage->counts =
        allocate_zeroed((unsigned long long)tokenizer->vocab_size, sizeof *usage->counts);
    return tokenize_input(tokenizer, input, count_ids, usage, &usage->stats, error);
}

static double bytes_per_token(const EncodeStats *stats) {
    return stats->tokens ? (double)stats->bytes / (double)stats->tokens : 0;
}

/* ---- stats ---- */

enum { SHOWN = 10 };

/* The ids with the highest counts, most frequent first; ties by id. Returns how many there are. */
static int most_frequent(const Usage *usage, uint32_t top[SHOWN]) {
    int found = 0;
    for (uint32_t id = 0; id < usage->tokenizer->vocab_size; id++) {
        if (!usage->counts[id]) continue;
        int at = found < SHOWN ? found++ : SHOWN;
        while (at > 0 && usage->counts[top[at - 1]] < usage->counts[id]) {
            if (at < SHOWN) top[at] = top[at - 1];
            at--;
        }
        if (at < SHOWN) top[at] = id;
    }
    return found;
}

static void print_usage(const Usage *usage) {
    const Tokenizer *tokenizer = usage->tokenizer;
    uint32_t top[SHOWN];
    int found = most_frequent(usage, top);
    printf("most frequent tokens:\n");
    for (int i = 0; i < found; i++) {
        printf("  %6.2f %%  %lu ",
               100 * (double)usage->counts[top[i]] / (double)usage->stats.tokens,
               (unsigned long)top[i]);
        tokenize_print_token(tokenizer, top[i]);
        putchar('\n');
    }
    int64_t entries = 0, unused = 0;
    size_t length;
    for (uint32_t id = 0; id < tokenizer->vocab_size; id++) {
        if (!tokenizer_token(tokenizer, id, &length)) continue;
        entries++;
        unused += !usage->counts[id];
    }
    printf("unused: %lld of %lld tokens%s", (long long)unused, (long long)entries,
           unused ? ", the first ones:" : "");
    int shown = 0;
    for (uint32_t id = 0; id < tokenizer->vocab_size && shown < SHOWN; id++) {
        if (usage->counts[id] || !tokenizer_token(tokenizer, id, &length)) continue;
        putchar(' ');
        tokenize_print_token(tokenizer, id);
        shown++;
    }
    putchar('\n');
}

/* The handout's question: how long the 825 GB of the Pile would take. */
static void print_pile_time(const EncodeStats *stats) {
    if (stats->bytes == 0 || stats->seconds <= 0) return;
    double rate = (double)stats->bytes / stats->seconds, hours = 825e9 / rate / 3600;
    printf("throughput: %.1f MB/s; at this rate 825 GB of text would take ", rate / 1e6);
    if (hours < 1)
        printf("%.0f minutes\n", 60 * hours);
    else if (hours < 48)
        printf("%.1f hours\n", hours);
    else
        printf("%.1f days\n", hours / 24);
}

bool tokenize_stats(Session *session) {
    Usage usage;
    bool done = usage_of(&usage, session->tokenizer, session->input, &session->error);
    if (done) {
        printf("bytes: %llu, tokens: %llu, bytes per token: %.3f\n",
               (unsigned long long)usage.stats.bytes, (unsigned long long)usage.stats.tokens,
               bytes_per_token(&usage.stats));
        print_usage(&usage);
        print_pile_time(&usage.stats);
    }
    free(usage.counts);
    return done;
}

/* ---- compare ---- */

static bool compare_on(const char *directory, Session *session) {
    const OptionList *inputs = &session->inputs;
    Tokenizer *tokenizer = tokenize_load(directory, &session->specials, &session->error);
    if (!tokenizer) return false;
    bool done = true;
    for (int i = 0; done && i < inputs->count; i++) {
        Usage usage;
        done = usage_of(&usage, tokenizer, inputs->items[i], &session->error);
        if (done) {
            printf("%15.3f %12llu  ", bytes_per_token(&usage.stats),
                   (unsigned long long)usage.stats.tokens);
            uint32_t longest = tokenize_longest(tokenizer, usage.counts);
            if (longest != TOKEN_NONE) tokenize_print_token(tokenizer, longest);
            printf("  %s (%lld entries) on %s\n", directory, (long long)tokenizer->vocab_size,
                   inputs->items[i]);
        }
        free(usage.counts);
    }
    tokenizer_free(tokenizer);
    return done;
}

bool tokenize_compare(Session *session) {
    printf("bytes per token       tokens  longest token used, tokenizer, text\n");
    bool done = true;
    for (int i = 0; done && i < session->directories.count; i++)
        done = compare_on(session->directories.items[i], session);
    return done;
}
