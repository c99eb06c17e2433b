/* The table of the kinds, and the two functions that iterate over it. */
#include "tokenizer/tokenizer_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tokenizer/files/spelling.h"

enum { LARGEST_FILE = 1 << 30, MEMBERS = 3 };

static bool is_object(const char *text) {
    return text[strspn(text, "\xEF\xBB\xBF \t\r\n")] == '{';
}

static bool is_any(const char *text) {
    (void)text;
    return true;
}

/* The first kind whose marks a folder or a file has reads it. Hugging Face's folders often have
 * GPT-2's two files too, but those do not tell how text is split; special_tokens.json is ours alone. */
static const TokenizerKind kinds[] = {
    {"tinylm",
     {{"vocab.json", true, false, tokenizer_vocab_text},
      {"merges.txt", false, false, tokenizer_merges_text},
      {"special_tokens.json", true, false, tokenizer_special_tokens_text}},
     NULL,
     tokenizer_read_gpt2},
    {"Hugging Face",
     {{"tokenizer.json", true, false, tokenizer_huggingface_text}},
     is_object,
     tokenizer_read_huggingface},
    {"GPT-2",
     {{"vocab.json", true, false, NULL},
      {"merges.txt", false, false, NULL},
      {"special_tokens.json", false, true, NULL}},
     NULL,
     tokenizer_read_gpt2},
    {"tiktoken", {{.name = NULL}}, is_any, tokenizer_read_tiktoken},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- loading ---- */

static bool has_marks(const TokenizerKind *kind, const char *folder) {
    bool marked = kind->members[0].name != NULL;
    for (const TokenizerMember *member = kind->members; marked && member->name; member++) {
        char *path = path_join(folder, member->name);
        marked = !member->marks || file_exists(path);
        free(path);
    }
    return marked;
}

static Tokenizer *load_folder(const TokenizerKind *kind, const char *folder, Error *error) {
    FileText files[MEMBERS] = {{0}};
    char *paths[MEMBERS] = {0}, *texts[MEMBERS] = {0};
    bool done = true;
    for (int i = 0; done && kind->members[i].name; i++) {
        paths[i] = path_join(folder, kind->members[i].name);
        if (!kind->members[i].optional || file_exists(paths[i]))
            done = (texts[i] = file_read(paths[i], LARGEST_FILE, &files[i].size, error)) != NULL;
        files[i].name = paths[i];
        files[i].text = texts[i];
    }
    Tokenizer *tokenizer = done ? kind->read(files, error) : NULL;
    for (int i = 0; i < MEMBERS; i++) {
        free(paths[i]);
        free(texts[i]);
    }
    return tokenizer;
}

Tokenizer *tokenizer_load(const char *path, Error *error) {
    const TokenizerKind *kind = kinds, *end = kinds + KINDS;
    if (directory_exists(path)) {
        while (kind < end && !has_marks(kind, path)) kind++;
        if (kind < end) return load_folder(kind, path, error);
        error_set(error,
                  "%s: has neither vocab.json with merges.txt nor tokenizer.json; give the "
                  "folder of a tokenizer",
                  path);
        return NULL;
    }
    FileText file = {.name = path};
    char *text = file_read(path, LARGEST_FILE, &file.size, error);
    if (!text) return NULL;
    file.text = text;
    while (!kind->detect || !kind->detect(text)) kind++; /* the last one accepts any */
    Tokenizer *tokenizer = kind->read(&file, error);
    free(text);
    return tokenizer;
}

/* ---- saving ---- */

bool tokenizer_save(const Tokenizer *tokenizer, const char *directory, Error *error) {
    Spelling spelling;
    bool done =
        spelling_make(&spelling, tokenizer, directory, error) && directory_create(directory, error);
    /* Only tokenizer.json can tell another split than GPT-2's. */
    bool gpt2 = tokenizer->pretokenizer->length == pretoken_length && !tokenizer->whole_tokens &&
                tokenizer->begin == TOKEN_NONE;
    for (int k = 0; k < KINDS; k++)
        for (const TokenizerMember *member = kinds[k].members; done && member->name; member++) {
            if (!member->write) continue;
            char *path = path_join(directory, member->name), *text = NULL;
            if (gpt2 || member->write == tokenizer_huggingface_text) {
                text = member->write(&spelling);
                done = file_write(path, text, strlen(text), error);
            } else {
                remove(path); /* of a tokenizer that was here before */
            }
            free(text);
            free(path);
        }
    spelling_free(&spelling);
    return done;
}
