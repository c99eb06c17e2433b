/* Shared by the tests of the tokenizer: its cases, and bytes written in hex. */
#ifndef TINYLM_TESTS_TOKENIZER_HELPERS_H
#define TINYLM_TESTS_TOKENIZER_HELPERS_H

#include "formats_helpers.h"

#include "base/json.h"
#include "base/random.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/encoder.h"
#include "tokenizer/tokenizer.h"

/* A JSON file among the cases of the tokenizer. */
static inline cJSON *tokenizer_cases(const char *name) {
    char *member = string_format("cases/tok/%s", name);
    const char *path = need_case(member);
    free(member);
    Error error;
    size_t size;
    char *text = file_read(path, 1 << 24, &size, &error);
    cJSON *json = cJSON_Parse(text); /* json_read refuses the NULs in some of them */
    free(text);
    assert_non_null(json);
    return json;
}

/* Bytes written as hex digits, to be freed. */
static inline uint8_t *from_hex(const char *hex, size_t *length) {
    *length = strlen(hex) / 2;
    uint8_t *bytes = allocate(*length + 1, 1);
    for (size_t i = 0; i < *length; i++) {
        unsigned value;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
        bytes[i] = (uint8_t)value;
    }
    return bytes;
}

static inline char *to_hex(const uint8_t *bytes, size_t length) {
    char *hex = allocate_zeroed(2 * length + 1, 1);
    for (size_t i = 0; i < length; i++) sprintf(hex + 2 * i, "%02x", bytes[i]);
    return hex;
}

/* Learns up to `merges` merges from one text that is split by the GPT-2 pattern. */
static inline Tokenizer *train_on_text(const char *text, int merges, const char *const *specials,
                                       int special_count) {
    write_bytes(scratch_path("corpus.txt"), text, strlen(text));
    const char *path = scratch_path("corpus.txt");
    Error error;
    Tokenizer *tokenizer = bpe_train(&path, 1, 256 + special_count + merges, specials,
                                     special_count, NULL, NULL, &error);
    if (!tokenizer) fail_msg("%s", error.message);
    return tokenizer;
}

/* Fails unless the merges are those of a JSON array of pairs of hex strings. */
static inline void assert_merges(const Tokenizer *tokenizer, const cJSON *expected) {
    assert_int_equal(tokenizer->merge_count, cJSON_GetArraySize(expected));
    int64_t number = 0;
    const cJSON *pair;
    cJSON_ArrayForEach(pair, expected) {
        const Merge *merge = &tokenizer->merges[number++];
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, merge->left, &length);
        char *left = to_hex(bytes, length);
        bytes = tokenizer_token(tokenizer, merge->right, &length);
        char *right = to_hex(bytes, length);
        assert_string_equal(left, pair->child->valuestring);
        assert_string_equal(right, pair->child->next->valuestring);
        free(left);
        free(right);
    }
}

#endif
