/* Saving: vocab.json, merges.txt, special_tokens.json and Hugging Face's tokenizer.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_writer.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/merger.h"
#include "tokenizer/tokenizer.h"

/* What is written. */
typedef struct Saved {
    const Tokenizer *tokenizer;
    char **names; /* by id: the token as the files spell it; NULL for an unused id */
    Merge *merges;
    int64_t merge_count;
} Saved;

/* The content of a file. */
typedef struct Text {
    char *text;
    size_t length;
} Text;

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

static void put_vocabulary(JsonWriter *json, const Saved *saved) {
    json_begin_object(json, JSON_ON_LINES);
    for (int64_t id = 0; id < saved->tokenizer->vocab_size; id++)
        if (saved->names[id]) json_member_whole(json, saved->names[id], id);
    json_end(json);
}

static void write_vocab(Text *out, const Saved *saved) {
    JsonWriter json = {0};
    put_vocabulary(&json, saved);
    out->text = json_writer_finish(&json, &out->length);
}

static void write_merges(Text *out, const Saved *saved) {
    FILE *stream = open_memstream(&out->text, &out->length);
    fputs("#version: 0.2\n", stream);
    for (int64_t i = 0; i < saved->merge_count; i++)
        fprintf(stream, "%s %s\n", saved->names[saved->merges[i].left],
                saved->names[saved->merges[i].right]);
    fclose(stream);
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

static void write_special_tokens(Text *out, const Saved *saved) {
    JsonWriter json = {0};
    json_begin_array(&json, JSON_ON_ONE_LINE);
    const SpecialToken *token = next_special(&saved->tokenizer->specials, -1);
    for (; token; token = next_special(&saved->tokenizer->specials, token->id))
        json_put_string(&json, saved->names[token->id]);
    json_end(&json);
    out->text = json_writer_finish(&json, &out->length);
}

static void put_added_tokens(JsonWriter *json, const Saved *saved) {
    json_key(json, "added_tokens"), json_begin_array(json, JSON_ON_LINES);
    const SpecialToken *token = next_special(&saved->tokenizer->specials, -1);
    for (; token; token = next_special(&saved->tokenizer->specials, token->id)) {
        json_begin_object(json, JSON_ON_ONE_LINE);
        json_member_whole(json, "id", token->id);
        json_member_string(json, "content", saved->names[token->id]);
        static const char *const off[] = {"single_word", "lstrip", "rstrip", "normalized"};
        for (int i = 0; i < 4; i++) json_member_bool(json, off[i], false);
        json_member_bool(json, "special", true);
        json_end(json);
    }
    json_end(json);
}

static void put_byte_level(JsonWriter *json, const char *key, bool trim_offsets) {
    json_key(json, key), json_begin_object(json, JSON_ON_ONE_LINE);
    json_member_string(json, "type", "ByteLevel");
    json_member_bool(json, "add_prefix_space", false);
    json_member_bool(json, "trim_offsets", trim_offsets);
    json_member_bool(json, "use_regex", true);
    json_end(json);
}

static void put_nulls(JsonWriter *json, const char *const *keys, int count) {
    for (int i = 0; i < count; i++) json_key(json, keys[i]), json_put_null(json);
}

static void put_model(JsonWriter *json, const Saved *saved) {
    json_key(json, "model"), json_begin_object(json, JSON_ON_LINES);
    json_member_string(json, "type", "BPE");
    static const char *const unset[] = {"dropout", "unk_token", "continuing_subword_prefix",
                                        "end_of_word_suffix"};
    put_nulls(json, unset, 4);
    static const char *const off[] = {"fuse_unk", "byte_fallback", "ignore_merges"};
    for (int i = 0; i < 3; i++) json_member_bool(json, off[i], false);
    json_key(json, "vocab"), put_vocabulary(json, saved);
    json_key(json, "merges"), json_begin_array(json, JSON_ON_LINES);
    for (int64_t i = 0; i < saved->merge_count; i++) {
        json_begin_array(json, JSON_ON_ONE_LINE);
        json_put_string(json, saved->names[saved->merges[i].left]);
        json_put_string(json, saved->names[saved->merges[i].right]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static void write_huggingface(Text *out, const Saved *saved) {
    JsonWriter json = {0};
    json_begin_object(&json, JSON_ON_LINES);
    json_member_string(&json, "version", "1.0");
    put_nulls(&json, (const char *const[]){"truncation", "padding"}, 2);
    put_added_tokens(&json, saved);
    put_nulls(&json, (const char *const[]){"normalizer"}, 1);
    put_byte_level(&json, "pre_tokenizer", true);
    put_byte_level(&json, "post_processor", false);
    put_byte_level(&json, "decoder", true);
    put_model(&json, saved);
    json_end(&json);
    out->text = json_writer_finish(&json, &out->length);
}

static bool write_member(const Saved *saved, const char *directory, const char *name,
                         void (*write)(Text *, const Saved *), Error *error) {
    char *path = path_join(directory, name);
    Text text = {NULL, 0};
    write(&text, saved);
    bool done = file_write(path, text.text, text.length, error);
    free(text.text);
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
           write_member(&saved, directory, "vocab.json", write_vocab, error) &&
           write_member(&saved, directory, "merges.txt", write_merges, error) &&
           write_member(&saved, directory, "special_tokens.json", write_special_tokens, error) &&
           write_member(&saved, directory, "tokenizer.json", write_huggingface, error);
    for (int64_t id = 0; saved.names && id < tokenizer->vocab_size; id++) free(saved.names[id]);
    free(saved.names);
    if (saved.merges != tokenizer->merges) free(saved.merges);
    return done;
}
