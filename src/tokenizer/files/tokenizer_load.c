/* Loading: which files there are, and the GPT-2 format. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "tokenizer/files/byte_alphabet.h"
#include "tokenizer/files/tokenizer_files.h"

enum { LARGEST_FILE = 1 << 30 };

/* ---- shared by the readers ---- */

static bool named(const char *text, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], text) == 0) return true;
    return false;
}

bool tokenizer_read_vocabulary(Tokenizer *tokenizer, FileText file, const cJSON *vocabulary,
                               const char *const *specials, int special_count, Error *error) {
    if (!cJSON_IsObject(vocabulary))
        return error_set(error, "%s: the vocabulary is not an object of token: id", file.name);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, vocabulary) {
        const char *text = entry->string;
        int64_t id;
        if (!json_whole(entry, &id))
            return error_set(error, "%s: the id of \"%s\" is not a whole number", file.name, text);
        size_t length = strlen(text);
        uint8_t *bytes = allocate(length, 1);
        if (named(text, specials, special_count) ||
            !byte_alphabet_read(text, length, bytes, &length))
            memcpy(bytes, text, length = strlen(text));
        Error reason;
        bool added = tokenizer_add_token(tokenizer, id, bytes, length, &reason);
        free(bytes);
        if (!added) return error_set(error, "%s: \"%s\": %s", file.name, text, reason.message);
    }
    return true;
}

/* Id of a token in the byte alphabet, or TOKEN_NONE. */
static uint32_t find_token(const Tokenizer *tokenizer, const char *text, size_t length) {
    uint8_t *bytes = allocate(length, 1);
    size_t byte_count;
    uint32_t id = byte_alphabet_read(text, length, bytes, &byte_count)
                      ? tokenizer_find(tokenizer, bytes, byte_count)
                      : TOKEN_NONE;
    free(bytes);
    return id;
}

bool tokenizer_read_merge(Tokenizer *tokenizer, FileText file, int64_t number, const char *left,
                          size_t left_length, const char *right, size_t right_length,
                          Error *error) {
    uint32_t left_id = find_token(tokenizer, left, left_length);
    uint32_t right_id = find_token(tokenizer, right, right_length);
    Error reason;
    if (left_id == TOKEN_NONE || right_id == TOKEN_NONE)
        error_set(&reason, "a part of it is not in the vocabulary");
    else if (tokenizer_add_merge(tokenizer, left_id, right_id, &reason))
        return true;
    return error_set(error, "%s: merge %lld (\"%.*s %.*s\"): %s", file.name, (long long)number,
                     (int)(left_length < 100 ? left_length : 100), left,
                     (int)(right_length < 100 ? right_length : 100), right, reason.message);
}

/* ---- GPT-2 ---- */

static bool read_merges(Tokenizer *tokenizer, FileText file, Error *error) {
    const char *p = file.text, *end = p + file.size;
    if (file.size >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) p += 3; /* a byte order mark */
    int64_t number = 0;
    for (bool first = true; p < end; first = false) {
        const char *line = p, *line_end = memchr(p, '\n', (size_t)(end - p));
        if (!line_end) line_end = end;
        p = line_end < end ? line_end + 1 : end;
        if (line_end > line && line_end[-1] == '\r') line_end--;
        size_t length = (size_t)(line_end - line);
        if (length == 0 || (first && length >= 8 && memcmp(line, "#version", 8) == 0)) continue;
        const char *space = memchr(line, ' ', length);
        number++;
        if (!space || space == line || space + 1 == line_end)
            return error_set(error, "%s: merge %lld is not two tokens with a space between",
                             file.name, (long long)number);
        if (!tokenizer_read_merge(tokenizer, file, number, line, (size_t)(space - line), space + 1,
                                  (size_t)(line_end - space - 1), error))
            return false;
    }
    return true;
}

/* The strings of special_tokens.json, which belong to `json`; the array is the caller's to free. */
static const char **special_names(FileText file, const cJSON *json, int *count, Error *error) {
    *count = 0;
    if (!cJSON_IsArray(json)) {
        error_set(error, "%s: is not an array of strings", file.name);
        return NULL;
    }
    const char **names = allocate((unsigned)cJSON_GetArraySize(json), sizeof *names);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json) {
        if (!cJSON_IsString(entry)) {
            error_set(error, "%s: is not an array of strings", file.name);
            free(names);
            return NULL;
        }
        names[(*count)++] = entry->valuestring;
    }
    return names;
}

static bool fill_gpt2(Tokenizer *tokenizer, FileText vocab, FileText merges, FileText specials,
                      const char *const *names, int count, Error *error) {
    cJSON *json = json_parse(vocab.text, vocab.size, vocab.name, error);
    if (!json) return false;
    bool done = tokenizer_read_vocabulary(tokenizer, vocab, json, names, count, error) &&
                read_merges(tokenizer, merges, error);
    cJSON_Delete(json);
    for (int i = 0; done && i < count; i++) {
        Error reason;
        done = tokenizer_add_special(tokenizer, names[i], &reason) ||
               error_set(error, "%s: %s", specials.name, reason.message);
    }
    return done;
}

Tokenizer *tokenizer_read_gpt2(FileText vocab, FileText merges, FileText specials, Error *error) {
    cJSON *json = NULL;
    const char **names = NULL;
    int count = 0;
    if (specials.text) {
        json = json_parse(specials.text, specials.size, specials.name, error);
        if (json) names = special_names(specials, json, &count, error);
        if (!names) {
            cJSON_Delete(json);
            return NULL;
        }
    }
    Tokenizer *tokenizer = tokenizer_new();
    if (!fill_gpt2(tokenizer, vocab, merges, specials, names, count, error)) {
        tokenizer_free(tokenizer);
        tokenizer = NULL;
    }
    free(names);
    cJSON_Delete(json);
    return tokenizer;
}

/* ---- which files there are ---- */

/* Reads a file of a directory; without `required` a missing one is fine. The text is the caller's. */
static bool read_member(const char *directory, const char *member, bool required, FileText *file,
                        Error *error) {
    char *path = path_join(directory, member);
    *file = (FileText){path, NULL, 0};
    if (required || file_exists(path))
        file->text = file_read(path, LARGEST_FILE, &file->size, error);
    return file->text || !(required || file_exists(path));
}

static void free_member(FileText *file) {
    free((void *)(uintptr_t)file->name);
    free((void *)(uintptr_t)file->text);
}

static Tokenizer *load_gpt2(const char *directory, Error *error) {
    FileText vocab = {0}, merges = {0}, specials = {0};
    Tokenizer *tokenizer = NULL;
    if (read_member(directory, "vocab.json", true, &vocab, error) &&
        read_member(directory, "merges.txt", true, &merges, error) &&
        read_member(directory, "special_tokens.json", false, &specials, error))
        tokenizer = tokenizer_read_gpt2(vocab, merges, specials, error);
    free_member(&vocab);
    free_member(&merges);
    free_member(&specials);
    return tokenizer;
}

static Tokenizer *load_file(const char *path, Error *error) {
    FileText file = {path, NULL, 0};
    file.text = file_read(path, LARGEST_FILE, &file.size, error);
    if (!file.text) return NULL;
    const char *start = file.text + strspn(file.text, "\xEF\xBB\xBF \t\r\n");
    Tokenizer *tokenizer = *start == '{' ? tokenizer_read_huggingface(file, error)
                                         : tokenizer_read_tiktoken(file, error);
    free((void *)(uintptr_t)file.text);
    return tokenizer;
}

/* A folder of ours has all four files, and special_tokens.json says which one is ours. Hugging Face's
 * has tokenizer.json, and often GPT-2's two files too, which do not tell how its text is split. */
Tokenizer *tokenizer_load(const char *path, Error *error) {
    if (!directory_exists(path)) return load_file(path, error);
    char *vocab = path_join(path, "vocab.json"), *specials = path_join(path, "special_tokens.json"),
         *huggingface = path_join(path, "tokenizer.json");
    bool has_huggingface = file_exists(huggingface);
    Tokenizer *tokenizer = NULL;
    if (file_exists(vocab) && (file_exists(specials) || !has_huggingface))
        tokenizer = load_gpt2(path, error);
    else if (has_huggingface)
        tokenizer = load_file(huggingface, error);
    else
        error_set(error,
                  "%s: has neither vocab.json with merges.txt nor tokenizer.json; give the "
                  "folder of a tokenizer",
                  path);
    free(vocab);
    free(specials);
    free(huggingface);
    return tokenizer;
}
