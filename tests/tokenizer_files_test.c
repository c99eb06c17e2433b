/* Files of tokenizers: what is saved loads again to the same, and what is broken or of another kind is
 * refused with a reason. */
#include "tokenizer_helpers.h"

#include "tokenizer/files/byte_alphabet.h"
#include "tokenizer/tokenizer_kind.h"

static FileText file_text(const char *text) {
    return (FileText){"file", text, strlen(text)};
}

static Tokenizer *read_tiktoken(const char *text, Error *error) {
    FileText file = file_text(text);
    return tokenizer_read_tiktoken(&file, error);
}

static Tokenizer *read_huggingface(const char *text, Error *error) {
    FileText file = file_text(text);
    return tokenizer_read_huggingface(&file, error);
}

/* `specials` may be NULL: no such file. */
static Tokenizer *read_gpt2(const char *vocab, const char *merges, const char *specials,
                            Error *error) {
    FileText files[] = {file_text(vocab), file_text(merges), {"file", NULL, 0}};
    if (specials) files[2] = file_text(specials);
    return tokenizer_read_gpt2(files, error);
}

static void assert_same_file(const char *a, const char *b) {
    Error error;
    size_t a_size, b_size;
    char *a_text = file_read(a, 1 << 26, &a_size, &error);
    char *b_text = file_read(b, 1 << 26, &b_size, &error);
    assert_non_null(a_text);
    assert_non_null(b_text);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a_text, b_text, a_size);
    free(a_text);
    free(b_text);
}

/* Saves, loads what was saved (the folder and its tokenizer.json), saves again, compares the bytes. */
static void assert_round_trip(const Tokenizer *tokenizer) {
    static const char *const members[] = {"vocab.json", "merges.txt", "special_tokens.json",
                                          "tokenizer.json"};
    Error error;
    if (!tokenizer_save(tokenizer, scratch_path("first"), &error)) fail_msg("%s", error.message);
    const char *sources[] = {scratch_path("first"), scratch_path("first/tokenizer.json")};
    for (int i = 0; i < 2; i++) {
        Tokenizer *loaded = tokenizer_load(sources[i], &error);
        if (!loaded) fail_msg("%s", error.message);
        assert_true(tokenizer_fingerprint(loaded) == tokenizer_fingerprint(tokenizer));
        assert_true(tokenizer_save(loaded, scratch_path("second"), &error));
        tokenizer_free(loaded);
        for (int m = 0; m < 4; m++) {
            char *a = path_join(scratch_path("first"), members[m]);
            char *b = path_join(scratch_path("second"), members[m]);
            assert_same_file(a, b);
            free(a);
            free(b);
        }
    }
}

/* Tokens of any bytes: NUL, line ends, quotes, backslashes, spaces, not UTF-8. */
static void test_any_bytes(void **state) {
    (void)state;
    Error error;
    uint8_t text[6000];
    for (uint64_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t) "\0\0\"\\\n\r \xFF\x80\xC3\xA9\t{}[],:#\x7F"[random_below(
            5, RANDOM_TEST, i, 20)];
    write_bytes(scratch_path("bytes"), text, sizeof text);
    const char *path = scratch_path("bytes");
    const char *specials[] = {"<|end of text|>", "\"quoted\\\"", "line\nend",
                              "\xE2\x82\xAC\xC3\xA9", "\n"};
    Tokenizer *tokenizer = bpe_train(&path, 1, 700, specials, 5, NULL, NULL, &error);
    assert_non_null(tokenizer);
    assert_true(tokenizer->merge_count > 300);
    assert_int_equal(tokenizer_special_id(tokenizer, "line\nend"), 2);
    assert_int_equal(tokenizer_special_id(tokenizer, "\n"), 4 + '\n'); /* the byte's own id */
    assert_round_trip(tokenizer);
    tokenizer_free(tokenizer);
}

static void test_gpt2(void **state) {
    (void)state;
    const char *path = need_shared("data/gpt2");
    Error error;
    Tokenizer *tokenizer = tokenizer_load(path, &error);
    if (!tokenizer) fail_msg("%s", error.message);
    assert_int_equal(tokenizer_vocab_size(tokenizer), 50257);
    assert_int_equal(tokenizer_special_id(tokenizer, "<|endoftext|>"), -1);
    assert_true(tokenizer_add_special(tokenizer, "<|endoftext|>", &error));
    assert_int_equal(tokenizer_special_id(tokenizer, "<|endoftext|>"), 50256);
    assert_true(tokenizer_add_special(tokenizer, "<|more|>", &error));
    assert_int_equal(tokenizer_special_id(tokenizer, "<|more|>"), 50257);
    assert_round_trip(tokenizer);
    tokenizer_free(tokenizer);
}

/* A rank file with the tokens of a merge list gives the same ids, and is saved as that merge list. */
static void test_tiktoken(void **state) {
    (void)state;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    Tokenizer *trained =
        train_on_text("the cat and the other cat, then the catalogue; aaaaaaa aaaa", 40, NULL, 0);
    FILE *out = fopen(scratch_path("ranks.tiktoken"), "w");
    for (uint32_t id = 0; id < trained->vocab_size; id++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(trained, id, &length);
        for (size_t i = 0; i < length; i += 3) {
            uint32_t bits = 0;
            for (size_t k = 0; k < 3; k++) bits = bits << 8 | (i + k < length ? bytes[i + k] : 0);
            for (size_t k = 0; k < 4; k++)
                putc(i + k <= length ? digits[bits >> (18 - 6 * k) & 63] : '=', out);
        }
        fprintf(out, " %lu\n", (unsigned long)id);
    }
    fclose(out);
    Error error;
    Tokenizer *ranks = tokenizer_load(scratch_path("ranks.tiktoken"), &error);
    if (!ranks) fail_msg("%s", error.message);
    static const char *const texts[] = {"the catalogue then", "aaaaaaaaaaaaaaa", "other cats, oh"};
    for (int i = 0; i < 3; i++) {
        uint32_t *a, *b;
        size_t a_count, b_count, length = strlen(texts[i]);
        assert_true(
            tokenizer_encode(trained, (const uint8_t *)texts[i], length, &a, &a_count, &error));
        assert_true(
            tokenizer_encode(ranks, (const uint8_t *)texts[i], length, &b, &b_count, &error));
        assert_int_equal(a_count, b_count);
        assert_memory_equal(a, b, a_count * sizeof *a);
        free(a);
        free(b);
    }
    assert_true(tokenizer_save(trained, scratch_path("first"), &error));
    assert_true(tokenizer_save(ranks, scratch_path("second"), &error));
    assert_same_file(scratch_path("first/merges.txt"), scratch_path("second/merges.txt"));
    assert_same_file(scratch_path("first/vocab.json"), scratch_path("second/vocab.json"));
    tokenizer_free(trained);
    tokenizer_free(ranks);
}

/* tiktoken takes a pre-token that is a token whole, even when no merges lead to it. */
static void test_unreachable_rank(void **state) {
    (void)state;
    Error error;
    Tokenizer *ranks =
        read_tiktoken("YQ== 0\nYg== 1\nYw== 2\nYmM= 3\nYWI= 4\nYWJj 5\nYWJjYQ== 6\n", &error);
    assert_non_null(ranks);
    uint32_t *ids;
    size_t count;
    assert_true(tokenizer_encode(ranks, (const uint8_t *)"abca", 4, &ids, &count, &error));
    assert_int_equal(count, 1);
    assert_int_equal(ids[0], 6);
    free(ids);
    assert_true(tokenizer_save(ranks, scratch_path("unreachable"), &error));
    tokenizer_free(ranks);
    ranks = read_tiktoken("YQ== 0\nYg== 1\nYw== 2\nYWJj 3\n", &error);
    assert_true(tokenizer_encode(ranks, (const uint8_t *)"abc", 3, &ids, &count, &error));
    assert_int_equal(count, 1);
    free(ids);
    assert_false(tokenizer_save(ranks, scratch_path("unreachable"), &error));
    assert_non_null(strstr(error.message, "token 3"));
    tokenizer_free(ranks);
}

/* What a rank file of GPT-2's pattern may hold: runs of one kind, parts of a contraction, any bytes. */
static void test_ranks_of_the_pattern(void **state) {
    (void)state;
    Error error;
    Tokenizer *ranks =
        read_tiktoken("J3I= 0\nJ2xs 1\nIGE= 2\nCgo= 3\nICA= 4\nICkp 5\nw6kx 6\n", &error);
    if (!ranks) fail_msg("%s", error.message); /* 'r 'll " a" "\n\n" "  " " ))" "é1" */
    tokenizer_free(ranks);
}

static void assert_refused(Tokenizer *tokenizer, const Error *error, const char *reason) {
    if (tokenizer) fail_msg("accepted, though: %s", reason);
    if (!strstr(error->message, reason)) fail_msg("\"%s\" lacks \"%s\"", error->message, reason);
}

static void test_broken_gpt2(void **state) {
    (void)state;
    static const struct {
        const char *vocab, *merges, *specials, *reason;
    } cases[] = {
        {"", "", NULL, "file"},
        {"[1]", "", NULL, "not an object"},
        {"{\"a\": 1", "", NULL, "line 1"},
        {"{\"a\": 1.5}", "", NULL, "whole number"},
        {"{\"a\": \"b\"}", "", NULL, "whole number"},
        {"{\"a\": -1}", "", NULL, "outside"},
        {"{\"a\": 1e15}", "", NULL, "outside"},
        {"{\"a\": 4294967296}", "", NULL, "outside"},
        {"{\"a\": 0, \"b\": 0}", "", NULL, "twice"},
        {"{\"a\": 0, \"a\": 1}", "", NULL, "second time"},
        {"{\"\": 0}", "", NULL, "empty"},
        {"{\"a\": 0, \"b\": 1}", "a b", NULL, "not in the vocabulary"},
        {"{\"a\": 0, \"b\": 1, \"ab\": 2}", "a c", NULL, "not in the vocabulary"},
        {"{\"a\": 0, \"b\": 1, \"ab\": 2}", "a b\na b\n", NULL, "twice"},
        {"{\"a\": 0, \"b\": 1, \"ab\": 2}", "a", NULL, "two tokens"},
        {"{\"a\": 0, \"b\": 1, \"ab\": 2}", "a ", NULL, "two tokens"},
        {"{\"a\": 0}", "", "{}", "array of strings"},
        {"{\"a\": 0}", "", "[1]", "array of strings"},
        {"{\"a\": 0}", "", "[\"\"]", "empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error error;
        assert_refused(read_gpt2(cases[i].vocab, cases[i].merges, cases[i].specials, &error),
                       &error, cases[i].reason);
    }
}

static void test_merges_with_and_without_version(void **state) {
    (void)state;
    static const char *const merges[] = {"a b\nab b", "#version: 0.2\na b\nab b\n",
                                         "#version: 0.2\r\na b\r\nab b\r\n\r\n",
                                         "\xEF\xBB\xBF#version: 0.2\na b\nab b\n",
                                         "\xEF\xBB\xBF"
                                         "a b\nab b\n"};
    for (int i = 0; i < 5; i++) {
        Error error;
        Tokenizer *tokenizer =
            read_gpt2("{\"a\": 0, \"b\": 1, \"ab\": 2, \"abb\": 7}", merges[i], NULL, &error);
        if (!tokenizer) fail_msg("%s", error.message);
        assert_int_equal(tokenizer->merge_count, 2);
        assert_int_equal(tokenizer_vocab_size(tokenizer), 8);
        size_t length;
        assert_null(tokenizer_token(tokenizer, 5, &length));
        assert_null(tokenizer_token(tokenizer, 8, &length));
        tokenizer_free(tokenizer);
    }
}

static void test_broken_tiktoken(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "empty"},
        {"YQ==", "line 1"},
        {"YQ== x\n", "rank"},
        {"YQ= 0\n", "base64"},
        {"Y*== 0\n", "base64"},
        {"==== 0\n", "base64"},
        {"YQ== 0\n\nYQ== 1\n", "line 3"},
        {"YQ== 0\nYg== 0\n", "twice"},
        {"YQ== 99999999999\n", "rank"},
        {"YQ== -1\n", "rank"},
        {"KQ== 0\nOw== 1\nCg== 2\nKTsK 3\n", "rank 3 lies across"}, /* ");\n" */
        {"YQ== 0\nMTI= 1\nYTE= 2\n", "rank 2 lies across"},         /* "a1" */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error error;
        assert_refused(read_tiktoken(cases[i][0], &error), &error, cases[i][1]);
    }
}

#define BYTE_LEVEL "{\"type\": \"ByteLevel\", \"add_prefix_space\": false}"
#define SMALL_MODEL                                                                                \
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}"

static void test_huggingface(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{\"pre_tokenizer\": " BYTE_LEVEL "}", "no model"},
        {"{\"model\": {\"type\": \"WordPiece\"}}", "WordPiece"},
        {"{\"model\": {\"type\": \"Unigram\", \"vocab\": []}}", "Unigram"},
        {"{" SMALL_MODEL "}", "pre_tokenizer null"},
        {"{\"pre_tokenizer\": {\"type\": \"Metaspace\"}, " SMALL_MODEL "}", "Metaspace"},
        {"{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true}, " SMALL_MODEL
         "}",
         "add_prefix_space"},
        {"{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, " SMALL_MODEL "}", "add_prefix_space"},
        {"{\"normalizer\": {\"type\": \"NFKC\"}, \"pre_tokenizer\": " BYTE_LEVEL ", " SMALL_MODEL
         "}",
         "NFKC"},
        {"{\"post_processor\": {\"type\": \"TemplateProcessing\"}, \"pre_tokenizer\": " BYTE_LEVEL
         ", " SMALL_MODEL "}",
         "TemplateProcessing"},
        {"{\"decoder\": {\"type\": \"Metaspace\"}, \"pre_tokenizer\": " BYTE_LEVEL ", " SMALL_MODEL
         "}",
         "decoder Metaspace"},
        {"{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": "
         "false}, " SMALL_MODEL "}",
         "use_regex"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL
         ", \"model\": {\"dropout\": 0.1, \"vocab\": {\"a\": 0}}}",
         "dropout"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL
         ", \"model\": {\"byte_fallback\": true, \"vocab\": {\"a\": 0}}}",
         "byte_fallback"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL
         ", \"model\": {\"end_of_word_suffix\": \"</w>\", \"vocab\": {\"a\": 0}}}",
         "end_of_word_suffix"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL
         ", \"model\": {\"continuing_subword_prefix\": \"##\", \"vocab\": {\"a\": 0}}}",
         "continuing_subword_prefix"},
        {"{\"added_tokens\": [{\"id\": 3, \"content\": \"x\", \"single_word\": true}], \"pre_tokenizer\": " BYTE_LEVEL
         ", " SMALL_MODEL "}",
         "single_word"},
        {"{\"added_tokens\": [{\"id\": 3, \"content\": \"x\", \"rstrip\": true}], \"pre_tokenizer\": " BYTE_LEVEL
         ", " SMALL_MODEL "}",
         "rstrip"},
        {"{\"added_tokens\": [{\"id\": 3, \"content\": \"x\", \"lstrip\": true}], \"pre_tokenizer\": " BYTE_LEVEL
         ", " SMALL_MODEL "}",
         "lstrip"},
        {"{\"added_tokens\": [{\"id\": 1, \"content\": \"a\"}], \"pre_tokenizer\": " BYTE_LEVEL
         ", " SMALL_MODEL "}",
         "another id"},
        {"{\"added_tokens\": [{\"id\": 3, \"content\": \"xyz\", \"normalized\": true}, {\"id\": 4, "
         "\"content\": \"zz\"}], \"pre_tokenizer\": " BYTE_LEVEL ", " SMALL_MODEL "}",
         "overlaps"},
        {"{\"added_tokens\": [{\"id\": 3, \"content\": \"xyz\", \"normalized\": true}, {\"id\": 4, "
         "\"content\": \"xy\"}], \"pre_tokenizer\": " BYTE_LEVEL ", " SMALL_MODEL "}",
         "overlaps"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL
         ", \"model\": {\"vocab\": {\"a\": 0}, \"merges\": [[\"a\"]]}}",
         "two tokens"},
    };
    Error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(read_huggingface(cases[i][0], &error), &error, cases[i][1]);
    Tokenizer *tokenizer = read_huggingface(
        "{\"added_tokens\": [{\"id\": 5, \"content\": \"<x y>\"}, {\"id\": 6, \"content\": \"<x\", "
        "\"normalized\": true}], \"pre_tokenizer\": " BYTE_LEVEL ", " SMALL_MODEL "}",
        &error);
    if (!tokenizer) fail_msg("%s", error.message);
    assert_int_equal(tokenizer_special_id(tokenizer, "<x y>"), 5);
    assert_int_equal(tokenizer->merge_count, 1);
    tokenizer_free(tokenizer);
}

/* Truncation and padding are not applied, and the tokenizer says so for a command to warn. */
static void test_truncation_and_padding(void **state) {
    (void)state;
    static const char *const settings[] = {
        "\"truncation\": null, \"padding\": null", "\"truncation\": {\"max_length\": 2}",
        "\"padding\": {\"pad_id\": 0, \"strategy\": {\"Fixed\": 8}}"};
    for (int i = 0; i < 3; i++) {
        char *json = string_format("{%s, \"pre_tokenizer\": " BYTE_LEVEL
                                   ", \"model\": {\"vocab\": {\"a\": 0}, \"merges\": []}}",
                                   settings[i]);
        Error error;
        Tokenizer *tokenizer = read_huggingface(json, &error);
        if (!tokenizer) fail_msg("%s", error.message);
        assert_int_equal(tokenizer->fixed_length, i > 0);
        uint32_t *ids;
        size_t count;
        assert_true(tokenizer_encode(tokenizer, (const uint8_t *)"aaaa", 4, &ids, &count, &error));
        assert_int_equal(count, 4);
        free(ids);
        tokenizer_free(tokenizer);
        free(json);
    }
}

/* "ignore_merges": a pre-token that is a token is taken whole; other text goes by the merges. */
static void test_ignore_merges(void **state) {
    (void)state;
    for (int ignore = 0; ignore < 2; ignore++) { /* saving the second replaces the first */
        char *json = string_format("{\"pre_tokenizer\": " BYTE_LEVEL
                                   ", \"model\": {\"ignore_merges\": %s, \"vocab\": {\"a\": 0, "
                                   "\"b\": 1, \"ab\": 2, \"bab\": 3}, \"merges\": [\"a b\"]}}",
                                   ignore ? "true" : "false");
        Error error;
        Tokenizer *tokenizer = read_huggingface(json, &error);
        if (!tokenizer) fail_msg("%s", error.message);
        uint32_t *ids;
        size_t count;
        assert_true(tokenizer_encode(tokenizer, (const uint8_t *)"bab", 3, &ids, &count, &error));
        assert_int_equal(count, ignore ? 1 : 2);
        assert_int_equal(ids[0], ignore ? 3 : 1);
        free(ids);
        assert_true(tokenizer_encode(tokenizer, (const uint8_t *)"babb", 4, &ids, &count, &error));
        assert_int_equal(count, 3); /* b ab b */
        free(ids);
        assert_true(tokenizer_save(tokenizer, scratch_path("whole"), &error));
        Tokenizer *again = tokenizer_load(scratch_path("whole"), &error);
        if (!again) fail_msg("%s", error.message);
        assert_true(tokenizer_fingerprint(again) == tokenizer_fingerprint(tokenizer));
        assert_int_equal(again->whole_tokens, ignore);
        tokenizer_free(again);
        tokenizer_free(tokenizer);
        free(json);
    }
}

/* A list in which a merge makes a part of one of lower rank: there it matters whether places are
 * merged one by one, as `tokenizers` does, or all places of a rank together, as GPT-2's own program. */
static void test_order_of_places(void **state) {
    (void)state;
    static const char *const vocab = "{\"x\": 0, \"y\": 1, \"xy\": 2, \"xyx\": 3}";
    Error error;
    char *json = string_format("{\"pre_tokenizer\": " BYTE_LEVEL
                               ", \"model\": {\"vocab\": %s, \"merges\": [\"xy x\", \"x y\"]}}",
                               vocab);
    Tokenizer *one = read_huggingface(json, &error);
    Tokenizer *together = read_gpt2(vocab, "xy x\nx y\n", NULL, &error);
    assert_non_null(one);
    assert_non_null(together);
    assert_true(tokenizer_fingerprint(one) != tokenizer_fingerprint(together));
    static char text[1 << 17];
    for (size_t i = 0; i < sizeof text; i++) text[i] = "xy"[i % 2];
    static const size_t lengths[] = {4, 160,
                                     sizeof text}; /* the short way, the long one; in no time */
    for (int n = 0; n < 3; n++) {
        size_t length = lengths[n];
        uint32_t *ids;
        size_t count;
        assert_true(tokenizer_encode(one, (const uint8_t *)text, length, &ids, &count, &error));
        assert_int_equal(count, length / 2); /* xyx y xyx y … */
        for (size_t i = 0; i < count; i++) assert_int_equal(ids[i], i % 2 ? 1 : 3);
        free(ids);
        assert_true(
            tokenizer_encode(together, (const uint8_t *)text, length, &ids, &count, &error));
        assert_int_equal(count, length / 2); /* xy xy xy … */
        for (size_t i = 0; i < count; i++) assert_int_equal(ids[i], 2);
        free(ids);
    }
    assert_false(tokenizer_save(one, scratch_path("places"), &error));
    assert_non_null(strstr(error.message, "order"));
    assert_true(tokenizer_save(together, scratch_path("places"), &error));
    tokenizer_free(one);
    tokenizer_free(together);
    free(json);
}

/* Where Hugging Face's folders have GPT-2's files beside tokenizer.json, only the latter tells how text
 * is split and what is special. */
static void test_huggingface_folder(void **state) {
    (void)state;
    static const char
        *const plain = "{\"pre_tokenizer\": " BYTE_LEVEL
                       ", \"added_tokens\": [{\"id\": 3, \"content\": \"<x>\"}], " SMALL_MODEL "}",
               *const digits = "{\"pre_tokenizer\": {\"type\": \"Sequence\"}, " SMALL_MODEL "}",
               *const vocab = "{\"a\": 0, \"b\": 1, \"ab\": 2, \"<x>\": 3}";
    Error error;
    assert_true(directory_create(scratch_path("theirs"), &error));
    write_bytes(scratch_path("theirs/vocab.json"), vocab, strlen(vocab));
    write_bytes(scratch_path("theirs/merges.txt"), "a b\n", 4);
    write_bytes(scratch_path("theirs/tokenizer.json"), digits, strlen(digits));
    assert_refused(tokenizer_load(scratch_path("theirs"), &error), &error, "Sequence");
    write_bytes(scratch_path("theirs/tokenizer.json"), plain, strlen(plain));
    Tokenizer *tokenizer = tokenizer_load(scratch_path("theirs"), &error);
    if (!tokenizer) fail_msg("%s", error.message);
    assert_int_equal(tokenizer_special_id(tokenizer, "<x>"), 3);
    tokenizer_free(tokenizer);
    /* ours: the four files agree, and the first three are read */
    write_bytes(scratch_path("theirs/special_tokens.json"), "[\"ab\"]", 6);
    tokenizer = tokenizer_load(scratch_path("theirs"), &error);
    if (!tokenizer) fail_msg("%s", error.message);
    assert_int_equal(tokenizer_special_id(tokenizer, "ab"), 2);
    assert_int_equal(tokenizer_special_id(tokenizer, "<x>"), -1);
    tokenizer_free(tokenizer);
}

/* A special token that the files could not tell from a byte. */
static void test_ambiguous_special(void **state) {
    (void)state;
    Error error;
    const char *special = "\xC3\xA9"; /* é, which spells the byte E9 in the byte alphabet */
    Tokenizer *tokenizer = bpe_start(&special, 1, &error);
    assert_non_null(tokenizer);
    assert_false(tokenizer_save(tokenizer, scratch_path("ambiguous"), &error));
    assert_non_null(strstr(error.message, "special token"));
    assert_false(directory_exists(scratch_path("ambiguous")));
    tokenizer_free(tokenizer);
    tokenizer = read_gpt2("{\"\xC4\x8A\": 0, \"a\": 1, \"\xC4\x8A\x61\": 2, \"aa\": 3}", /* Ċ, Ċa */
                          "\xC4\x8A a\na a\n", "[\"aa\"]", &error);
    if (!tokenizer) fail_msg("%s", error.message);
    assert_round_trip(tokenizer); /* "aa" is spelt the same either way */
    assert_true(tokenizer_add_special(tokenizer, "\n", &error));
    assert_false(tokenizer_save(tokenizer, scratch_path("ambiguous"), &error));
    assert_non_null(strstr(error.message, "takes part in a merge"));
    assert_false(directory_exists(scratch_path("ambiguous")));
    tokenizer_free(tokenizer);
    special = "\xFF";
    assert_null(bpe_start(&special, 1, &error));
    special = "";
    assert_null(bpe_start(&special, 1, &error));
}

static void test_byte_alphabet(void **state) {
    (void)state;
    uint8_t bytes[256], back[1024];
    size_t length;
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)i;
    char *text = byte_alphabet_text(bytes, 256);
    assert_non_null(strstr(text, "!\"#$%&'()*+,-./0123456789:;<=>?@ABC"));
    assert_true(byte_alphabet_read(text, strlen(text), back, &length));
    assert_int_equal(length, 256);
    assert_memory_equal(back, bytes, 256);
    free(text);
    text = byte_alphabet_text((const uint8_t *)" \n\xAD", 3);
    assert_string_equal(text, "\xC4\xA0\xC4\x8A\xC5\x83"); /* ĠĊŃ */
    free(text);
    assert_false(byte_alphabet_read(" ", 1, back, &length));
    assert_false(byte_alphabet_read("\xC5\x84", 2, back, &length)); /* one after the last */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_gpt2),
        cmocka_unit_test(test_tiktoken),
        cmocka_unit_test(test_unreachable_rank),
        cmocka_unit_test(test_ranks_of_the_pattern),
        cmocka_unit_test(test_broken_gpt2),
        cmocka_unit_test(test_merges_with_and_without_version),
        cmocka_unit_test(test_broken_tiktoken),
        cmocka_unit_test(test_huggingface),
        cmocka_unit_test(test_truncation_and_padding),
        cmocka_unit_test(test_ignore_merges),
        cmocka_unit_test(test_order_of_places),
        cmocka_unit_test(test_huggingface_folder),
        cmocka_unit_test(test_ambiguous_special),
        cmocka_unit_test(test_byte_alphabet),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
