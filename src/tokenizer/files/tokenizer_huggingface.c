/* tokenizer.json of the Hugging Face library `tokenizers`. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/files/spelling.h"

/* ---- reading ---- */

static const cJSON *member(const cJSON *object, const char *name) {
    const cJSON *found = json_get(object, name);
    return cJSON_IsNull(found) ? NULL : found;
}

static const char *type_of(const cJSON *object) {
    const char *type = cJSON_GetStringValue(member(object, "type"));
    return type ? type : "(without type)";
}

/* A stage that may be absent or of type ByteLevel. */
static bool check_stage(const FileText *file, const cJSON *json, const char *stage, Error *error) {
    const cJSON *object = member(json, stage);
    if (!object || strcmp(type_of(object), "ByteLevel") == 0) return true;
    return error_set(error, "%s: %s %s is not supported, only ByteLevel", file->name, stage,
                     type_of(object));
}

static bool check_pipeline(const FileText *file, const cJSON *json, Error *error) {
    const cJSON *normalizer = member(json, "normalizer");
    if (normalizer)
        return error_set(error, "%s: normalizer %s is not supported; text is taken as it is",
                         file->name, type_of(normalizer));
    return check_stage(file, json, "decoder", error);
}

/* Whether a stage before ByteLevel (NULL: none) is that of a kind. A Split whose pieces are all of the
 * text can also be written as the removal of everything else. */
static bool is_kind(const Pretokenizer *kind, const cJSON *stage) {
    if (!stage) return !kind->digits && !kind->pattern;
    if (strcmp(type_of(stage), "Digits") == 0)
        return kind->digits && cJSON_IsTrue(member(stage, "individual_digits"));
    const char *pattern = cJSON_GetStringValue(json_get(member(stage, "pattern"), "Regex"));
    const char *behavior = cJSON_GetStringValue(member(stage, "behavior"));
    bool invert = cJSON_IsTrue(member(stage, "invert"));
    return strcmp(type_of(stage), "Split") == 0 && pattern && kind->pattern && behavior &&
           strcmp(pattern, kind->pattern) == 0 &&
           strcmp(behavior, invert ? "Removed" : "Isolated") == 0;
}

/* ByteLevel, alone or behind one stage that cuts in the way of a row of `pretokenizers`. */
static bool read_pretokenizer(Tokenizer *tokenizer, const FileText *file, const cJSON *json,
                              Error *error) {
    const cJSON *splitter = member(json, "pre_tokenizer"), *first = NULL, *last = splitter;
    if (splitter && strcmp(type_of(splitter), "Sequence") == 0) {
        last = member(splitter, "pretokenizers") ? member(splitter, "pretokenizers")->child : NULL;
        if (last && last->next) last = (first = last)->next;
        if (!last || last->next)
            return error_set(error,
                             "%s: pre_tokenizer Sequence is not supported with other than one or "
                             "two stages",
                             file->name);
    }
    if (!last || strcmp(type_of(last), "ByteLevel") != 0)
        return error_set(error,
                         "%s: pre_tokenizer %s is not supported, only ByteLevel, also behind Split "
                         "or Digits",
                         file->name, last ? type_of(last) : "null");
    if (!cJSON_IsFalse(member(last, "add_prefix_space")))
        return error_set(error, "%s: pre_tokenizer with add_prefix_space is not supported",
                         file->name);
    const Pretokenizer *kind = pretokenizers, *end = pretokenizers + PRETOKENIZERS;
    while (kind < end && !is_kind(kind, first)) kind++;
    if (kind == end)
        return error_set(error,
                         "%s: pre_tokenizer %s is not supported with these settings, only the "
                         "patterns of GPT-4, Llama 3 and GPT-4o, and individual digits",
                         file->name, type_of(first));
    if (cJSON_IsFalse(member(last, "use_regex")) != (kind->pattern != NULL))
        return error_set(error, "%s: pre_tokenizer %s use_regex is not supported", file->name,
                         kind->pattern ? "Split with" : "without");
    tokenizer->pretokenizer = kind;
    return true;
}

/* One stage: ByteLevel changes no ids; a template may put one special token before a text. */
static bool read_processor(Tokenizer *tokenizer, const FileText *file, const cJSON *stage,
                           Error *error) {
    if (strcmp(type_of(stage), "ByteLevel") == 0) return true;
    if (strcmp(type_of(stage), "TemplateProcessing") != 0)
        return error_set(error,
                         "%s: post_processor %s is not supported, only ByteLevel and "
                         "TemplateProcessing",
                         file->name, type_of(stage));
    const cJSON *single = member(stage, "single"), *first = single ? single->child : NULL,
                *special = json_get(first, "SpecialToken"), *text = special ? first->next : first;
    if (!text || text->next || !member(text, "Sequence"))
        return error_set(error,
                         "%s: post_processor TemplateProcessing is only supported with one token "
                         "before the text",
                         file->name);
    if (!special) return true;
    const char *name = cJSON_GetStringValue(member(special, "id"));
    int64_t id = name ? tokenizer_special_id(tokenizer, name) : -1;
    if (id < 0 || tokenizer->begin != TOKEN_NONE)
        return error_set(error, "%s: the token of post_processor TemplateProcessing is not special",
                         file->name);
    tokenizer->begin = (uint32_t)id;
    return true;
}

static bool read_post_processor(Tokenizer *tokenizer, const FileText *file, const cJSON *json,
                                Error *error) {
    const cJSON *whole = member(json, "post_processor"), *stage;
    if (!whole) return true;
    if (strcmp(type_of(whole), "Sequence") != 0)
        return read_processor(tokenizer, file, whole, error);
    cJSON_ArrayForEach(stage, member(whole, "processors")) {
        if (!read_processor(tokenizer, file, stage, error)) return false;
    }
    return true;
}

static bool check_model(const FileText *file, const cJSON *model, Error *error) {
    if (!cJSON_IsObject(model)) return error_set(error, "%s: has no model", file->name);
    if (member(model, "type") && strcmp(type_of(model), "BPE") != 0)
        return error_set(error, "%s: model %s is not supported, only BPE", file->name,
                         type_of(model));
    if (member(model, "dropout"))
        return error_set(error, "%s: a model with dropout is not supported", file->name);
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (int i = 0; i < 2; i++) {
        const char *affix = cJSON_GetStringValue(member(model, affixes[i]));
        if (affix && *affix)
            return error_set(error, "%s: a model with %s is not supported", file->name, affixes[i]);
    }
    if (cJSON_IsTrue(member(model, "byte_fallback")))
        return error_set(error, "%s: a model with byte_fallback is not supported", file->name);
    return true;
}

/* ["left", "right"], or "left right" (older files). */
static bool read_merge(Tokenizer *tokenizer, const FileText *file, const cJSON *merge,
                       Error *error) {
    const cJSON *left = cJSON_IsArray(merge) ? merge->child : NULL,
                *right = left ? left->next : NULL;
    bool pair = cJSON_IsString(left) && cJSON_IsString(right) && !right->next;
    char *text = pair ? string_format("%s %s", left->valuestring, right->valuestring)
                      : string_copy(cJSON_IsString(merge) ? merge->valuestring : "");
    Error reason;
    bool done = spelling_read_merge(tokenizer, text, strlen(text), &reason) ||
                error_set(error, "%s: %s", file->name, reason.message);
    free(text);
    return done;
}

static bool read_added_token(Tokenizer *tokenizer, const FileText *file, const cJSON *token,
                             Error *error) {
    const char *content = cJSON_GetStringValue(member(token, "content"));
    int64_t id;
    if (!content || !json_whole(member(token, "id"), &id))
        return error_set(error, "%s: an added token has no content or no id", file->name);
    static const char *const flags[] = {"single_word", "lstrip", "rstrip"};
    for (int i = 0; i < 3; i++)
        if (cJSON_IsTrue(member(token, flags[i])))
            return error_set(error, "%s: added token \"%s\" with %s is not supported", file->name,
                             content, flags[i]);
    const uint8_t *bytes = (const uint8_t *)content;
    size_t length = strlen(content), longest = tokenizer->longest_token;
    uint32_t known = tokenizer_find(tokenizer, bytes, length);
    Error reason;
    if (known != TOKEN_NONE && known != id)
        return error_set(error, "%s: added token \"%s\" has another id in the vocabulary",
                         file->name, content);
    if (known == TOKEN_NONE && !tokenizer_add_token(tokenizer, id, bytes, length, &reason))
        return error_set(error, "%s: added token \"%s\": %s", file->name, content, reason.message);
    tokenizer->longest_token = longest; /* merges never make it */
    return tokenizer_add_special(tokenizer, content, &reason) ||
           error_set(error, "%s: %s", file->name, reason.message);
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
static bool check_overlaps(const FileText *file, const cJSON *added, Error *error) {
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
                                 file->name, text, other);
        }
    }
    return true;
}

static bool read_model(Tokenizer *tokenizer, const FileText *file, const cJSON *json,
                       Error *error) {
    const cJSON *model = member(json, "model"), *added = member(json, "added_tokens"), *entry;
    if (!check_model(file, model, error) || !check_pipeline(file, json, error) ||
        !read_pretokenizer(tokenizer, file, json, error) || !check_overlaps(file, added, error))
        return false;
    bool done = spelling_read_vocabulary(tokenizer, file, member(model, "vocab"), added, error);
    cJSON_ArrayForEach(entry, member(model, "merges")) {
        done = done && read_merge(tokenizer, file, entry, error);
        if (!done) break;
    }
    cJSON_ArrayForEach(entry, added) {
        done = done && read_added_token(tokenizer, file, entry, error);
        if (!done) break;
    }
    done = done && read_post_processor(tokenizer, file, json, error);
    tokenizer_use_one_place(tokenizer);
    tokenizer->whole_tokens = cJSON_IsTrue(member(model, "ignore_merges"));
    tokenizer->fixed_length = member(json, "truncation") || member(json, "padding");
    return done;
}

Tokenizer *tokenizer_read_huggingface(const FileText *file, Error *error) {
    cJSON *json = json_parse(file->text, file->size, file->name, error);
    if (!json) return NULL;
    Tokenizer *tokenizer = tokenizer_new();
    bool done = read_model(tokenizer, file, json, error);
    cJSON_Delete(json);
    return tokenizer_keep_if(tokenizer, done);
}

/* ---- writing ---- */

/* All of the file but the tokens. */
static const char frame[] =
    "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [],"
    " \"normalizer\": null,"
    " \"pre_tokenizer\": null,"
    " \"post_processor\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false,"
    " \"trim_offsets\": false, \"use_regex\": true},"
    " \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false,"
    " \"trim_offsets\": true, \"use_regex\": true},"
    " \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null,"
    " \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, \"fuse_unk\": false,"
    " \"byte_fallback\": false, \"ignore_merges\": false}}";

static cJSON *pretokenizer_json(const Pretokenizer *kind) {
    cJSON *bytes = cJSON_Parse("{\"type\": \"ByteLevel\", \"add_prefix_space\": false,"
                               " \"trim_offsets\": true}");
    cJSON_AddBoolToObject(bytes, "use_regex", kind->pattern == NULL);
    if (!kind->pattern && !kind->digits) return bytes;
    cJSON *sequence = cJSON_Parse("{\"type\": \"Sequence\", \"pretokenizers\": []}"),
          *stages = json_get(sequence, "pretokenizers"), *first;
    if (kind->digits) {
        first = cJSON_Parse("{\"type\": \"Digits\", \"individual_digits\": true}");
    } else {
        first = cJSON_Parse("{\"type\": \"Split\", \"pattern\": {},"
                            " \"behavior\": \"Isolated\", \"invert\": false}");
        cJSON_AddStringToObject(json_get(first, "pattern"), "Regex", kind->pattern);
    }
    cJSON_AddItemToArray(stages, first);
    cJSON_AddItemToArray(stages, bytes);
    return sequence;
}

/* Puts the token before texts, behind the stage that is there. */
static void add_template(cJSON *root, const char *token, uint32_t id) {
    cJSON *sequence = cJSON_Parse("{\"type\": \"Sequence\", \"processors\": []}"),
          *stages = json_get(sequence, "processors"),
          *stage = cJSON_Parse(
              "{\"type\": \"TemplateProcessing\","
              " \"single\": [{\"SpecialToken\": {\"type_id\": 0}},"
              " {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}],"
              " \"pair\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}},"
              " {\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}], \"special_tokens\": {}}"),
          *first = json_get(json_get(stage, "single")->child, "SpecialToken"),
          *entry = cJSON_AddObjectToObject(json_get(stage, "special_tokens"), token);
    cJSON_AddStringToObject(first, "id", token);
    cJSON_AddStringToObject(entry, "id", token);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(entry, "ids"), cJSON_CreateNumber(id));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(entry, "tokens"), cJSON_CreateString(token));
    cJSON_AddItemToArray(stages, cJSON_DetachItemFromObject(root, "post_processor"));
    cJSON_AddItemToArray(stages, stage);
    cJSON_AddItemToObject(root, "post_processor", sequence);
}

char *tokenizer_huggingface_text(const Spelling *spelling) {
    cJSON *root = cJSON_Parse(frame), *added = json_get(root, "added_tokens"),
          *model = json_get(root, "model");
    const Tokenizer *tokenizer = spelling->tokenizer;
    cJSON_ReplaceItemInObject(root, "pre_tokenizer", pretokenizer_json(tokenizer->pretokenizer));
    if (tokenizer->begin != TOKEN_NONE)
        add_template(root, spelling->names[tokenizer->begin], tokenizer->begin);
    if (tokenizer->whole_tokens)
        cJSON_ReplaceItemInObject(model, "ignore_merges", cJSON_CreateTrue());
    for (uint32_t id = 0; id < spelling->tokenizer->vocab_size; id++) {
        if (!tokenizer_is_special(spelling->tokenizer, id)) continue;
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddItemToArray(added, entry);
        cJSON_AddNumberToObject(entry, "id", (double)id);
        cJSON_AddStringToObject(entry, "content", spelling->names[id]);
        static const char *const off[] = {"single_word", "lstrip", "rstrip", "normalized"};
        for (int i = 0; i < 4; i++) cJSON_AddFalseToObject(entry, off[i]);
        cJSON_AddTrueToObject(entry, "special");
    }
    cJSON_AddItemToObject(model, "vocab", spelling_vocabulary(spelling));
    cJSON *merges = cJSON_AddArrayToObject(model, "merges");
    for (int64_t i = 0; i < spelling->merge_count; i++) {
        const char *pair[] = {spelling->names[spelling->merges[i].left],
                              spelling->names[spelling->merges[i].right]};
        cJSON_AddItemToArray(merges, cJSON_CreateStringArray(pair, 2));
    }
    return json_finish(root, 3);
}
