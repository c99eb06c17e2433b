/* BPE training: the handout's example, reference merges, shared cases with known merges. */
#include "tokenizer_helpers.h"

/* The handout's first example: words split on spaces, six merges. */
TEST(test_handout_words) {
    static const struct {
        const char *word;
        uint64_t count;
    } words[] = {{"low", 5}, {"lower", 2}, {"widest", 3}, {"newest", 6}};
    WordCounts counts;
    word_counts_init(&counts);
    for (int i = 0; i < 4; i++)
        word_counts_add(&counts, (const uint8_t *)words[i].word, strlen(words[i].word),
                        words[i].count);
    Error error;
    Tokenizer *tokenizer = bpe_start(NULL, 0, &error);
    assert_true(bpe_learn(tokenizer, &counts, 256 + 6, NULL, &error));
    static const char *const made[] = {"st", "est", "ow", "low", "west", "ne"};
    assert_int_equal(tokenizer->merge_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, 256 + i, &length);
        assert_int_equal(length, strlen(made[i]));
        assert_memory_equal(bytes, made[i], length);
    }
    word_counts_free(&counts);
    tokenizer_free(tokenizer);
}

CASES_TEST(test_big_counts) {
    cJSON *json = tokenizer_cases("t17_big_counts.json");
    WordCounts counts;
    word_counts_init(&counts);
    const cJSON *word;
    cJSON_ArrayForEach(word, json_get(json, "words")) {
        uint64_t count = (uint64_t)word->valuedouble;
        if (strcmp(word->string, "zz") == 0) count = 9007199254740993u; /* no double is that */
        word_counts_add(&counts, (const uint8_t *)word->string, strlen(word->string), count);
    }
    Error error;
    Tokenizer *tokenizer = bpe_start(NULL, 0, &error);
    const cJSON *merges = json_get(json, "merges");
    assert_true(bpe_learn(tokenizer, &counts, 256 + cJSON_GetArraySize(merges), NULL, &error));
    assert_merges(tokenizer, merges);
    word_counts_free(&counts);
    tokenizer_free(tokenizer);
    cJSON_Delete(json);
}

static void check_cases(const char *file) {
    cJSON *json = tokenizer_cases(file);
    const cJSON *item;
    cJSON_ArrayForEach(item, json_get(json, "cases")) {
        Tokenizer *tokenizer = train_on_text(json_get(item, "text")->valuestring,
                                             json_get(item, "num_merges")->valueint, NULL, 0);
        assert_merges(tokenizer, json_get(item, "merges"));
        tokenizer_free(tokenizer);
    }
    cJSON_Delete(json);
}

CASES_TEST(test_overlapping_pairs) {
    check_cases("t15_overlap_counts.json");
}

CASES_TEST(test_random_corpora) {
    check_cases("t22_random_corpora.json");
}

CASES_TEST(test_specials_are_walls) {
    cJSON *json = tokenizer_cases("t04_specials_are_walls.expect.json");
    const char *path = case_path("cases/tok/t04_specials_are_walls.txt");
    const char *specials[] = {"<|endoftext|>"};
    Error error;
    int merges = json_get(json, "num_merges")->valueint;
    Tokenizer *tokenizer = bpe_train(&path, 1, 257 + merges, specials, 1, NULL, NULL, &error);
    assert_non_null(tokenizer);
    assert_merges(tokenizer, json_get(json, "merges"));
    tokenizer_free(tokenizer);
    cJSON_Delete(json);
}

CASES_TEST(test_too_little_text) {
    cJSON *json = tokenizer_cases("t18_too_little_text.expect.json");
    const cJSON *file;
    cJSON_ArrayForEach(file, json_get(json, "files")) {
        char *member = string_format("cases/tok/%s", file->string);
        const char *path = case_path(member), *specials[] = {"<|endoftext|>"};
        free(member);
        Error error;
        BpeStats stats;
        Tokenizer *tokenizer = bpe_train(&path, 1, 1000, specials, 1, NULL, &stats, &error);
        assert_non_null(tokenizer);
        assert_true(stats.stopped_early);
        assert_merges(tokenizer, json_get(file, "merges"));
        assert_int_equal(tokenizer_vocab_size(tokenizer), 257 + tokenizer->merge_count);
        tokenizer_free(tokenizer);
        assert_null(bpe_train(&path, 1, 256, specials, 1, NULL, NULL, &error));
    }
    cJSON_Delete(json);
}

/* Whole files of merges and vocabulary, as the course gives them with its corpus. */
CASES_TEST(test_reference_merges) {
    const char *path = need_case("data/bpe/corpus.en"), *specials[] = {"<|endoftext|>"};
    Error error;
    Tokenizer *tokenizer = bpe_train(&path, 1, 500, specials, 1, NULL, NULL, &error);
    assert_non_null(tokenizer);
    assert_true(tokenizer_save(tokenizer, scratch_path("reference"), &error));
    size_t expected_size, size;
    char *expected = file_read(case_path("data/bpe/train-bpe-reference-merges.txt"), 1 << 20,
                               &expected_size, &error);
    char *merges = file_read(scratch_path("reference/merges.txt"), 1 << 20, &size, &error);
    assert_string_equal(strchr(merges, '\n') + 1, expected); /* behind the #version line */
    cJSON *vocabulary =
        json_read(case_path("data/bpe/train-bpe-reference-vocab.json"), 1 << 20, &error);
    cJSON *ours = json_read(scratch_path("reference/vocab.json"), 1 << 20, &error);
    assert_int_equal(cJSON_GetArraySize(ours), cJSON_GetArraySize(vocabulary));
    const cJSON *entry;
    cJSON_ArrayForEach(entry, vocabulary) assert_non_null(json_get(ours, entry->string));
    cJSON_Delete(vocabulary);
    cJSON_Delete(ours);
    free(expected);
    free(merges);
    tokenizer_free(tokenizer);
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
