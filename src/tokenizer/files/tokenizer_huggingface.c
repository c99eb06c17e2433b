/* Reading tokenizer.json of the Hugging Face library `tokenizers`. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tokenizer/files/tokenizer_files.h"

static const cJSON *member(const cJSON *object, const char *name) {
    const cJSON *found = json_get(object, name);
    return cJSON_IsNull(found) ? NULL : found;
}

static const char *type_of(const cJSON *object) {
    const char *type = cJSON_GetStringValue(member(object, "type"));
    return type ? type : "(without type)";
}

/* A stage that may be absent or of type ByteLevel. */
static bool check_stage(FileText file, const cJSON *json, const char *stage, Error *error) {
    const cJSON *object = member(json, stage);
    if (!object || strcmp(type_of(object), "ByteLevel") == 0) return true;
    return error_set(error, "%s: %s %s is not supported, only ByteLevel", file.name, stage,
                     type_of(object));
}

static bool check_pipeline(FileText file, const cJSON *json, Error *error) {
    const cJSON *normalizer = member(json, "normalizer"), *splitter = member(json, "pre_tokenizer");
    if (normalizer)
        return error_set(error, "%s: normalizer %s is not supported; text is taken as it is",
                         file.name, type_of(normalizer));
    if (!splitter || strcmp(type_of(splitter), "ByteLevel") != 0)
        return error_set(error, "%s: pre_tokenizer %s is not supported, only ByteLevel", file.name,
                         splitter ? type_of(splitter) : "null");
    if (!cJSON_IsFalse(member(splitter, "add_prefix_space")))
        return error_set(error, "%s: pre_tokenizer with add_prefix_space is not supported",
                         file.name);
    if (cJSON_IsFalse(member(splitter, "use_regex")))
        return error_set(error, "%s: pre_tokenizer without use_regex is not supported", file.name);
    return check_stage(file, json, "post_processor", error) &&
           check_stage(file, json, "decoder", error);
}

static bool check_model(FileText file, const cJSON *model, Error *error) {
    if (!cJSON_IsObject(model)) return error_set(error, "%s: has no model", file.name);
    if (member(model, "type") && strcmp(type_of(model), "BPE") != 0)
        return error_set(error, "%s: model %s is not supported, only BPE", file.name,
                         type_of(model));
    if (member(model, "dropout"))
        return error_set(error, "%s: a model with dropout is not supported", file.name);
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (int i = 0; i < 2; i++) {
        const char *affix = cJSON_GetStringValue(member(model, affixes[i]));
        if (affix && *affix)
            return error_set(error, "%s: a model with %s is not supported", file.name, affixes[i]);
    }
    if (cJSON_IsTrue(member(model, "byte_fallback")))
        return error_set(error, "%s: a model with byte_fallback is not supported", file.name);
    return true;
}

/* "left right" (older files) or ["left", "right"]. */
static bool read_merge(Tokenizer *tokenizer, FileText file, int64_t number, const cJSON *merge,
                       Error *error) {
    const char *left = NULL, *right = NULL, *text = cJSON_GetStringValue(merge);
    size_t left_length = 0;
    if (text && (right = strchr(text, ' '))) {
        left = text;
        left_length = (size_t)(right++ - text);
    } else if (cJSON_IsArray(merge) && cJSON_GetArraySize(merge) == 2) {
        left = cJSON_GetStringValue(merge->child);
        right = cJSON_GetStringValue(merge->child->next);
        left_length = left ? strlen(left) : 0;
    }
    if (!left || !right)
        return error_set(error, "%s: merge %lld is not two tokens", file.name, (long long)number);
    return tokenizer_read_merge(tokenizer, file, number, left, left_length, right, strlen(right),
                                error);
}

static bool read_added_token(Tokenizer *tokenizer, FileText file, const cJSON *token,
                             Error *error) {
    const char *content = cJSON_GetStringValue(member(token, "content"));
    int64_t id;
    if (!content || !json_whole(member(token, "id"), &id))
        return error_set(error, "%s: an added token has no content or no id", file.name);
    static const char *const flags[] = {"single_word", "lstrip", "rstrip"};
    for (int i = 0; i < 3; i++)
        if (cJSON_IsTrue(member(token, flags[i])))
            return error_set(error, "%s: added token \"%s\" with %s is not supported", file.name,
                             content, flags[i]);
    const uint8_t *bytes = (const uint8_t *)content;
    size_t length = strlen(content), longest = tokenizer->longest_token;
    uint32_t known = tokenizer_find(tokenizer, bytes, length);
    Error reason;
    if (known != TOKEN_NONE && known != id)
        return error_set(error, "%s: added token \"%s\" has another id in the vocabulary",
                         file.name, content);
    if (known == TOKEN_NONE && !tokenizer_add_token(tokenizer, id, bytes, length, &reason))
        return error_set(error, "%s: added token \"%s\": %s", file.name, content, reason.message);
    tokenizer->longest_token = longest; /* merges never make it */
    return tokenizer_add_special(tokenizer, content, &reason) ||
           error_set(error, "%s: %s", file.name, reason.message);
}

/* Whether some text has `late`, where only a part of `early` is, or `early` inside of it. */
static bool hides(const char *late, const char *early) {
    size_t late_length = strlen(late), early_length = strlen(early);
    for (size_t at = 0; at < late_length; at++) {
        size_t common = late_length - at < early_length ? late_length - at : early_length;
        if (memcmp(late + at, early, common) == 0 && (at > 0 || early_length < late_length))
            return true;
    }
    return false;
}

/* `tokenizers` looks for the added tokens with "normalized": true only between those without, and we
 * for all of them from left to right. */
static bool check_overlaps(FileText file, const cJSON *added, Error *error) {
    const cJSON *late, *early;
    cJSON_ArrayForEach(late, added) {
        if (!cJSON_IsTrue(member(late, "normalized"))) continue;
        const char *text = cJSON_GetStringValue(member(late, "content"));
        cJSON_ArrayForEach(early, added) {
            const char *other = cJSON_GetStringValue(member(early, "content"));
            if (text && other && !cJSON_IsTrue(member(early, "normalized")) && hides(text, other))
                return error_set(error,
                                 "%s: added token \"%s\", which is normalized, overlaps with "
                                 "\"%s\", which is not; that is not supported",
                                 file.name, text, other);
        }
    }
    return true;
}

static bool read_model(Tokenizer *tokenizer, FileText file, const cJSON *json, Error *error) {
    const cJSON *model = member(json, "model"), *added = member(json, "added_tokens"), *entry;
    if (!check_model(file, model, error) || !check_pipeline(file, json, error) ||
        !check_overlaps(file, added, error))
        return false;
    int count = 0;
    const char **names = allocate((unsigned)(added ? cJSON_GetArraySize(added) : 0), sizeof *names);
    cJSON_ArrayForEach(entry, added) {
        const char *content = cJSON_GetStringValue(member(entry, "content"));
        if (content) names[count++] = content;
    }
    bool done =
        tokenizer_read_vocabulary(tokenizer, file, member(model, "vocab"), names, count, error);
    free(names);
    int64_t number = 0;
    cJSON_ArrayForEach(entry, member(model, "merges")) {
        done = done && read_merge(tokenizer, file, ++number, entry, error);
        if (!done) break;
    }
    cJSON_ArrayForEach(entry, added) {
        done = done && read_added_token(tokenizer, file, entry, error);
        if (!done) break;
    }
    tokenizer_use_one_place(tokenizer);
    tokenizer->whole_tokens = cJSON_IsTrue(member(model, "ignore_merges"));
    return done;
}

Tokenizer *tokenizer_read_huggingface(FileText file, Error *error) {
    cJSON *json = json_parse(file.text, file.size, file.name, error);
    if (!json) return NULL;
    Tokenizer *tokenizer = tokenizer_new();
    if (!read_model(tokenizer, file, json, error)) {
        tokenizer_free(tokenizer);
        tokenizer = NULL;
    }
    cJSON_Delete(json);
    return tokenizer;
}
