/* Saving: vocab.json, merges.txt, special_tokens.json and Hugging Face's tokenizer.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "tokenizer/files/byte_alphabet.h"
#include "tokenizer/merger.h"
#include "tokenizer/tokenizer.h"

/* What is written. */
typedef struct Saved {
    const Tokenizer *tokenizer;
    char **names; /* by id: the token as the files spell it; NULL for an unused id */
    Merge *merges;
    int64_t merge_count;
} Saved;

/* ---- making merges of what is not a merge list ---- */

static bool not_a_merge_list(uint32_t id, Error *error) {
    return error_set(
        error,
        "token %lu is not made by merges of lower rank, so that the tokenizer cannot be "
        "written as vocab.json and merges.txt; use the file it was loaded from",
        (unsigned long)id);
}

/* For a rank file: the two parts that every token falls into when only the merges of lower rank are
 * applied to it. If there are always two, then this list of merges gives the same ids. */
static bool merges_of_ranks(Saved *saved, Error *error) {
    const Tokenizer *tokenizer = saved->tokenizer;
    saved->merges = allocate((unsigned long long)tokenizer->vocab_size, sizeof *saved->merges);
    Merger merger;
    merger_init(&merger, tokenizer);
    IdList parts = {0};
    bool done = true;
    for (uint32_t id = 0; done && id < tokenizer->vocab_size; id++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, id, &length);
        if (!bytes || length < 2 || tokenizer_is_special(tokenizer, id)) continue;
        merger.rank_limit = id;
        parts.count = 0;
        done = (merger_merge(&merger, bytes, length, &parts) && parts.count == 2) ||
               not_a_merge_list(id, error);
        if (done) saved->merges[saved->merge_count++] = (Merge){parts.ids[0], parts.ids[1], id, id};
    }
    free(parts.ids);
    merger_free(&merger);
    return done;
}

/* "Pre-tokens that are tokens are taken whole" can be left out when merging makes the same of them. */
static bool merging_makes_tokens(const Tokenizer *tokenizer, Error *error) {
    Merger merger;
    merger_init(&merger, tokenizer);
    IdList ids = {0};
    bool done = true;
    for (uint32_t id = 0; done && id < tokenizer->vocab_size; id++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, id, &length);
        if (!bytes || tokenizer_is_special(tokenizer, id)) continue;
        ids.count = 0;
        done = (merger_merge(&merger, bytes, length, &ids) && ids.count == 1) ||
               not_a_merge_list(id, error);
    }
    free(ids.ids);
    merger_free(&merger);
    return done;
}

/* ---- names ---- */

/* A special token is spelt as it is, any other token in the byte alphabet. */
static bool make_names(Saved *saved, const char *directory, Error *error) {
    const Tokenizer *tokenizer = saved->tokenizer;
    saved->names = allocate_zeroed((unsigned long long)tokenizer->vocab_size, sizeof *saved->names);
    ByteMap seen;
    byte_map_init(&seen);
    bool done = true;
    for (uint32_t id = 0; done && id < tokenizer->vocab_size; id++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, id, &length);
        if (!bytes) continue;
        char *name = saved->names[id] = allocate(2 * length + 1, 1);
        if (tokenizer_is_special(tokenizer, id)) {
            memcpy(name, bytes, length);
            name[length] = '\0';
        } else {
            byte_alphabet_write(bytes, length, name);
        }
        const uint8_t *key = (const uint8_t *)name, *end = key + strlen(name);
        uint32_t number = seen.count;
        if (byte_map_add(&seen, key, (size_t)(end - key), end) != number)
            done = error_set(error,
                             "%s: a special token is spelt \"%s\", which is how vocab.json spells "
                             "another token; choose another special token",
                             directory, name);
    }
    byte_map_free(&seen);
    return done;
}

/* A merge is written with the byte alphabet's spelling of its tokens. A special token that is spelt in
 * another way ("\n") has no place in it. */
static bool check_merge_names(const Saved *saved, const char *directory, Error *error) {
    for (int64_t i = 0; i < saved->merge_count; i++) {
        const Merge *merge = &saved->merges[i];
        const uint32_t ids[] = {merge->left, merge->right, merge->result};
        for (int k = 0; k < 3; k++) {
            if (!tokenizer_is_special(saved->tokenizer, ids[k])) continue;
            size_t length;
            const uint8_t *bytes = tokenizer_token(saved->tokenizer, ids[k], &length);
            char *spelling = allocate(2 * length + 1, 1);
            byte_alphabet_write(bytes, length, spelling);
            bool same = strcmp(spelling, saved->names[ids[k]]) == 0;
            free(spelling);
            if (!same)
                return error_set(error,
                                 "%s: the special token with id %lu takes part in a merge, which "
                                 "merges.txt cannot hold; choose another special token",
                                 directory, (unsigned long)ids[k]);
        }
    }
    return true;
}

/* ---- the files ---- */

static cJSON *vocabulary_json(const Saved *saved) {
    cJSON *vocabulary = cJSON_CreateObject();
    for (int64_t id = 0; id < saved->tokenizer->vocab_size; id++)
        if (saved->names[id]) cJSON_AddNumberToObject(vocabulary, saved->names[id], (double)id);
    return vocabulary;
}

static char *vocab_text(const Saved *saved) {
    return json_finish(vocabulary_json(saved), 1);
}

static char *merges_text(const Saved *saved) {
    char *text;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    fputs("#version: 0.2\n", stream);
    for (int64_t i = 0; i < saved->merge_count; i++)
        fprintf(stream, "%s %s\n", saved->names[saved->merges[i].left],
                saved->names[saved->merges[i].right]);
    fclose(stream);
    return text;
}

/* The special token with the next id, or NULL. */
static const SpecialToken *next_special(const SpecialTokens *specials, int64_t after) {
    const SpecialToken *next = NULL;
    for (int i = 0; i < specials->count; i++) {
        const SpecialToken *token = &specials->tokens[i];
        if (token->id > after && (!next || token->id < next->id)) next = token;
    }
    return next;
}

static char *special_tokens_text(const Saved *saved) {
    cJSON *list = cJSON_CreateArray();
    const SpecialToken *token = next_special(&saved->tokenizer->specials, -1);
    for (; token; token = next_special(&saved->tokenizer->specials, token->id))
        cJSON_AddItemToArray(list, cJSON_CreateString(saved->names[token->id]));
    return json_finish(list, 1);
}

static void add_special_tokens(cJSON *root, const Saved *saved) {
    cJSON *list = cJSON_AddArrayToObject(root, "added_tokens");
    const SpecialToken *token = next_special(&saved->tokenizer->specials, -1);
    for (; token; token = next_special(&saved->tokenizer->specials, token->id)) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddItemToArray(list, entry);
        cJSON_AddNumberToObject(entry, "id", (double)token->id);
        cJSON_AddStringToObject(entry, "content", saved->names[token->id]);
        static const char *const off[] = {"single_word", "lstrip", "rstrip", "normalized"};
        for (int i = 0; i < 4; i++) cJSON_AddFalseToObject(entry, off[i]);
        cJSON_AddTrueToObject(entry, "special");
    }
}

static void add_byte_level(cJSON *root, const char *key, bool trim_offsets) {
    cJSON *stage = cJSON_AddObjectToObject(root, key);
    cJSON_AddStringToObject(stage, "type", "ByteLevel");
    cJSON_AddFalseToObject(stage, "add_prefix_space");
    cJSON_AddBoolToObject(stage, "trim_offsets", trim_offsets);
    cJSON_AddTrueToObject(stage, "use_regex");
}

static void add_model(cJSON *root, const Saved *saved) {
    cJSON *model = cJSON_AddObjectToObject(root, "model");
    cJSON_AddStringToObject(model, "type", "BPE");
    static const char *const unset[] = {"dropout", "unk_token", "continuing_subword_prefix",
                                        "end_of_word_suffix"};
    for (int i = 0; i < 4; i++) cJSON_AddNullToObject(model, unset[i]);
    static const char *const off[] = {"fuse_unk", "byte_fallback", "ignore_merges"};
    for (int i = 0; i < 3; i++) cJSON_AddFalseToObject(model, off[i]);
    cJSON_AddItemToObject(model, "vocab", vocabulary_json(saved));
    cJSON *merges = cJSON_AddArrayToObject(model, "merges");
    for (int64_t i = 0; i < saved->merge_count; i++) {
        const char *pair[] = {saved->names[saved->merges[i].left],
                              saved->names[saved->merges[i].right]};
        cJSON_AddItemToArray(merges, cJSON_CreateStringArray(pair, 2));
    }
}

static char *huggingface_text(const Saved *saved) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "version", "1.0");
    cJSON_AddNullToObject(root, "truncation");
    cJSON_AddNullToObject(root, "padding");
    add_special_tokens(root, saved);
    cJSON_AddNullToObject(root, "normalizer");
    add_byte_level(root, "pre_tokenizer", true);
    add_byte_level(root, "post_processor", false);
    add_byte_level(root, "decoder", true);
    add_model(root, saved);
    return json_finish(root, 3);
}

static bool write_member(const Saved *saved, const char *directory, const char *name,
                         char *(*make)(const Saved *), Error *error) {
    char *path = path_join(directory, name), *text = make(saved);
    bool done = file_write(path, text, strlen(text), error);
    free(text);
    free(path);
    return done;
}

bool tokenizer_save(const Tokenizer *tokenizer, const char *directory, Error *error) {
    Saved saved = {tokenizer, NULL, tokenizer->merges, tokenizer->merge_count};
    bool done = true;
    if (tokenizer->rank_files) {
        saved.merge_count = 0;
        done = merges_of_ranks(&saved, error);
    } else if (tokenizer->one_place) {
        done =
            error_set(error,
                      "%s: the tokenizer's merges are not in the order in which they can be made, "
                      "and merges.txt is read in another way then; use the file it was loaded from",
                      directory);
    } else if (tokenizer->whole_tokens) {
        done = merging_makes_tokens(tokenizer, error);
    }
    done = done && make_names(&saved, directory, error) &&
           check_merge_names(&saved, directory, error) && directory_create(directory, error) &&
           write_member(&saved, directory, "vocab.json", vocab_text, error) &&
           write_member(&saved, directory, "merges.txt", merges_text, error) &&
           write_member(&saved, directory, "special_tokens.json", special_tokens_text, error) &&
           write_member(&saved, directory, "tokenizer.json", huggingface_text, error);
    for (int64_t id = 0; saved.names && id < tokenizer->vocab_size; id++) free(saved.names[id]);
    free(saved.names);
    if (saved.merges != tokenizer->merges) free(saved.merges);
    return done;
}
