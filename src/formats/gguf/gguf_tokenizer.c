/* The tokenizer inside a GGUF file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/gguf_model.h"
#include "tokenizer/files/byte_alphabet.h"
#include "tokenizer/files/spelling.h"

/* SentencePiece writes a blank as U+2581. */
static const char BLANK[] = "\xe2\x96\x81";
enum { BLANK_SIZE = 3 };

/* ---- reading ---- */

typedef struct Lists {
    const GgufValue *tokens, *types, *scores, *merges;
} Lists;

/* An array of the given element type, NULL when absent; an error when it is something else. */
static bool find_list(const Gguf *gguf, const char *key, GgufType type, const GgufValue **list,
                      const char *path, Error *error) {
    *list = gguf_value(gguf, key);
    if (*list && ((*list)->type != GGUF_ARRAY || (*list)->element_type != type))
        return error_set(error, "%s: the key '%s' is of the wrong type; the file is damaged", path,
                         key);
    return true;
}

static bool find_lists(const Gguf *gguf, Lists *lists, const char *path, Error *error) {
    if (!find_list(gguf, "tokenizer.ggml.tokens", GGUF_STRING, &lists->tokens, path, error) ||
        !find_list(gguf, "tokenizer.ggml.token_type", GGUF_INT32, &lists->types, path, error) ||
        !find_list(gguf, "tokenizer.ggml.scores", GGUF_FLOAT32, &lists->scores, path, error) ||
        !find_list(gguf, "tokenizer.ggml.merges", GGUF_STRING, &lists->merges, path, error))
        return false;
    int64_t count = lists->tokens ? lists->tokens->count : 0;
    if ((lists->types && lists->types->count != count) ||
        (lists->scores && lists->scores->count != count))
        return error_set(error, "%s: its tokens, token types and scores differ in number", path);
    return true;
}

static int64_t token_type(const Lists *lists, int64_t id) {
    int64_t type = GGUF_TOKEN_NORMAL;
    if (lists->types) gguf_integer(lists->types, id, &type);
    return type;
}

static bool is_special(int64_t type) {
    return type == GGUF_TOKEN_CONTROL || type == GGUF_TOKEN_USER || type == GGUF_TOKEN_UNKNOWN;
}

/* Adds one token; `text` is scratch memory large enough for it. */
static bool add_bpe_token(Tokenizer *bpe, int64_t id, GgufString token, int64_t type, char *text,
                          Error *error) {
    if (type == GGUF_TOKEN_UNUSED) return true;
    if (is_special(type)) {
        memcpy(text, token.text, token.length);
        text[token.length] = '\0';
        return tokenizer_add_token(bpe, id, (const uint8_t *)text, token.length, error) &&
               tokenizer_add_special(bpe, text, error);
    }
    size_t length;
    if (!byte_alphabet_read(token.text, token.length, (uint8_t *)text, &length))
        return error_set(error, "token %lld is not written in the GPT-2 byte alphabet",
                         (long long)id);
    return tokenizer_add_token(bpe, id, (const uint8_t *)text, length, error);
}

static void measure_strings(const GgufValue *list, size_t *longest, size_t *total) {
    *longest = *total = 0;
    const uint8_t *cursor = list->data;
    for (int64_t i = 0; i < list->count; i++) {
        size_t length = gguf_next_string(&cursor).length;
        *total += length;
        if (length > *longest) *longest = length;
    }
}

static bool fill_bpe(Tokenizer *bpe, const Lists *lists, Error *error) {
    size_t longest, total;
    measure_strings(lists->tokens, &longest, &total);
    char *scratch = allocate(longest + 1, 1);
    const uint8_t *cursor = lists->tokens->data;
    bool good = true;
    for (int64_t id = 0; id < lists->tokens->count && good; id++)
        good = add_bpe_token(bpe, id, gguf_next_string(&cursor), token_type(lists, id), scratch,
                             error);
    cursor = lists->merges->data;
    for (int64_t i = 0; i < lists->merges->count && good; i++) {
        GgufString merge = gguf_next_string(&cursor);
        good = spelling_read_merge(bpe, merge.text, merge.length, error);
    }
    if (good) tokenizer_use_one_place(bpe);
    free(scratch);
    return good;
}

/* The id under a key, or -1. */
static int64_t read_id(const Gguf *gguf, const char *key) {
    const GgufValue *value = gguf_value(gguf, key);
    int64_t id = -1;
    return value && value->type != GGUF_ARRAY && gguf_integer(value, 0, &id) ? id : -1;
}

static bool read_bpe(ModelFile *file, const Gguf *gguf, const Lists *lists, const char *path,
                     Error *error) {
    Error cause = {""};
    if (!lists->merges) return error_set(error, "%s: has no tokenizer.ggml.merges", path);
    Tokenizer *bpe = tokenizer_new();
    bool good = fill_bpe(bpe, lists, &cause);
    model_tokenizer_take(&file->tokenizer, bpe, NULL);
    model_tokenizer_set_start(&file->tokenizer, read_id(gguf, "tokenizer.ggml.bos_token_id"));
    return good || error_set(error, "%s: its tokenizer is damaged: %s", path, cause.message);
}

static bool read_pieces(ModelFile *file, const Lists *lists, const char *path, Error *error) {
    if (!lists->scores) return error_set(error, "%s: has no tokenizer.ggml.scores", path);
    int64_t count = lists->tokens->count;
    Llama2cPiece *pieces = allocate((size_t)count, sizeof *pieces);
    size_t longest, total;
    measure_strings(lists->tokens, &longest, &total);
    uint8_t *bytes = allocate(total, 1),
            *at = bytes; /* a piece is never longer than its spelling */
    const uint8_t *cursor = lists->tokens->data;
    for (int64_t id = 0; id < count; id++) {
        GgufString token = gguf_next_string(&cursor);
        double score = 0;
        gguf_number(lists->scores, id, &score);
        pieces[id] = (Llama2cPiece){at, 0, (float)score};
        for (size_t i = 0; i < token.length;) {
            bool blank =
                token.length - i >= BLANK_SIZE && memcmp(token.text + i, BLANK, BLANK_SIZE) == 0;
            *at++ = blank ? ' ' : (uint8_t)token.text[i];
            i += blank ? BLANK_SIZE : 1;
        }
        pieces[id].length = (size_t)(at - pieces[id].bytes);
    }
    file->tokenizer.pieces = llama2c_tokenizer_new(pieces, count, error);
    free(bytes);
    free(pieces);
    return file->tokenizer.pieces != NULL;
}

/* A flag that says how ids come about: whether it is as we do it. */
static bool flag_is(const Gguf *gguf, const char *key, bool usual, bool ours) {
    const GgufValue *value = gguf_value(gguf, key);
    bool flag = usual;
    if (value && !gguf_boolean(value, &flag)) return false;
    return flag == ours;
}

/* Whether an id is the usual one, which counts when the file says nothing. */
static bool id_is(const Gguf *gguf, const char *key, int64_t usual) {
    return !gguf_value(gguf, key) || read_id(gguf, key) == usual;
}

/* Whether the 256 bytes have their pieces in order from LLAMA2C_FIRST_BYTE on. */
static bool bytes_in_place(const GgufValue *tokens) {
    const uint8_t *cursor = tokens->data;
    for (int64_t id = 0; id < tokens->count && id < LLAMA2C_FIRST_BYTE + 256; id++) {
        GgufString token = gguf_next_string(&cursor);
        char spelling[8];
        snprintf(spelling, sizeof spelling, "<0x%02X>", (uint8_t)(id - LLAMA2C_FIRST_BYTE));
        if (id >= LLAMA2C_FIRST_BYTE && !gguf_string_equal(token, spelling)) return false;
    }
    return true;
}

/* Whether the pieces are like llama2.c's: <unk>, <s>, </s>, the bytes; and <s> and a blank go before
 * every text. */
static bool like_llama2c(const Gguf *gguf, const Lists *lists) {
    return bytes_in_place(lists->tokens) &&
           id_is(gguf, "tokenizer.ggml.unknown_token_id", LLAMA2C_UNKNOWN) &&
           id_is(gguf, "tokenizer.ggml.bos_token_id", LLAMA2C_BEGIN) &&
           flag_is(gguf, "tokenizer.ggml.add_bos_token", true, true) &&
           flag_is(gguf, "tokenizer.ggml.add_space_prefix", true, true) &&
           flag_is(gguf, "tokenizer.ggml.add_eos_token", false, false);
}

/* Whether a text's ids are those of its bytes and nothing else. */
static bool like_gpt2(const Gguf *gguf) {
    return gguf_is(gguf, "tokenizer.ggml.pre", "gpt-2") &&
           flag_is(gguf, "tokenizer.ggml.add_bos_token", false, false) &&
           flag_is(gguf, "tokenizer.ggml.add_space_prefix", false, false) &&
           flag_is(gguf, "tokenizer.ggml.add_eos_token", false, false);
}

bool gguf_tokenizer_read(ModelFile *file, const Gguf *gguf, const char *path, Error *error) {
    Lists lists;
    if (!find_lists(gguf, &lists, path, error)) return false;
    if (lists.tokens && gguf_is(gguf, "tokenizer.ggml.model", "gpt2")) {
        if (like_gpt2(gguf)) return read_bpe(file, gguf, &lists, path, error);
        model_file_warn(file,
                        "its tokenizer splits text in another way than GPT-2's, or adds tokens; "
                        "only ids can be used");
    } else if (lists.tokens && gguf_is(gguf, "tokenizer.ggml.model", "llama")) {
        if (like_llama2c(gguf, &lists)) return read_pieces(file, &lists, path, error);
        model_file_warn(file, "its tokenizer has the pieces of the 256 bytes at other ids than "
                              "Llama 2's, or begins texts in another way; only ids can be used");
    } else {
        model_file_warn(file, "it has no tokenizer that can be used; only ids can");
    }
    return true;
}

/* ---- writing ---- */

/* A token in the byte alphabet, to be freed. */
static char *alphabet_text(const Tokenizer *bpe, uint32_t id) {
    size_t length;
    const uint8_t *bytes = tokenizer_token(bpe, id, &length);
    return byte_alphabet_text(bytes, length);
}

static void add_bpe(const Tokenizer *bpe, int64_t rows, GgufWriter *writer) {
    gguf_add_string(writer, "tokenizer.ggml.model", "gpt2");
    gguf_add_string(writer, "tokenizer.ggml.pre", "gpt-2");
    gguf_add_array(writer, "tokenizer.ggml.tokens", GGUF_STRING, rows);
    for (int64_t id = 0; id < rows; id++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(bpe, (uint32_t)id, &length);
        char *text = !bytes ? string_format("[PAD%lld]", (long long)id)
                     : tokenizer_is_special(bpe, (uint32_t)id)
                         ? string_format("%.*s", (int)length, (const char *)bytes)
                         : alphabet_text(bpe, (uint32_t)id);
        gguf_array_string(writer, text, strlen(text));
        free(text);
    }
    gguf_add_array(writer, "tokenizer.ggml.token_type", GGUF_INT32, rows);
    for (int64_t id = 0; id < rows; id++) {
        size_t length;
        bool special = tokenizer_is_special(bpe, (uint32_t)id);
        bool present = tokenizer_token(bpe, (uint32_t)id, &length) != NULL;
        gguf_array_int32(writer, special   ? GGUF_TOKEN_CONTROL
                                 : present ? GGUF_TOKEN_NORMAL
                                           : GGUF_TOKEN_UNUSED);
    }
    gguf_add_array(writer, "tokenizer.ggml.merges", GGUF_STRING, bpe->merge_count);
    for (int64_t i = 0; i < bpe->merge_count; i++) {
        char *left = alphabet_text(bpe, bpe->merges[i].left);
        char *right = alphabet_text(bpe, bpe->merges[i].right);
        char *merge = string_format("%s %s", left, right);
        gguf_array_string(writer, merge, strlen(merge));
        free(merge);
        free(right);
        free(left);
    }
    gguf_add_bool(writer, "tokenizer.ggml.add_bos_token", false);
}

/* The piece as SentencePiece spells it. */
static void add_piece(GgufWriter *writer, const Llama2cPiece *piece, bool is_byte) {
    if (is_byte && piece->length == 1) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", piece->bytes[0]);
        gguf_array_string(writer, text, strlen(text));
        return;
    }
    char *text = allocate(piece->length * BLANK_SIZE, 1);
    size_t length = 0;
    for (size_t i = 0; i < piece->length; i++) {
        if (piece->bytes[i] == ' ') {
            memcpy(text + length, BLANK, BLANK_SIZE);
            length += BLANK_SIZE;
        } else {
            text[length++] = (char)piece->bytes[i];
        }
    }
    gguf_array_string(writer, text, length);
    free(text);
}

static int32_t piece_type(int64_t id) {
    if (id == LLAMA2C_UNKNOWN) return GGUF_TOKEN_UNKNOWN;
    if (id < LLAMA2C_FIRST_BYTE) return GGUF_TOKEN_CONTROL;
    return id < LLAMA2C_FIRST_BYTE + 256 ? GGUF_TOKEN_BYTE : GGUF_TOKEN_NORMAL;
}

static void add_pieces(const Llama2cTokenizer *pieces, GgufWriter *writer) {
    gguf_add_string(writer, "tokenizer.ggml.model", "llama");
    gguf_add_array(writer, "tokenizer.ggml.tokens", GGUF_STRING, pieces->count);
    for (int64_t id = 0; id < pieces->count; id++)
        add_piece(writer, &pieces->pieces[id], piece_type(id) == GGUF_TOKEN_BYTE);
    gguf_add_array(writer, "tokenizer.ggml.scores", GGUF_FLOAT32, pieces->count);
    for (int64_t id = 0; id < pieces->count; id++)
        gguf_array_float32(writer, pieces->pieces[id].score);
    gguf_add_array(writer, "tokenizer.ggml.token_type", GGUF_INT32, pieces->count);
    for (int64_t id = 0; id < pieces->count; id++) gguf_array_int32(writer, piece_type(id));
    gguf_add_uint32(writer, "tokenizer.ggml.unknown_token_id", LLAMA2C_UNKNOWN);
    gguf_add_bool(writer, "tokenizer.ggml.add_bos_token", true);
    gguf_add_bool(writer, "tokenizer.ggml.add_space_prefix", true);
}

void gguf_tokenizer_write(const ModelFile *file, GgufWriter *writer) {
    const ModelTokenizer *tokenizer = &file->tokenizer;
    if (tokenizer->bpe)
        add_bpe(tokenizer->bpe, file->model->config.vocab_size, writer);
    else if (tokenizer->pieces)
        add_pieces(tokenizer->pieces, writer);
    else
        gguf_add_string(writer, "tokenizer.ggml.model", "no_vocab");
    int64_t start = model_tokenizer_start(tokenizer);
    if (start >= 0) gguf_add_uint32(writer, "tokenizer.ggml.bos_token_id", (uint32_t)start);
}
