/* ./tokenize split, show and merges: what happens to a text on its way to ids. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/printable.h"
#include "commands/tokenize/tokenize.h"
#include "tokenizer/merger.h"
#include "tokenizer/pretokenizer.h"

/* ---- split ---- */

static void print_hex(char kind, const uint8_t *bytes, size_t length) {
    static const char digits[] = "0123456789abcdef";
    putchar(kind);
    putchar(' ');
    for (size_t i = 0; i < length; i++) {
        putchar(digits[bytes[i] >> 4]);
        putchar(digits[bytes[i] & 15]);
    }
    putchar('\n');
}

static void print_pieces(const SpecialTokens *specials, const uint8_t *text, const uint8_t *end) {
    while (text < end) {
        const SpecialToken *special = NULL;
        const uint8_t *wall = special_tokens_find(specials, text, end, &special);
        while (text < wall) {
            size_t length = pretoken_length(text, wall);
            print_hex('p', text, length);
            text += length;
        }
        if (!special) break;
        print_hex('s', special->text, special->length);
        text += special->length;
    }
}

bool tokenize_split(Session *session) {
    SpecialTokens specials = {0};
    bool done = true;
    for (int i = 0; done && i < session->specials.count; i++) {
        done = special_tokens_check(session->specials.items[i], &session->error);
        if (done) special_tokens_add(&specials, session->specials.items[i], 0);
    }
    size_t size;
    const char *input = session->input ? session->input : "-";
    char *text = done ? file_read(input, SIZE_MAX / 4, &size, &session->error) : NULL;
    if (text) print_pieces(&specials, (const uint8_t *)text, (const uint8_t *)text + size);
    special_tokens_free(&specials);
    free(text);
    return text != NULL;
}

/* ---- show ---- */

static void show_ids(const Tokenizer *tokenizer, const uint32_t *ids, size_t count, bool colours) {
    static const char *const backgrounds[] = {"\033[30;106m", "\033[30;103m", "\033[30;102m",
                                              "\033[30;105m"};
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, ids[i], &length);
        if (!colours) {
            printf("%lu ", (unsigned long)ids[i]);
            print_quoted(stdout, bytes, length);
            putchar('\n');
            continue;
        }
        fputs(backgrounds[i % 4], stdout);
        print_escaped(stdout, bytes, length);
        printf("\033[0m\033[2m%lu\033[0m ", (unsigned long)ids[i]);
    }
    if (colours) putchar('\n');
}

bool tokenize_show(Session *session) {
    uint32_t *ids = NULL;
    size_t count;
    bool done = tokenizer_encode(session->tokenizer, (const uint8_t *)session->text,
                                 strlen(session->text), &ids, &count, &session->error);
    if (done) show_ids(session->tokenizer, ids, count, isatty(STDOUT_FILENO));
    free(ids);
    return done;
}

/* ---- merges ---- */

static void print_symbols(const Tokenizer *tokenizer, const IdList *symbols) {
    for (size_t i = 0; i < symbols->count; i++) {
        if (i) putchar(' ');
        tokenize_print_token(tokenizer, symbols->ids[i]);
    }
    putchar('\n');
}

/* The merge of lowest rank between neighbours, or NULL. */
static const Merge *lowest_merge(const Tokenizer *tokenizer, const IdList *symbols) {
    const Merge *lowest = NULL;
    for (size_t i = 0; i + 1 < symbols->count; i++) {
        const Merge *merge = tokenizer_merge(tokenizer, symbols->ids[i], symbols->ids[i + 1]);
        if (merge && (!lowest || merge->rank < lowest->rank)) lowest = merge;
    }
    return lowest;
}

/* The symbols after each step are what merging gives when only the ranks up to that step's count. */
static bool explain_pretoken(Merger *merger, const uint8_t *text, size_t length, Error *error) {
    const Tokenizer *tokenizer = merger->tokenizer;
    IdList symbols = {0};
    merger->rank_limit = 0;
    bool done = merger_merge(merger, text, length, &symbols);
    if (!done)
        error_set(error, "the vocabulary has no token for the byte 0x%02X",
                  (unsigned)merger->missing_byte);
    else
        print_symbols(tokenizer, &symbols);
    for (const Merge *merge; done && (merge = lowest_merge(tokenizer, &symbols));) {
        printf("  merge %lu makes ", (unsigned long)merge->rank + 1);
        tokenize_print_token(tokenizer, merge->result);
        fputs(":  ", stdout);
        merger->rank_limit = merge->rank + 1;
        symbols.count = 0;
        merger_merge(merger, text, length, &symbols);
        print_symbols(tokenizer, &symbols);
    }
    fputs("ids:", stdout);
    for (size_t i = 0; i < symbols.count; i++) printf(" %lu", (unsigned long)symbols.ids[i]);
    putchar('\n');
    free(symbols.ids);
    return done;
}

bool tokenize_merges(Session *session) {
    Merger merger;
    merger_init(&merger, session->tokenizer);
    const uint8_t *text = (const uint8_t *)session->text, *end = text + strlen(session->text);
    bool done = true;
    while (done && text < end) {
        size_t length = session->tokenizer->pretokenizer->length(text, end);
        done = explain_pretoken(&merger, text, length, &session->error);
        text += length;
    }
    merger_free(&merger);
    return done;
}
