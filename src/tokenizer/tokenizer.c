#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "tokenizer/unicode.h"

Tokenizer *tokenizer_new(void) {
    unicode_start();
    Tokenizer *tokenizer = allocate_zeroed(1, sizeof *tokenizer);
    tokenizer->begin = TOKEN_NONE;
    tokenizer->pretokenizer = &pretokenizers[PRETOKENIZER_GPT2];
    byte_map_init(&tokenizer->names);
    byte_map_init(&tokenizer->pairs);
    for (int i = 0; i < 256; i++) tokenizer->id_of_byte[i] = TOKEN_NONE;
    return tokenizer;
}

void tokenizer_free(Tokenizer *tokenizer) {
    if (!tokenizer) return;
    byte_map_free(&tokenizer->names);
    byte_map_free(&tokenizer->pairs);
    special_tokens_free(&tokenizer->specials);
    free(tokenizer->id_of_name);
    free(tokenizer->name_of_id);
    free(tokenizer->merges);
    free(tokenizer);
}

Tokenizer *tokenizer_keep_if(Tokenizer *tokenizer, bool good) {
    if (good) return tokenizer;
    tokenizer_free(tokenizer);
    return NULL;
}

bool tokenizer_add_token(Tokenizer *tokenizer, int64_t id, const uint8_t *bytes, size_t length,
                         Error *error) {
    if (length == 0 || length > UINT32_MAX)
        return error_set(error, "token %lld is empty or longer than 4 GB", (long long)id);
    /* A few unused ids are usual (reserved tokens), but a table must not grow by a single number. */
    int64_t limit = 2ll * tokenizer->names.count + (1 << 20);
    if (id < 0 || id > limit)
        return error_set(error, "token id %lld is outside 0 … %lld", (long long)id,
                         (long long)limit);
    if (id < tokenizer->vocab_size && tokenizer->name_of_id[id] != TOKEN_NONE)
        return error_set(error, "token id %lld is given twice", (long long)id);
    uint32_t name = tokenizer->names.count;
    if (byte_map_add(&tokenizer->names, bytes, length, bytes + length) != name)
        return error_set(
            error, "token %lld has the same bytes as token %lld", (long long)id,
            (long long)tokenizer->id_of_name[byte_map_find(&tokenizer->names, bytes, length)]);
    array_reserve(tokenizer->id_of_name, name, tokenizer->name_capacity, 1);
    tokenizer->id_of_name[name] = (uint32_t)id;
    for (; tokenizer->vocab_size <= id; tokenizer->vocab_size++) {
        array_reserve(tokenizer->name_of_id, tokenizer->vocab_size, tokenizer->id_capacity, 1);
        tokenizer->name_of_id[tokenizer->vocab_size] = TOKEN_NONE;
    }
    tokenizer->name_of_id[id] = name;
    if (length == 1) tokenizer->id_of_byte[bytes[0]] = (uint32_t)id;
    if (length > tokenizer->longest_token) tokenizer->longest_token = length;
    return true;
}

/* Appends a merge; false when the pair has one already. */
static bool add_pair(Tokenizer *tokenizer, Merge merge) {
    uint32_t pair[2] = {merge.left, merge.right}, index = tokenizer->pairs.count;
    const uint8_t *key = (const uint8_t *)pair;
    if (byte_map_add(&tokenizer->pairs, key, sizeof pair, key + sizeof pair) != index) return false;
    array_reserve(tokenizer->merges, index, tokenizer->merge_capacity, 1);
    tokenizer->merges[index] = merge;
    tokenizer->merge_count = index + 1;
    return true;
}

/* With `learn` a result that is not in the vocabulary is added to it. */
static bool add_merge(Tokenizer *tokenizer, uint32_t left, uint32_t right, bool learn,
                      Error *error) {
    size_t left_length = 0, right_length = 0;
    const uint8_t *left_bytes = tokenizer_token(tokenizer, left, &left_length);
    const uint8_t *right_bytes = tokenizer_token(tokenizer, right, &right_length);
    if (!left_bytes || !right_bytes)
        return error_set(error, "a merge joins an id that the vocabulary does not have");
    size_t length = left_length + right_length;
    uint8_t *joined = allocate(length, 1);
    memcpy(joined, left_bytes, left_length);
    memcpy(joined + left_length, right_bytes, right_length);
    uint32_t result = tokenizer_find(tokenizer, joined, length);
    if (result == TOKEN_NONE && learn &&
        tokenizer_add_token(tokenizer, tokenizer->vocab_size, joined, length, error))
        result = (uint32_t)tokenizer->vocab_size - 1;
    free(joined);
    if (result == TOKEN_NONE)
        return !learn && error_set(error, "what the merge makes is not in the vocabulary");
    uint32_t rank = (uint32_t)tokenizer->merge_count;
    return add_pair(tokenizer, (Merge){left, right, result, rank}) ||
           error_set(error, "the merge is given twice");
}

bool tokenizer_add_merge(Tokenizer *tokenizer, uint32_t left, uint32_t right, Error *error) {
    return add_merge(tokenizer, left, right, false, error);
}

bool tokenizer_learn_merge(Tokenizer *tokenizer, uint32_t left, uint32_t right, Error *error) {
    return add_merge(tokenizer, left, right, true, error);
}

void tokenizer_use_ranks(Tokenizer *tokenizer) {
    tokenizer->rank_files = tokenizer->one_place = true;
    for (uint32_t id = 0; id < tokenizer->vocab_size; id++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, id, &length);
        for (size_t at = 1; bytes && at < length; at++) {
            uint32_t left = tokenizer_find(tokenizer, bytes, at);
            uint32_t right = tokenizer_find(tokenizer, bytes + at, length - at);
            if (left != TOKEN_NONE && right != TOKEN_NONE)
                add_pair(tokenizer, (Merge){left, right, id, id});
        }
    }
}

void tokenizer_use_one_place(Tokenizer *tokenizer) {
    /* by token: 1 + the rank of the last merge that makes it, 0 where none does */
    uint32_t *made = allocate_zeroed((unsigned long long)tokenizer->vocab_size, sizeof *made);
    for (int64_t i = 0; i < tokenizer->merge_count; i++)
        made[tokenizer->merges[i].result] = tokenizer->merges[i].rank + 1;
    for (int64_t i = 0; i < tokenizer->merge_count; i++) {
        const Merge *merge = &tokenizer->merges[i];
        if (made[merge->left] > merge->rank || made[merge->right] > merge->rank)
            tokenizer->one_place = true;
    }
    free(made);
}

bool tokenizer_add_special(Tokenizer *tokenizer, const char *text, Error *error) {
    if (!special_tokens_check(text, error)) return false;
    const uint8_t *bytes = (const uint8_t *)text;
    size_t length = strlen(text), longest = tokenizer->longest_token;
    uint32_t id = tokenizer_find(tokenizer, bytes, length);
    if (id == TOKEN_NONE) {
        id = (uint32_t)tokenizer->vocab_size;
        if (!tokenizer_add_token(tokenizer, id, bytes, length, error)) return false;
        tokenizer->longest_token = longest; /* merges never make it */
    }
    special_tokens_add(&tokenizer->specials, text, id);
    return true;
}

int64_t tokenizer_vocab_size(const Tokenizer *tokenizer) {
    return tokenizer->vocab_size;
}

const uint8_t *tokenizer_token(const Tokenizer *tokenizer, uint32_t id, size_t *length) {
    if (id >= tokenizer->vocab_size || tokenizer->name_of_id[id] == TOKEN_NONE) return NULL;
    return byte_map_string(&tokenizer->names, tokenizer->name_of_id[id], length);
}

uint32_t tokenizer_find(const Tokenizer *tokenizer, const uint8_t *bytes, size_t length) {
    if (length == 0) return TOKEN_NONE;
    uint32_t name = byte_map_find(&tokenizer->names, bytes, length);
    return name == BYTE_MAP_NONE ? TOKEN_NONE : tokenizer->id_of_name[name];
}

bool tokenizer_is_special(const Tokenizer *tokenizer, uint32_t id) {
    for (int i = 0; i < tokenizer->specials.count; i++)
        if (tokenizer->specials.tokens[i].id == id) return true;
    return false;
}

int64_t tokenizer_special_id(const Tokenizer *tokenizer, const char *token) {
    size_t length = strlen(token);
    for (int i = 0; i < tokenizer->specials.count; i++) {
        const SpecialToken *special = &tokenizer->specials.tokens[i];
        if (special->length == length && memcmp(special->text, token, length) == 0)
            return special->id;
    }
    return -1;
}

uint64_t tokenizer_fingerprint(const Tokenizer *tokenizer) {
    uint64_t hash = hash_word(1, (uint64_t)tokenizer->vocab_size);
    for (int64_t id = 0; id < tokenizer->vocab_size; id++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, (uint32_t)id, &length);
        if (!bytes) continue;
        hash = hash_word(hash, (uint64_t)id);
        for (size_t i = 0; i < length; i++) hash = hash_word(hash, bytes[i]);
    }
    for (int64_t i = 0; i < tokenizer->merge_count; i++) {
        const Merge *merge = &tokenizer->merges[i];
        hash = hash_word(hash, (uint64_t)merge->left << 32 | merge->right);
        hash = hash_word(hash, merge->rank);
    }
    uint64_t specials = 0; /* their order does not matter */
    for (int i = 0; i < tokenizer->specials.count; i++)
        specials += hash_word(2, tokenizer->specials.tokens[i].id);
    hash = hash_word(hash, specials);
    bool listed = tokenizer->one_place && !tokenizer->rank_files;
    hash = hash_word(hash, (uint64_t)(tokenizer->pretokenizer - pretokenizers));
    hash = hash_word(hash, tokenizer->begin);
    return hash_word(hash, 4 * listed + 2 * tokenizer->rank_files + tokenizer->whole_tokens);
}
