/* Random small texts against a second tokenizer that is as plain as can be: it splits by trying the
 * alternatives of the pattern one by one, recounts all pairs before every merge, and encodes by applying
 * the merges in order. Merge lists and ids must agree, for any number of threads and any chunk size.
 * 400 texts, 10,000 with TINYLM_TEST_FULL=1. */
#include "tokenizer_helpers.h"

#include "base/parallel.h"

enum { MAX_TEXT = 160, MAX_WORDS = 170, MAX_MERGES = 40 };

/* ---- splitting: \s, \p{L} and \p{N} for ASCII ---- */

static bool is_space(int c) {
    return c == ' ' || (c >= 9 && c <= 13);
}
static bool is_letter(int c) {
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}
static bool is_number(int c) {
    return c >= '0' && c <= '9';
}
static bool is_other(int c) {
    return !is_space(c) && !is_letter(c) && !is_number(c);
}

/* Length of " ?" and at least one character of the kind, or 0. */
static size_t match_run(const char *text, size_t length, bool (*kind)(int)) {
    size_t space = length > 0 && text[0] == ' ', n = space;
    while (n < length && kind((unsigned char)text[n])) n++;
    return n > space ? n : 0;
}

static size_t plain_split(const char *text, size_t length) {
    static const char *const ends[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (int i = 0; i < 7; i++)
        if (strlen(ends[i]) <= length && memcmp(text, ends[i], strlen(ends[i])) == 0)
            return strlen(ends[i]);
    size_t n;
    if ((n = match_run(text, length, is_letter))) return n;
    if ((n = match_run(text, length, is_number))) return n;
    if ((n = match_run(text, length, is_other))) return n;
    while (n < length && is_space((unsigned char)text[n])) n++;
    for (size_t k = n; k > 0; k--) /* \s+(?!\S), giving back one character after the other */
        if (k == length || is_space((unsigned char)text[k])) return k;
    return n; /* \s+ */
}

/* ---- the plain tokenizer ---- */

typedef struct Piece { /* a token: bytes of the text */
    const char *bytes;
    size_t length;
} Piece;

typedef struct Word {
    Piece pieces[MAX_TEXT];
    int count;
    bool special;
} Word;

typedef struct Plain {
    Word words[MAX_WORDS]; /* every pre-token, in order; no two are united */
    int count;
} Plain;

static int compare(Piece a, Piece b) {
    int order = memcmp(a.bytes, b.bytes, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static void add_word(Plain *plain, const char *text, size_t length, bool special) {
    Word *word = &plain->words[plain->count++];
    word->special = special;
    word->count = special ? 1 : (int)length;
    for (int i = 0; i < word->count; i++) word->pieces[i] = (Piece){text + i, special ? length : 1};
}

static void plain_start(Plain *plain, const char *text, const char *special) {
    plain->count = 0;
    while (*text) {
        const char *wall = strstr(text, special);
        size_t part = wall ? (size_t)(wall - text) : strlen(text);
        for (size_t n; part > 0; text += n, part -= n)
            add_word(plain, text, n = plain_split(text, part), false);
        if (!wall) break;
        add_word(plain, wall, strlen(special), true);
        text = wall + strlen(special);
    }
}

/* Occurrences of a pair in all words. */
static int plain_count(const Plain *plain, Piece left, Piece right) {
    int count = 0;
    for (int w = 0; w < plain->count; w++)
        for (int i = 0; i + 1 < plain->words[w].count; i++)
            count += compare(plain->words[w].pieces[i], left) == 0 &&
                     compare(plain->words[w].pieces[i + 1], right) == 0;
    return count;
}

static bool plain_best(const Plain *plain, Piece *left, Piece *right) {
    int best = 0;
    for (int w = 0; w < plain->count; w++)
        for (int i = 0; i + 1 < plain->words[w].count; i++) {
            Piece a = plain->words[w].pieces[i], b = plain->words[w].pieces[i + 1];
            int count = plain_count(plain, a, b);
            int order = best ? compare(a, *left) : 1;
            if (order == 0) order = compare(b, *right);
            if (count < best || (count == best && order <= 0)) continue;
            best = count;
            *left = a;
            *right = b;
        }
    return best > 0;
}

static void plain_merge(Plain *plain, Piece left, Piece right) {
    for (int w = 0; w < plain->count; w++) {
        Word *word = &plain->words[w];
        int to = 0;
        for (int i = 0; i < word->count; i++) {
            Piece piece = word->pieces[i];
            if (i + 1 < word->count && compare(piece, left) == 0 &&
                compare(word->pieces[i + 1], right) == 0) {
                piece.length += word->pieces[i + 1].length;
                i++;
            }
            word->pieces[to++] = piece;
        }
        word->count = to;
    }
}

/* ---- the comparison ---- */

static void random_text(uint64_t round, char *text) {
    static const char *const parts[] = {
        "a",  "b",   "ab", "aa", " ",     "  ", "\n", "1",    "12",           "!",
        "'s", "'ll", "'",  "c",  "<|x|>", "ba", "\t", "\x80", "\xE2\x82\xAC", "a b a"};
    int kinds = 2 + (int)random_below(round, RANDOM_TEST, 1, 19);
    uint64_t count = random_below(round, RANDOM_TEST, 0, 30);
    *text = '\0';
    for (uint64_t i = 0; i < count; i++)
        strcat(text, parts[random_below(round, RANDOM_TEST, 2 + i, (uint64_t)kinds)]);
}

static void assert_same_ids(const Tokenizer *tokenizer, const Plain *plain, const uint32_t *ids,
                            size_t count) {
    size_t at = 0;
    for (int w = 0; w < plain->count; w++)
        for (int i = 0; i < plain->words[w].count; i++, at++) {
            Piece piece = plain->words[w].pieces[i];
            assert_true(at < count);
            assert_int_equal(ids[at],
                             tokenizer_find(tokenizer, (const uint8_t *)piece.bytes, piece.length));
            assert_int_equal(tokenizer_is_special(tokenizer, ids[at]), plain->words[w].special);
        }
    assert_int_equal(at, count);
}

static void assert_encoded(const Tokenizer *tokenizer, const Plain *plain, const char *text,
                           size_t chunk) {
    Error error;
    size_t length = strlen(text), count;
    uint32_t *ids;
    assert_true(tokenizer_encode(tokenizer, (const uint8_t *)text, length, &ids, &count, &error));
    assert_same_ids(tokenizer, plain, ids, count);
    free(ids);
    IdList list = {0};
    assert_true(
        encode_file(tokenizer, scratch_path("text"), chunk, encode_into_list, &list, NULL, &error));
    assert_same_ids(tokenizer, plain, list.ids, list.count);
    list.count = 0;
    StreamEncoder *stream = stream_encoder_new(tokenizer);
    for (size_t i = 0, n; i < length; i += n) {
        n = chunk < length - i ? chunk : length - i;
        assert_true(stream_encoder_feed(stream, (const uint8_t *)text + i, n, &list, &error));
    }
    assert_true(stream_encoder_finish(stream, &list, &error));
    assert_same_ids(tokenizer, plain, list.ids, list.count);
    stream_encoder_free(stream);
    free(list.ids);
}

static void check_text(uint64_t round, Plain *plain) {
    static const size_t chunks[] = {1, 2, 3, 5, 16, 100};
    size_t chunk = chunks[round / 4 % 6];
    char text[MAX_TEXT];
    const char *special = "<|x|>", *path = scratch_path("text");
    random_text(round, text);
    write_bytes(path, text, strlen(text));
    Error error;
    int wanted = (int)random_below(round, RANDOM_TEST, 99, MAX_MERGES);
    BpeOptions options = {.chunk_bytes = chunk};
    Tokenizer *tokenizer = bpe_train(&path, 1, 257 + wanted, &special, 1, &options, NULL, &error);
    assert_non_null(tokenizer);
    plain_start(plain, text, special);
    Piece left, right;
    for (int64_t i = 0; i < tokenizer->merge_count; i++) {
        assert_true(plain_best(plain, &left, &right));
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, tokenizer->merges[i].left, &length);
        assert_int_equal(compare(left, (Piece){(const char *)bytes, length}), 0);
        bytes = tokenizer_token(tokenizer, tokenizer->merges[i].right, &length);
        assert_int_equal(compare(right, (Piece){(const char *)bytes, length}), 0);
        plain_merge(plain, left, right);
    }
    if (tokenizer->vocab_size < 257 + wanted) assert_false(plain_best(plain, &left, &right));
    assert_encoded(tokenizer, plain, text, chunk);
    tokenizer_free(tokenizer);
}

/* In blocks of one thread count, since changing it makes a new team. */
TEST(test_random_texts) {
    static const int threads[] = {1, 2, 3, 7};
    uint64_t rounds = getenv("TINYLM_TEST_FULL") ? 10000 : 400;
    Plain *plain = allocate(1, sizeof *plain);
    for (uint64_t block = 0; block < 4; block++) {
        parallel_start(threads[block]);
        for (uint64_t round = block; round < rounds; round += 4) check_text(round, plain);
    }
    parallel_start(0);
    free(plain);
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
