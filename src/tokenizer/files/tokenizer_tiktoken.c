/* Reading the rank files of tiktoken: one token a line, "base64 rank"; the rank is the id. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/files/spelling.h"
#include "tokenizer/pretokenizer.h"

enum { LONGEST_TOKEN = 4096 };

static int base64_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes base64 with its padding; false when it is not well-formed. */
static bool base64_decode(const char *text, size_t length, uint8_t *out, size_t *out_length) {
    size_t padding = 0, count = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=') padding++;
    if (length == 0 || length % 4 != 0) return false;
    uint32_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        int value = i < length - padding ? base64_value(text[i]) : 0;
        if (value < 0) return false;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 != 3) continue;
        for (int shift = 16; shift >= 0; shift -= 8) out[count++] = (uint8_t)(bits >> shift);
        bits = 0;
    }
    *out_length = count - padding;
    return true;
}

static bool read_line(Tokenizer *tokenizer, const char *line, const char *end, Error *error) {
    const char *space = memchr(line, ' ', (size_t)(end - line));
    uint8_t bytes[LONGEST_TOKEN];
    size_t length;
    if (!space || space + 1 == end) return error_set(error, "is not \"base64 rank\"");
    if ((size_t)(space - line) > LONGEST_TOKEN / 3 * 4)
        return error_set(error, "the token is longer than %d bytes", LONGEST_TOKEN);
    if (!base64_decode(line, (size_t)(space - line), bytes, &length))
        return error_set(error, "the token is not base64");
    int64_t rank = 0;
    for (const char *p = space + 1; p < end; p++) {
        if (*p < '0' || *p > '9' || rank > INT32_MAX)
            return error_set(error, "the rank is not a whole number from 0 to 2^31");
        rank = 10 * rank + (*p - '0');
    }
    return tokenizer_add_token(tokenizer, rank, bytes, length, error);
}

/* Whether a token can be a part of a pre-token of GPT-2's; only ASCII is looked at. */
static bool fits_pattern(const uint8_t *token, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (token[i] >= 0x80) return true;
    bool half_contraction = length == 2 && token[0] == '\'' && memchr("rvl", token[1], 3);
    return half_contraction || pretoken_length(token, token + length) == length;
}

/* A rank file does not tell how text is split before. Tokens that GPT-2's pattern would cut show that
 * it was another pattern (cl100k has ");\n"), and then all ids would be wrong. */
static bool check_pattern(const Tokenizer *tokenizer, const FileText *file, Error *error) {
    for (uint32_t id = 0; id < tokenizer->vocab_size; id++) {
        size_t length;
        const uint8_t *token = tokenizer_token(tokenizer, id, &length);
        if (token && !fits_pattern(token, length))
            return error_set(
                error,
                "%s: the token with rank %lu lies across pieces of GPT-2's split; if the file is "
                "GPT-4's, GPT-4o's or Llama 3's, give it a name that begins with cl100k, o200k or "
                "llama3",
                file->name, (unsigned long)id);
    }
    return true;
}

static bool set_pattern(Tokenizer *tokenizer, const FileText *file, Error *error) {
    const char *slash = strrchr(file->name, '/'), *name = slash ? slash + 1 : file->name;
    for (int k = PRETOKENIZER_LLAMA3; k < PRETOKENIZERS; k++)
        if (strncmp(name, pretokenizers[k].name, strlen(pretokenizers[k].name)) == 0) {
            tokenizer->pretokenizer = &pretokenizers[k];
            return true;
        }
    return check_pattern(tokenizer, file, error);
}

static bool read_ranks(Tokenizer *tokenizer, const FileText *file, Error *error) {
    FileText rest = *file;
    const char *line;
    size_t length;
    for (long number = 1; spelling_next_line(&rest, &line, &length); number++) {
        Error reason;
        if (length > 0 && !read_line(tokenizer, line, line + length, &reason))
            return error_set(error,
                             "%s: line %ld: %s; a tokenizer is a folder with vocab.json and "
                             "merges.txt, a tokenizer.json, or lines \"base64 rank\" as tiktoken "
                             "has them",
                             file->name, number, reason.message);
    }
    return tokenizer->vocab_size > 0 ||
           error_set(error, "%s: is empty; it should have lines \"base64 rank\"", file->name);
}

Tokenizer *tokenizer_read_tiktoken(const FileText *file, Error *error) {
    Tokenizer *tokenizer = tokenizer_new();
    bool done = read_ranks(tokenizer, file, error) && set_pattern(tokenizer, file, error);
    if (done) tokenizer_use_ranks(tokenizer);
    return tokenizer_keep_if(tokenizer, done);
}
