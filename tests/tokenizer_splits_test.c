/* The splits beside GPT-2's: known pieces, cuts, and their way through files. tokenizer_splits_test.sh compares
 * them with the programs that they come from. */
#include "tokenizer_helpers.h"

#include "tokenizer/pretokenizer.h"
#include "tokenizer/special_tokens.h"

/* The pieces of a text, with | between. */
static char *pieces(int kind, const char *string) {
    const uint8_t *text = (const uint8_t *)string, *end = text + strlen(string);
    char *out = allocate_zeroed(2 * strlen(string) + 1, 1), *to = out;
    while (text < end) {
        size_t length = pretokenizers[kind].length(text, end);
        assert_true(length > 0 && length <= (size_t)(end - text));
        if (to > out) *to++ = '|';
        memcpy(to, text, length);
        to += length;
        text += length;
    }
    return out;
}

static void test_known_pieces(void **state) {
    (void)state;
    unicode_start();
    static const struct {
        int kind;
        const char *pieces;
    } cases[] = {
        {PRETOKENIZER_GPT2, "a| | 12|\n| b|'s"},
        {PRETOKENIZER_DIGITS, "a|  |1|2|\n| b|'s"},
        {PRETOKENIZER_DIGITS, "x|½|٤| "},
        {PRETOKENIZER_LLAMA3, "It|'S| '|s|\n\n|   | a|123|45|!!\n\n| b|\n|  "},
        {PRETOKENIZER_LLAMA3, "'ſ|.a|\tb|'rE"},
        {PRETOKENIZER_CL100K, "It|'S| |123|45|.\n| b|\n  "},
        {PRETOKENIZER_O200K, "HELLOworld'S|Word|A中|B|!//\n/|x"},
        {PRETOKENIZER_O200K, "\xCC\x81|AB| ab\xCC\x81"
                             "c|DE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = string_copy(cases[i].pieces), *to = text;
        for (const char *from = text; *from; from++)
            if (*from != '|') *to++ = *from;
        *to = '\0';
        char *found = pieces(cases[i].kind, text);
        assert_string_equal(found, cases[i].pieces);
        free(found);
        free(text);
    }
}

/* Texts may be cut for threads and streams: each cut is the end of a piece, also without what follows. */
static void test_cuts(void **state) {
    (void)state;
    unicode_start();
    static const char *const parts[] = {
        "a", "B", "1",  " ",  "  ",       "\n",       "\r",           "\t",
        "!", "/", "'s", "中", "\xCC\x81", "\xC2\xA0", "\xE2\x80\xA8", "\xFF"};
    for (uint64_t round = 0; round < 4000; round++) {
        uint8_t text[64];
        size_t length = 0, count = sizeof parts / sizeof *parts;
        for (uint64_t i = 0; i < 12; i++) {
            const char *part = parts[random_below(7, RANDOM_TEST, 12 * round + i, count)];
            memcpy(text + length, part, strlen(part));
            length += strlen(part);
        }
        for (int k = 0; k < PRETOKENIZERS; k++) {
            const uint8_t *end = text + length, *cut = text, *a = text, *b;
            while ((cut = pretoken_cut(&pretokenizers[k], text, cut, end)) < end) {
                for (b = a; a < cut;) {
                    size_t whole = pretokenizers[k].length(a, end);
                    assert_int_equal(pretokenizers[k].length(b, cut), whole);
                    a += whole;
                    b += whole;
                }
                assert_ptr_equal(a, cut);
                cut++;
            }
        }
    }
}

/* A tokenizer with the bytes and a few merges that the splits allow or forbid. */
static Tokenizer *sample(int kind, bool whole) {
    Tokenizer *tokenizer = train_on_text("12 12 12  12 a a ab ab ab 'S 'S !\n !\n", 12, NULL, 0);
    tokenizer->pretokenizer = &pretokenizers[kind];
    tokenizer->whole_tokens = whole;
    Error error;
    if (whole) { /* as Llama 3 */
        assert_true(tokenizer_add_special(tokenizer, "<BOS>", &error));
        tokenizer->begin = (uint32_t)tokenizer_special_id(tokenizer, "<BOS>");
    }
    return tokenizer;
}

/* Every kind comes back from a folder with the same ids, also where another tokenizer was. */
static void test_saved(void **state) {
    (void)state;
    Error error;
    for (int k = 0; k < 2 * PRETOKENIZERS; k++) {
        Tokenizer *tokenizer = sample(k / 2, k % 2);
        assert_true(tokenizer_save(tokenizer, scratch_path("kinds"), &error));
        Tokenizer *again = tokenizer_load(scratch_path("kinds"), &error);
        if (!again) fail_msg("%s", error.message);
        assert_ptr_equal(again->pretokenizer, tokenizer->pretokenizer);
        assert_true(tokenizer_fingerprint(again) == tokenizer_fingerprint(tokenizer));
        tokenizer_free(again);
        tokenizer->pretokenizer = &pretokenizers[(k / 2 + 1) % PRETOKENIZERS];
        again = tokenizer_load(scratch_path("kinds"), &error);
        assert_true(tokenizer_fingerprint(again) != tokenizer_fingerprint(tokenizer));
        tokenizer_free(again);
        tokenizer_free(tokenizer);
    }
}

/* A stream in pieces of any size gives the ids of the text. */
static void test_streamed(void **state) {
    (void)state;
    static const char text[] = "12  12\n\n  ab !\n\n /'S ab12 ABab\n   ";
    Error error;
    for (int k = 0; k < PRETOKENIZERS; k++) {
        Tokenizer *tokenizer = sample(k, k % 2);
        uint32_t *ids;
        size_t count, length = strlen(text);
        assert_true(
            tokenizer_encode(tokenizer, (const uint8_t *)text, length, &ids, &count, &error));
        for (size_t size = 1; size < length; size++) {
            StreamEncoder *stream = stream_encoder_new(tokenizer);
            IdList list = {0};
            for (size_t at = 0; at < length; at += size) {
                size_t part = length - at < size ? length - at : size;
                assert_true(
                    stream_encoder_feed(stream, (const uint8_t *)text + at, part, &list, &error));
            }
            assert_true(stream_encoder_finish(stream, &list, &error));
            assert_int_equal(list.count, count);
            assert_memory_equal(list.ids, ids, count * sizeof *ids);
            free(list.ids);
            stream_encoder_free(stream);
        }
        free(ids);
        tokenizer_free(tokenizer);
    }
}

/* tiktoken's rank files: the name of the file tells the split. */
static void test_rank_file_names(void **state) {
    (void)state;
    static const char ranks[] = "YQ== 0\nIA== 1\nCg== 2\nOwo= 3\n"; /* a, blank, newline, ";\n" */
    Error error;
    write_bytes(scratch_path("x.tiktoken"), ranks, strlen(ranks));
    assert_null(tokenizer_load(scratch_path("x.tiktoken"), &error));
    assert_non_null(strstr(error.message, "cl100k"));
    for (int k = PRETOKENIZER_LLAMA3; k < PRETOKENIZERS; k++) {
        char *name = string_format("%s_base.tiktoken", pretokenizers[k].name);
        write_bytes(scratch_path(name), ranks, strlen(ranks));
        Tokenizer *tokenizer = tokenizer_load(scratch_path(name), &error);
        if (!tokenizer) fail_msg("%s", error.message);
        assert_ptr_equal(tokenizer->pretokenizer, &pretokenizers[k]);
        tokenizer_free(tokenizer);
        free(name);
    }
}

/* An added token whose id leaves a gap behind the vocabulary keeps it. */
static void test_gap_before_added_token(void **state) {
    (void)state;
    static const char json[] =
        "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false},"
        " \"added_tokens\": [{\"id\": 5, \"content\": \"<x>\"}],"
        " \"model\": {\"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": []}}";
    write_bytes(scratch_path("gap.json"), json, strlen(json));
    Error error;
    Tokenizer *tokenizer = tokenizer_load(scratch_path("gap.json"), &error);
    if (!tokenizer) fail_msg("%s", error.message);
    uint32_t *ids;
    size_t count;
    assert_true(tokenizer_encode(tokenizer, (const uint8_t *)"b<x>a", 5, &ids, &count, &error));
    static const uint32_t expected[] = {1, 5, 0};
    assert_int_equal(count, 3);
    assert_memory_equal(ids, expected, sizeof expected);
    assert_int_equal(tokenizer_vocab_size(tokenizer), 6);
    assert_null(tokenizer_token(tokenizer, 3, &count));
    free(ids);
    tokenizer_free(tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_pieces),    cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_saved),           cmocka_unit_test(test_streamed),
        cmocka_unit_test(test_rank_file_names), cmocka_unit_test(test_gap_before_added_token),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
