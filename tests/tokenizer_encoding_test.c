/* Splitting, encoding and decoding: the handout's example, shared cases, streams, long pre-tokens. */
#include "tokenizer_helpers.h"

#include <time.h>

#include "tokenizer/decoder.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/unicode.h"

/* ---- splitting ---- */

/* The pieces of a text as "p6869 s3c7c7c3e ", to be freed. */
static char *pieces_of(const uint8_t *text, size_t length, const SpecialTokens *specials) {
    const uint8_t *end = text + length;
    size_t size;
    char *result;
    FILE *out = open_memstream(&result, &size);
    while (text < end) {
        const SpecialToken *special = NULL;
        const uint8_t *wall = special_tokens_find(specials, text, end, &special);
        PretokenWalk walk = {&pretokenizers[PRETOKENIZER_GPT2], text, wall, NULL, 0};
        for (size_t piece; text < wall; text += piece) {
            piece = pretoken_walk(&walk);
            assert_int_equal(piece, pretoken_length(text, wall));
            char *hex = to_hex(text, piece);
            fprintf(out, "p%s ", hex);
            free(hex);
        }
        if (!special) break;
        char *hex = to_hex(special->text, special->length);
        fprintf(out, "s%s ", hex);
        free(hex);
        text += special->length;
    }
    fclose(out);
    return result;
}

/* Expected pieces as ["p", hex] or as hex alone, where a special token's hex is given. */
static char *expected_pieces(const cJSON *array, const char *special_hex) {
    size_t size;
    char *result;
    FILE *out = open_memstream(&result, &size);
    const cJSON *piece;
    cJSON_ArrayForEach(piece, array) {
        if (cJSON_IsArray(piece))
            fprintf(out, "%s%s ", piece->child->valuestring, piece->child->next->valuestring);
        else
            fprintf(out, "%c%s ", strcmp(piece->valuestring, special_hex) == 0 ? 's' : 'p',
                    piece->valuestring);
    }
    fclose(out);
    return result;
}

static void assert_pieces(const uint8_t *text, size_t length, const SpecialTokens *specials,
                          const cJSON *expected) {
    char *ours = pieces_of(text, length, specials);
    char *theirs = expected_pieces(expected, "3c7c656e646f66746578747c3e");
    assert_string_equal(ours, theirs);
    free(ours);
    free(theirs);
}

CASES_TEST(test_split_specials) {
    unicode_start();
    cJSON *json = tokenizer_cases("t02_t03_special_neighbours.json");
    SpecialTokens none = {0}, specials = {0};
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(json, "specials"))
        special_tokens_add(&specials, item->valuestring, 0);
    cJSON_ArrayForEach(item, json_get(json, "cases")) {
        size_t length;
        uint8_t *text = from_hex(json_get(item, "text_hex")->valuestring, &length);
        assert_pieces(text, length, &specials, json_get(item, "pieces"));
        assert_pieces(text, length, &none, json_get(item, "pieces_no_special"));
        free(text);
    }
    special_tokens_free(&specials);
    cJSON_Delete(json);
}

CASES_TEST(test_split_files) {
    unicode_start();
    static const char *const names[] = {"t12_line_ends", "t13_nul_bytes", "t14_bom_text",
                                        "t21_mojibake"};
    SpecialTokens specials = {0};
    special_tokens_add(&specials, "<|endoftext|>", 0);
    for (int i = 0; i < 4; i++) {
        char *name = string_format("%s.expect.json", names[i]);
        cJSON *json = tokenizer_cases(name);
        free(name);
        name = string_format("cases/tok/%s.txt", names[i]);
        Error error;
        size_t length;
        char *text = file_read(case_path(name), 1 << 20, &length, &error);
        assert_pieces((uint8_t *)text, length, &specials, json_get(json, "pieces"));
        free(name);
        free(text);
        cJSON_Delete(json);
    }
    special_tokens_free(&specials);
}

CASES_TEST(test_split_contractions) {
    unicode_start();
    cJSON *json = tokenizer_cases("t10b_contractions.expect.json");
    Error error;
    size_t length;
    char *text = file_read(case_path("cases/tok/t10b_contractions.txt"), 1 << 20, &length, &error);
    const uint8_t *p = (uint8_t *)text, *end = p + length;
    const cJSON *piece;
    cJSON_ArrayForEach(piece, json_get(json, "pieces")) {
        assert_true(p < end);
        size_t n = pretoken_length(p, end);
        assert_int_equal(n, strlen(piece->valuestring));
        assert_memory_equal(p, piece->valuestring, n);
        p += n;
    }
    assert_ptr_equal(p, end);
    free(text);
    cJSON_Delete(json);
}

/* A cut is only made where the pieces before and behind stay the same: every cut of random texts. */
TEST(test_cuts_are_safe) {
    unicode_start();
    static const char *const parts[] = {
        "a",        " ",    "\n",       "  ", "1",  "'",  "s",  "<|x|>", "\xC2\xA0", "\xE3\x80\x80",
        "\xC3\xA9", "\x80", "\xE2\x80", "!",  "\t", "| ", "<|", "|x|> y"};
    SpecialTokens specials = {0}, none = {0};
    special_tokens_add(&specials, "<|x|>", 0);
    special_tokens_add(&specials, "|x|> y", 1);
    special_tokens_add(&specials, "\n ", 2);
    special_tokens_add(&specials, "!\n", 3);
    for (uint64_t round = 0; round < 3000; round++) {
        uint8_t text[256];
        size_t length = 0;
        for (uint64_t i = 0; i < 20; i++) {
            const char *part =
                parts[random_below(round, RANDOM_TEST, i, sizeof parts / sizeof *parts)];
            memcpy(text + length, part, strlen(part));
            length += strlen(part);
        }
        const SpecialTokens *set = round % 2 ? &specials : &none;
        char *whole = pieces_of(text, length, set);
        for (size_t from = 0; from < length; from++) {
            size_t cut = (size_t)(special_tokens_cut(set, &pretokenizers[PRETOKENIZER_GPT2], text,
                                                     text + from, text + length) -
                                  text);
            char *left = pieces_of(text, cut, set),
                 *right = pieces_of(text + cut, length - cut, set);
            char *both = string_format("%s%s", left, right);
            assert_string_equal(both, whole);
            free(left);
            free(right);
            free(both);
        }
        free(whole);
    }
    special_tokens_free(&specials);
}

/* Overlapping special tokens: leftmost, then longest, in whatever order they were added. */
TEST(test_overlapping_specials) {
    unicode_start();
    static const char *const texts[] = {"<a>", "<a><b>", "a><", "ab", "bcd", "c", "bc"};
    for (int turn = 0; turn < 7; turn++) {
        SpecialTokens specials = {0};
        for (int i = 0; i < 7; i++) special_tokens_add(&specials, texts[(i + turn) % 7], 0);
        const char *text = "<a><b><a> abcd xbcd ac";
        char *pieces = pieces_of((const uint8_t *)text, strlen(text), &specials);
        assert_string_equal(pieces,
                            "s3c613e3c623e s3c613e p20 s6162 s63 p64 p2078 s626364 p2061 s63 ");
        free(pieces);
        special_tokens_free(&specials);
    }
}

/* ---- Unicode ---- */

CASES_TEST(test_unicode_classes) {
    unicode_start();
    double version = atof(unicode_version()); /* "15.0.0" */
    cJSON *json = tokenizer_cases("t11_unicode_version.json");
    const cJSON *row;
    cJSON_ArrayForEach(row, json_get(json, "rows")) {
        bool known = version >= atof(json_get(row, "assigned_in")->valuestring);
        const char *class = known ? json_get(row, "class_since")->valuestring : "O";
        unsigned character;
        sscanf(json_get(row, "code_point")->valuestring, "U+%X", &character);
        assert_int_equal("OLNS"[unicode_class(character)], *class);
    }
    cJSON_Delete(json);
    static const uint32_t spaces[] = {0x9,    0xA,    0xB,    0xC,    0xD,    0x20,
                                      0x85,   0xA0,   0x1680, 0x2000, 0x200A, 0x2028,
                                      0x2029, 0x202F, 0x205F, 0x3000};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        assert_int_equal(unicode_class(spaces[i]), CLASS_SPACE);
    static const uint32_t others[] = {0x1C, 0x1F, 0x200B, 0xFEFF, 0x0301, 0x180E, 0x10FFFF};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(unicode_class(others[i]), CLASS_OTHER);
}

/* Every code point comes back from UTF-8; surrogates and what is above do not exist. */
TEST(test_utf8) {
    for (uint32_t c = 0; c < 0x110000; c++) {
        uint8_t bytes[4];
        uint32_t back;
        size_t length = unicode_encode(c, bytes);
        bool surrogate = c >= 0xD800 && c < 0xE000;
        assert_int_equal(unicode_decode(bytes, bytes + length, &back), surrogate ? 1 : length);
        assert_int_equal(back, surrogate ? UNICODE_INVALID : c);
        for (size_t cut = 1; cut < length && !surrogate; cut++)
            assert_int_equal(unicode_unfinished(bytes, cut), cut);
        assert_int_equal(unicode_unfinished(bytes, length), 0);
    }
}

/* ---- decoding ---- */

/* Appends text to a list of code points and checks it against the expected ones. */
static void assert_code_points(const uint8_t *text, size_t length, const cJSON *expected) {
    const uint8_t *end = text + length;
    const cJSON *character;
    cJSON_ArrayForEach(character, expected) {
        uint32_t ours;
        assert_true(text < end);
        text += unicode_decode(text, end, &ours);
        assert_int_equal(ours, strtoul(character->valuestring, NULL, 16));
    }
    assert_ptr_equal(text, end);
}

CASES_TEST(test_stream_decoder) {
    cJSON *json = tokenizer_cases("t09_stream_decode.json");
    const cJSON *item, *cases = json_get(json, "cases");
    assert_true(cJSON_GetArraySize(cases) > 0);
    cJSON_ArrayForEach(item, cases) {
        Decoder decoder;
        decoder_init(&decoder, NULL);
        const cJSON *hex, *emitted = json_get(item, "emitted")->child;
        size_t length;
        cJSON_ArrayForEach(hex, json_get(item, "tokens_hex")) {
            size_t count;
            uint8_t *bytes = from_hex(hex->valuestring, &count);
            const uint8_t *text = decoder_add_bytes(&decoder, bytes, count, &length);
            assert_code_points(text, length, emitted);
            emitted = emitted->next;
            free(bytes);
        }
        const uint8_t *text = decoder_finish(&decoder, &length);
        assert_code_points(text, length, emitted);
        decoder_free(&decoder);
    }
    cJSON_Delete(json);
}

CASES_TEST(test_invalid_utf8) {
    unicode_start();
    cJSON *json = tokenizer_cases("t07_invalid_utf8.json");
    Error error;
    const char *special = "<|endoftext|>";
    Tokenizer *tokenizer = bpe_start(&special, 1, &error);
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(json, "cases")) {
        size_t length, count, raw_length, text_length;
        uint8_t *bytes = from_hex(json_get(item, "hex")->valuestring, &length);
        assert_pieces(bytes, length, &tokenizer->specials, json_get(item, "pieces"));
        uint32_t *ids;
        assert_true(tokenizer_encode(tokenizer, bytes, length, &ids, &count, &error));
        uint8_t *raw = tokenizer_decode(tokenizer, ids, count, &raw_length, &error);
        assert_int_equal(raw_length, length);
        assert_memory_equal(raw, bytes, length);
        Decoder decoder;
        decoder_init(&decoder, tokenizer);
        size_t size;
        char *text;
        FILE *out = open_memstream(&text, &size);
        const uint8_t *part;
        for (size_t i = 0; i < count; i++) {
            part = decoder_add(&decoder, ids[i], &text_length);
            fwrite(part, 1, text_length, out);
        }
        part = decoder_finish(&decoder, &text_length);
        fwrite(part, 1, text_length, out);
        fclose(out);
        const cJSON *expected = json_get(item, "decoded_replace"); /* null where it is too long */
        if (cJSON_IsArray(expected)) assert_code_points((uint8_t *)text, size, expected);
        decoder_free(&decoder);
        free(text);
        free(raw);
        free(ids);
        free(bytes);
    }
    tokenizer_free(tokenizer);
    cJSON_Delete(json);
}

/* ---- encoding ---- */

/* The handout's example: a vocabulary of eleven tokens, without most bytes. */
TEST(test_handout_vocabulary) {
    static const char *const tokens[] = {" ",  "a",  "c",  "e",   "h",  "t",
                                         "th", " c", " a", "the", " at"};
    static const uint32_t merges[][2] = {{5, 4}, {0, 2}, {0, 1}, {6, 3}, {8, 5}};
    Error error;
    Tokenizer *tokenizer = tokenizer_new();
    for (int i = 0; i < 11; i++)
        assert_true(tokenizer_add_token(tokenizer, i, (const uint8_t *)tokens[i], strlen(tokens[i]),
                                        &error));
    for (int i = 0; i < 5; i++)
        assert_true(tokenizer_add_merge(tokenizer, merges[i][0], merges[i][1], &error));
    uint32_t *ids;
    size_t count;
    const uint8_t *text = (const uint8_t *)"the cat ate";
    assert_true(tokenizer_encode(tokenizer, text, 11, &ids, &count, &error));
    static const uint32_t expected[] = {9, 7, 1, 5, 10, 3};
    assert_int_equal(count, 6);
    assert_memory_equal(ids, expected, sizeof expected);
    free(ids);
    assert_false(tokenizer_encode(tokenizer, (const uint8_t *)"the dog", 7, &ids, &count, &error));
    assert_non_null(strstr(error.message, "0x64"));
    tokenizer_free(tokenizer);
}

static Tokenizer *tokenizer_of_merges(const cJSON *merges) {
    Error error;
    Tokenizer *tokenizer = bpe_start(NULL, 0, &error);
    const cJSON *merge;
    cJSON_ArrayForEach(merge, merges) {
        size_t left_length, right_length;
        uint8_t *left = from_hex(merge->child->valuestring, &left_length);
        uint8_t *right = from_hex(merge->child->next->valuestring, &right_length);
        uint32_t left_id = tokenizer_find(tokenizer, left, left_length);
        uint32_t right_id = tokenizer_find(tokenizer, right, right_length);
        left = reallocate(left, left_length + right_length, 1);
        memcpy(left + left_length, right, right_length);
        tokenizer_add_token(tokenizer, tokenizer->vocab_size, left, left_length + right_length,
                            NULL);
        assert_true(tokenizer_add_merge(tokenizer, left_id, right_id, &error));
        free(left);
        free(right);
    }
    return tokenizer;
}

CASES_TEST(test_encode_by_rank) {
    cJSON *json = tokenizer_cases("t16_encode_by_rank.json");
    const cJSON *list, *item, *hex;
    cJSON_ArrayForEach(list, json_get(json, "cases")) {
        Tokenizer *tokenizer = tokenizer_of_merges(json_get(list, "merges"));
        cJSON_ArrayForEach(item, json_get(list, "cases")) {
            Error error;
            size_t length, count, at = 0;
            uint32_t *ids;
            uint8_t *text = from_hex(json_get(item, "text_hex")->valuestring, &length);
            assert_true(tokenizer_encode(tokenizer, text, length, &ids, &count, &error));
            cJSON_ArrayForEach(hex, json_get(item, "tokens")) {
                assert_true(at < count);
                const uint8_t *token = tokenizer_token(tokenizer, ids[at++], &length);
                char *ours = to_hex(token, length);
                assert_string_equal(ours, hex->valuestring);
                free(ours);
            }
            assert_int_equal(at, count);
            free(ids);
            free(text);
        }
        tokenizer_free(tokenizer);
    }
    cJSON_Delete(json);
}

/* Encodes through the stream in pieces of `piece` bytes (0: of random sizes). */
static IdList encode_streamed(const Tokenizer *tokenizer, const uint8_t *text, size_t length,
                              size_t piece) {
    StreamEncoder *stream = stream_encoder_new(tokenizer);
    IdList ids = {0};
    Error error;
    for (size_t at = 0, n; at < length; at += n) {
        n = piece ? piece : 1 + random_below(length, RANDOM_TEST, at, 40);
        if (n > length - at) n = length - at;
        assert_true(stream_encoder_feed(stream, text + at, n, &ids, &error));
    }
    assert_true(stream_encoder_finish(stream, &ids, &error));
    stream_encoder_free(stream);
    return ids;
}

static void assert_same_streamed(const Tokenizer *tokenizer, const uint8_t *text, size_t length,
                                 size_t piece) {
    Error error;
    uint32_t *ids;
    size_t count;
    assert_true(tokenizer_encode(tokenizer, text, length, &ids, &count, &error));
    IdList streamed = encode_streamed(tokenizer, text, length, piece);
    assert_int_equal(streamed.count, count);
    if (count) assert_memory_equal(streamed.ids, ids, count * sizeof *ids);
    free(streamed.ids);
    free(ids);
}

/* Text with everything in it that a stream may cut in two. */
TEST(test_stream_pieces) {
    static const char *const parts[] = {"the ",
                                        "cat",
                                        "'ll",
                                        "\xC3\xA9",
                                        "\xF0\x9F\x98\x80",
                                        "<|end|>",
                                        "<|end",
                                        "  ",
                                        "\n\n",
                                        "\xE3\x80\x80",
                                        "12",
                                        "...",
                                        " ",
                                        "\xE2\x80",
                                        "<|end|>x|>",
                                        "q is the last one",
                                        "q is the last",
                                        "q"};
    const char *specials[] = {"<|end|>", "<|end|>x|>", "  \n", "q is the last one"};
    Tokenizer *tokenizer =
        train_on_text("the cat and the catalogue the then there\n\n\n12 12 ...", 30, specials, 4);
    for (uint64_t round = 0; round < 400; round++) {
        uint8_t text[512];
        size_t length = 0;
        for (uint64_t i = 0; i < 30; i++) {
            const char *part =
                parts[random_below(round, RANDOM_TEST, i, sizeof parts / sizeof *parts)];
            memcpy(text + length, part, strlen(part));
            length += strlen(part);
        }
        for (size_t piece = 0; piece < 9; piece++)
            assert_same_streamed(tokenizer, text, length, piece);
    }
    tokenizer_free(tokenizer);
}

/* 1 MB pre-tokens take well under a second each, and the stream, which encodes them window by window,
 * gives the ids of the whole. */
TEST(test_long_pretokens) {
    char corpus[4096];
    for (uint64_t i = 0; i < sizeof corpus - 1; i++)
        corpus[i] = (char)("aaaabcdefgh  \n\n__"[random_below(3, RANDOM_TEST, i, 17)]);
    corpus[sizeof corpus - 1] = '\0';
    Tokenizer *tokenizer = train_on_text(corpus, 300, NULL, 0);
    size_t length = 1000000;
    uint8_t *text = allocate(length, 1);
    for (int kind = 0; kind < 5; kind++) {
        for (uint64_t i = 0; i < length; i++)
            text[i] = kind < 4 ? (uint8_t) "a_ \n"[kind]
                               : (uint8_t)('a' + random_below(5, RANDOM_TEST, i, 8));
        clock_t start = clock();
        assert_same_streamed(tokenizer, text, length, 50000);
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 4); /* twice, and sanitizers */
    }
    free(text);
    tokenizer_free(tokenizer);
}

/* A pre-token of random letters with a known number of tokens. */
CASES_TEST(test_known_long_pretoken) {
    cJSON *json = tokenizer_cases("t19_long_pretoken.expect.json");
    Tokenizer *tokenizer = tokenizer_of_merges(json_get(json, "merges"));
    Error error;
    size_t length, count;
    uint32_t *ids;
    char *text = file_read(case_path("cases/tok/t19_random_run.txt"), 1 << 20, &length, &error);
    size_t known = (size_t)json_get(json, "n_tokens_is_for_first_bytes")->valueint;
    assert_true(tokenizer_encode(tokenizer, (uint8_t *)text, known, &ids, &count, &error));
    assert_int_equal(count, json_get(json, "n_tokens")->valueint);
    free(ids);
    free(text);
    tokenizer_free(tokenizer);
    cJSON_Delete(json);
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
