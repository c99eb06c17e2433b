/* GPT-2's vocab.json and merges.txt, and our special_tokens.json beside them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/files/spelling.h"

/* ---- reading ---- */

static bool read_merges(Tokenizer *tokenizer, const FileText *file, Error *error) {
    FileText rest = *file;
    if (rest.size >= 3 && memcmp(rest.text, "\xEF\xBB\xBF", 3) == 0) { /* a byte order mark */
        rest.text += 3;
        rest.size -= 3;
    }
    const char *line;
    size_t length;
    for (bool first = true; spelling_next_line(&rest, &line, &length); first = false) {
        if (length == 0 || (first && length >= 8 && memcmp(line, "#version", 8) == 0)) continue;
        Error reason;
        if (!spelling_read_merge(tokenizer, line, length, &reason))
            return error_set(error, "%s: %s", file->name, reason.message);
    }
    return true;
}

static bool check_specials(const FileText *file, const cJSON *specials, Error *error) {
    bool texts = cJSON_IsArray(specials);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, specials) texts = texts && cJSON_IsString(entry);
    return texts || error_set(error, "%s: is not an array of strings", file->name);
}

static bool add_specials(Tokenizer *tokenizer, const FileText *file, const cJSON *specials,
                         Error *error) {
    const cJSON *entry;
    cJSON_ArrayForEach(entry, specials) {
        Error reason;
        if (!tokenizer_add_special(tokenizer, entry->valuestring, &reason))
            return error_set(error, "%s: %s", file->name, reason.message);
    }
    return true;
}

Tokenizer *tokenizer_read_gpt2(const FileText *files, Error *error) {
    const FileText *vocab = &files[0], *merges = &files[1], *listed = &files[2];
    cJSON *specials = listed->text ? json_parse(listed->text, listed->size, listed->name, error)
                                   : cJSON_CreateArray();
    cJSON *vocabulary = specials && check_specials(listed, specials, error)
                            ? json_parse(vocab->text, vocab->size, vocab->name, error)
                            : NULL;
    Tokenizer *tokenizer = tokenizer_new();
    bool done =
        vocabulary && spelling_read_vocabulary(tokenizer, vocab, vocabulary, specials, error) &&
        read_merges(tokenizer, merges, error) && add_specials(tokenizer, listed, specials, error);
    cJSON_Delete(vocabulary);
    cJSON_Delete(specials);
    return tokenizer_keep_if(tokenizer, done);
}

/* ---- writing ---- */

char *tokenizer_vocab_text(const Spelling *spelling) {
    return json_finish(spelling_vocabulary(spelling), 1);
}

char *tokenizer_merges_text(const Spelling *spelling) {
    char *text;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    fputs("#version: 0.2\n", stream);
    for (int64_t i = 0; i < spelling->merge_count; i++)
        fprintf(stream, "%s %s\n", spelling->names[spelling->merges[i].left],
                spelling->names[spelling->merges[i].right]);
    fclose(stream);
    return text;
}

char *tokenizer_special_tokens_text(const Spelling *spelling) {
    cJSON *list = cJSON_CreateArray();
    for (uint32_t id = 0; id < spelling->tokenizer->vocab_size; id++)
        if (tokenizer_is_special(spelling->tokenizer, id))
            cJSON_AddItemToArray(list, cJSON_CreateString(spelling->names[id]));
    return json_finish(list, 1);
}
