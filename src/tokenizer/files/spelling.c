#include "tokenizer/files/spelling.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/files/byte_alphabet.h"
#include "tokenizer/merger.h"

/* ---- reading ---- */

static bool is_named(const cJSON *specials, const char *text) {
    const cJSON *entry;
    cJSON_ArrayForEach(entry, specials) {
        const char *name =
            cJSON_GetStringValue(cJSON_IsObject(entry) ? json_get(entry, "content") : entry);
        if (name && strcmp(name, text) == 0) return true;
    }
    return false;
}

bool spelling_read_vocabulary(Tokenizer *tokenizer, const FileText *file, const cJSON *vocabulary,
                              const cJSON *specials, Error *error) {
    if (!cJSON_IsObject(vocabulary))
        return error_set(error, "%s: the vocabulary is not an object of token: id", file->name);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, vocabulary) {
        const char *text = entry->string;
        int64_t id;
        if (!json_whole(entry, &id))
            return error_set(error, "%s: the id of \"%s\" is not a whole number", file->name, text);
        size_t length = strlen(text);
        uint8_t *bytes = allocate(length, 1);
        if (is_named(specials, text) || !byte_alphabet_read(text, length, bytes, &length))
            memcpy(bytes, text, length = strlen(text));
        Error reason;
        bool added = tokenizer_add_token(tokenizer, id, bytes, length, &reason);
        free(bytes);
        if (!added) return error_set(error, "%s: \"%s\": %s", file->name, text, reason.message);
    }
    return true;
}

/* Id of a token in the byte alphabet, or TOKEN_NONE. */
static uint32_t find_token(const Tokenizer *tokenizer, const char *text, size_t length) {
    uint8_t *bytes = allocate(length, 1);
    bool spelt = byte_alphabet_read(text, length, bytes, &length);
    uint32_t id = spelt ? tokenizer_find(tokenizer, bytes, length) : TOKEN_NONE;
    free(bytes);
    return id;
}

bool spelling_read_merge(Tokenizer *tokenizer, const char *text, size_t length, Error *error) {
    Error reason;
    const char *space = length ? memchr(text, ' ', length) : NULL, *end = text + length;
    if (!space || space == text || space + 1 == end) {
        error_set(&reason, "is not two tokens with a space between");
    } else {
        uint32_t left = find_token(tokenizer, text, (size_t)(space - text));
        uint32_t right = find_token(tokenizer, space + 1, (size_t)(end - space - 1));
        if (left == TOKEN_NONE || right == TOKEN_NONE)
            error_set(&reason, "a part of it is not in the vocabulary");
        else if (tokenizer_add_merge(tokenizer, left, right, &reason))
            return true;
    }
    return error_set(error, "merge %lld (\"%.*s\"): %s", (long long)tokenizer->merge_count + 1,
                     (int)(length < 200 ? length : 200), text, reason.message);
}

bool spelling_next_line(FileText *rest, const char **line, size_t *length) {
    if (rest->size == 0) return false;
    const char *line_end = memchr(rest->text, '\n', rest->size);
    *line = rest->text;
    *length = line_end ? (size_t)(line_end - *line) : rest->size;
    size_t used = *length + (line_end != NULL);
    rest->text += used;
    rest->size -= used;
    if (*length > 0 && (*line)[*length - 1] == '\r') --*length;
    return true;
}

/* ---- writing ---- */

/* Lists the merges of a rank file: each token is made of the two parts into which the merges of lower
 * rank turn it. If there are always two, the list gives the same ids. */
static bool derive_merges(Spelling *spelling, Error *error) {
    const Tokenizer *tokenizer = spelling->tokenizer;
    spelling->merges =
        allocate((unsigned long long)tokenizer->vocab_size, sizeof *spelling->merges);
    spelling->merge_count = 0;
    Merger merger;
    merger_init(&merger, tokenizer);
    IdList parts = {0};
    bool done = true;
    for (uint32_t id = 0; done && id < tokenizer->vocab_size; id++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, id, &length);
        if (!bytes || tokenizer_is_special(tokenizer, id)) continue;
        merger.rank_limit = id;
        parts.count = 0;
        done = merger_merge(&merger, bytes, length, &parts) && parts.count == (length > 1 ? 2 : 1);
        if (!done)
            error_set(error,
                      "token %lu is not made by merges of lower rank, so that the tokenizer cannot "
                      "be written as vocab.json and merges.txt; use the file it was loaded from",
                      (unsigned long)id);
        else if (parts.count == 2)
            spelling->merges[spelling->merge_count++] = (Merge){parts.ids[0], parts.ids[1], id, id};
    }
    free(parts.ids);
    merger_free(&merger);
    return done;
}

/* A special token is spelt as it is, any other token in the byte alphabet. */
static bool make_names(Spelling *spelling, const char *directory, Error *error) {
    const Tokenizer *tokenizer = spelling->tokenizer;
    spelling->names =
        allocate_zeroed((unsigned long long)tokenizer->vocab_size, sizeof *spelling->names);
    ByteMap seen;
    byte_map_init(&seen);
    bool done = true;
    for (uint32_t id = 0; done && id < tokenizer->vocab_size; id++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(tokenizer, id, &length);
        if (!bytes) continue;
        char *name = tokenizer_is_special(tokenizer, id)
                         ? string_format("%.*s", (int)length, (const char *)bytes)
                         : byte_alphabet_text(bytes, length);
        spelling->names[id] = name;
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

/* Merges are written in the byte alphabet. A special token that is spelt in another way ("\n") has no
 * place in them. */
static bool check_merges(const Spelling *spelling, const char *directory, Error *error) {
    for (int i = 0; i < spelling->tokenizer->specials.count; i++) {
        const SpecialToken *special = &spelling->tokenizer->specials.tokens[i];
        char *in_merges = byte_alphabet_text(special->text, special->length);
        bool same = strcmp(in_merges, spelling->names[special->id]) == 0;
        free(in_merges);
        for (int64_t k = 0; !same && k < spelling->merge_count; k++) {
            const Merge *merge = &spelling->merges[k];
            if (special->id == merge->left || special->id == merge->right ||
                special->id == merge->result)
                return error_set(error,
                                 "%s: the special token with id %lu takes part in a merge, which "
                                 "merges.txt cannot hold; choose another special token",
                                 directory, (unsigned long)special->id);
        }
    }
    return true;
}

bool spelling_make(Spelling *spelling, const Tokenizer *tokenizer, const char *directory,
                   Error *error) {
    *spelling = (Spelling){tokenizer, NULL, tokenizer->merges, tokenizer->merge_count};
    if (tokenizer->one_place && !tokenizer->rank_files)
        return error_set(error,
                         "%s: the tokenizer's merges are not in the order in which they can be "
                         "made, and merges.txt is read in another way then; use the file it was "
                         "loaded from",
                         directory);
    return (!tokenizer->rank_files || derive_merges(spelling, error)) &&
           make_names(spelling, directory, error) && check_merges(spelling, directory, error);
}

void spelling_free(Spelling *spelling) {
    const Tokenizer *tokenizer = spelling->tokenizer;
    for (int64_t id = 0; spelling->names && id < tokenizer->vocab_size; id++)
        free(spelling->names[id]);
    free(spelling->names);
    if (spelling->merges != tokenizer->merges) free(spelling->merges);
}

cJSON *spelling_vocabulary(const Spelling *spelling) {
    cJSON *vocabulary = cJSON_CreateObject();
    for (int64_t id = 0; id < spelling->tokenizer->vocab_size; id++)
        if (spelling->names[id])
            cJSON_AddNumberToObject(vocabulary, spelling->names[id], (double)id);
    return vocabulary;
}
