/* The tokenizer inside a GGUF file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/gguf_model.h"
#include "tokenizer/files/byte_alphabet.h"
#include "tokenizer/files/spelling.h"

/* tokenizer.ggml.token_type */
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER = 4, UNUSED = 5, BYTE = 6 };

/* SentencePiece writes a blank as U+2581. */
static const char BLANK[] = "\xe2\x96\x81";
enum { BLANK_SIZE = 3 };

/* tokenizer.ggml.pre: how text is split, and whether a pre-token that is a token is taken whole. Of several
 * names the first is written. llama.cpp names more, for splits that are not in pretokenizer.h. */
static const struct Pre {
    const char *name;
    int kind;
    bool whole;
} pres[] = {
    {"gpt-2", PRETOKENIZER_GPT2, false},      {"smollm", PRETOKENIZER_DIGITS, false},
    {"llama-bpe", PRETOKENIZER_LLAMA3, true}, {"llama3", PRETOKENIZER_LLAMA3, true},
    {"llama-v3", PRETOKENIZER_LLAMA3, true},  {"smaug-bpe", PRETOKENIZER_LLAMA3, false},
    {"gpt-4o", PRETOKENIZER_O200K, false},    {"llama4", PRETOKENIZER_O200K, false},
};
enum { PRES = sizeof pres / sizeof *pres };

/* The name of a tokenizer's split, or NULL. */
static const char *pre_name(const Tokenizer *bpe) {
    for (int i = 0; i < PRES; i++)
        if (bpe->pretokenizer == &pretokenizers[pres[i].kind] && bpe->whole_tokens == pres[i].whole)
            return pres[i].name;
    return NULL;
}

/* ---- reading ---- */

typedef struct Lists {
    const GgufValue *types, *scores;
    GgufString *tokens, *merges; /* NULL: absent */
    int64_t count, merge_count;
    uint8_t *scratch; /* as long as the longest token, and a NUL */
} Lists;

/* An array of the given element type, NULL when absent; an error when it is something else. */
static bool find_list(const Gguf *gguf, const char *key, GgufType type, const GgufValue **list,
                      const char *path, Error *error) {
    *list = gguf_value(gguf, key);
    return !*list || ((*list)->type == GGUF_ARRAY && (*list)->element_type == type) ||
           error_set(error, "%s: the key '%s' is of the wrong type; the file is damaged", path,
                     key);
}

static GgufString *list_strings(const GgufValue *list, int64_t *count, size_t *longest) {
    if (!list) return NULL;
    const uint8_t *cursor = list->data;
    GgufString *strings = allocate((size_t)list->count, sizeof *strings);
    for (*count = 0; *count < list->count; ++*count) {
        strings[*count] = gguf_next_string(&cursor);
        if (strings[*count].length > *longest) *longest = strings[*count].length;
    }
    return strings;
}

static bool find_lists(const Gguf *gguf, Lists *lists, const char *path, Error *error) {
    const GgufValue *tokens, *merges;
    size_t longest = 0;
    if (!find_list(gguf, "tokenizer.ggml.tokens", GGUF_STRING, &tokens, path, error) ||
        !find_list(gguf, "tokenizer.ggml.token_type", GGUF_INT32, &lists->types, path, error) ||
        !find_list(gguf, "tokenizer.ggml.scores", GGUF_FLOAT32, &lists->scores, path, error) ||
        !find_list(gguf, "tokenizer.ggml.merges", GGUF_STRING, &merges, path, error))
        return false;
    int64_t count = tokens ? tokens->count : 0;
    if ((lists->types && lists->types->count != count) ||
        (lists->scores && lists->scores->count != count))
        return error_set(error, "%s: its tokens, token types and scores differ in number", path);
    lists->tokens = list_strings(tokens, &lists->count, &longest);
    lists->merges = list_strings(merges, &lists->merge_count, &(size_t){0});
    lists->scratch = allocate(longest + 1, 1);
    return true;
}

static void free_lists(Lists *lists) {
    free(lists->tokens);
    free(lists->merges);
    free(lists->scratch);
}

static bool add_bpe_token(Tokenizer *bpe, const Lists *lists, int64_t id, Error *error) {
    GgufString token = lists->tokens[id];
    uint8_t *bytes = lists->scratch;
    size_t length = token.length;
    int64_t type = NORMAL;
    if (lists->types) gguf_integer(lists->types, id, &type);
    if (type == UNUSED) return true;
    if (type == CONTROL || type == USER || type == UNKNOWN) {
        memcpy(bytes, token.text, length);
        bytes[length] = '\0';
        return tokenizer_add_token(bpe, id, bytes, length, error) &&
               tokenizer_add_special(bpe, (char *)bytes, error);
    }
    if (!byte_alphabet_read(token.text, token.length, bytes, &length))
        return error_set(error, "token %lld is not written in the GPT-2 byte alphabet",
                         (long long)id);
    return tokenizer_add_token(bpe, id, bytes, length, error);
}

static bool read_bpe(ModelFile *file, const Gguf *gguf, const Lists *lists, const struct Pre *pre,
                     const char *path, Error *error) {
    Error cause = {""};
    if (!lists->merges) return error_set(error, "%s: has no tokenizer.ggml.merges", path);
    Tokenizer *bpe = tokenizer_new();
    bool good = true;
    for (int64_t id = 0; id < lists->count && good; id++)
        good = add_bpe_token(bpe, lists, id, &cause);
    for (int64_t i = 0; i < lists->merge_count && good; i++)
        good = spelling_read_merge(bpe, lists->merges[i].text, lists->merges[i].length, &cause);
    if (good) tokenizer_use_one_place(bpe);
    bpe->pretokenizer = &pretokenizers[pre->kind];
    bpe->whole_tokens = pre->whole;
    /* llama.cpp puts BOS before a text that it splits as Llama 3 does unless the file says no. */
    int64_t bos = gguf_whole(gguf, "tokenizer.ggml.bos_token_id", -1);
    bool begins = gguf_whole(gguf, "tokenizer.ggml.add_bos_token",
                             pre->kind == PRETOKENIZER_LLAMA3 && pre->whole);
    if (good && begins) {
        good = bos >= 0 && bos < lists->count && tokenizer_is_special(bpe, (uint32_t)bos);
        bpe->begin = good ? (uint32_t)bos : TOKEN_NONE;
        if (!good) error_set(&cause, "its BOS is missing or not a special token");
    }
    model_tokenizer_take(&file->tokenizer, bpe, NULL);
    model_tokenizer_set_start(&file->tokenizer,
                              gguf_whole(gguf, "tokenizer.ggml.bos_token_id", -1));
    return good || error_set(error, "%s: its tokenizer is damaged: %s", path, cause.message);
}

static bool read_pieces(ModelFile *file, const Lists *lists, const char *path, Error *error) {
    if (!lists->scores) return error_set(error, "%s: has no tokenizer.ggml.scores", path);
    Llama2cPiece *pieces = allocate_zeroed((size_t)lists->count, sizeof *pieces);
    for (int64_t id = 0; id < lists->count; id++) {
        GgufString token = lists->tokens[id];
        Llama2cPiece *piece = &pieces[id];
        double score = 0;
        gguf_number(lists->scores, id, &score);
        piece->score = (float)score;
        piece->bytes = allocate(token.length, 1); /* never longer than its spelling */
        for (size_t i = 0; i < token.length;) {
            bool blank =
                token.length - i >= BLANK_SIZE && memcmp(token.text + i, BLANK, BLANK_SIZE) == 0;
            piece->bytes[piece->length++] = blank ? ' ' : (uint8_t)token.text[i];
            i += blank ? BLANK_SIZE : 1;
        }
    }
    file->tokenizer.pieces = llama2c_tokenizer_new(pieces, lists->count, error);
    for (int64_t id = 0; id < lists->count; id++) free(pieces[id].bytes);
    free(pieces);
    return file->tokenizer.pieces != NULL;
}

static bool is_byte_piece(GgufString token, int byte) {
    char spelling[8];
    snprintf(spelling, sizeof spelling, "<0x%02X>", byte);
    return gguf_string_equal(token, spelling);
}

/* Whether the pieces are like llama2.c's: <unk>, <s>, </s>, the bytes; and <s> and a blank go before
 * every text. */
static bool like_llama2c(const Gguf *gguf, const Lists *lists) {
    for (int byte = 0; byte < 256 && LLAMA2C_FIRST_BYTE + byte < lists->count; byte++)
        if (!is_byte_piece(lists->tokens[LLAMA2C_FIRST_BYTE + byte], byte)) return false;
    return gguf_whole(gguf, "tokenizer.ggml.unknown_token_id", LLAMA2C_UNKNOWN) ==
               LLAMA2C_UNKNOWN &&
           gguf_whole(gguf, "tokenizer.ggml.bos_token_id", LLAMA2C_BEGIN) == LLAMA2C_BEGIN &&
           gguf_whole(gguf, "tokenizer.ggml.add_bos_token", true) == true &&
           gguf_whole(gguf, "tokenizer.ggml.add_space_prefix", true) == true &&
           gguf_whole(gguf, "tokenizer.ggml.add_eos_token", false) == false;
}

/* Whether a text's ids are those of its bytes, with BOS first at most. */
static bool adds_at_most_bos(const Gguf *gguf) {
    return gguf_whole(gguf, "tokenizer.ggml.add_space_prefix", false) == false &&
           gguf_whole(gguf, "tokenizer.ggml.add_eos_token", false) == false;
}

bool gguf_tokenizer_read(ModelFile *file, const Gguf *gguf, const char *path, Error *error) {
    Lists lists = {0};
    bool gpt2 = gguf_is(gguf, "tokenizer.ggml.model", "gpt2");
    bool llama = gguf_is(gguf, "tokenizer.ggml.model", "llama");
    const struct Pre *pre = pres, *end = pres + PRES;
    while (pre < end && !gguf_is(gguf, "tokenizer.ggml.pre", pre->name)) pre++;
    bool good = find_lists(gguf, &lists, path, error);
    if (good && lists.tokens && gpt2 && pre < end && adds_at_most_bos(gguf))
        good = read_bpe(file, gguf, &lists, pre, path, error);
    else if (good && lists.tokens && llama && like_llama2c(gguf, &lists))
        good = read_pieces(file, &lists, path, error);
    else if (good)
        model_file_warn(file, "only ids can be used: %s",
                        !lists.tokens ? "it has no tokenizer"
                        : gpt2  ? "its tokenizer splits text in an unknown way, or adds tokens"
                        : llama ? "its tokenizer has the pieces of the 256 bytes at other ids than "
                                  "Llama 2's, or begins texts in another way"
                                : "its tokenizer is of another kind");
    free_lists(&lists);
    return good;
}

/* ---- writing ---- */

/* A token in the byte alphabet, to be freed. */
static char *alphabet_text(const Tokenizer *bpe, uint32_t id) {
    size_t length;
    const uint8_t *bytes = tokenizer_token(bpe, id, &length);
    return byte_alphabet_text(bytes, length);
}

/* Adds an element of an array, and frees it. */
static void add_text(GgufWriter *writer, char *text) {
    gguf_array_string(writer, text, strlen(text));
    free(text);
}

static void add_bpe(const Tokenizer *bpe, int64_t rows, GgufWriter *writer) {
    size_t length;
    gguf_add_string(writer, "tokenizer.ggml.model", "gpt2");
    gguf_add_string(writer, "tokenizer.ggml.pre", pre_name(bpe));
    gguf_add_array(writer, "tokenizer.ggml.tokens", GGUF_STRING, rows);
    for (uint32_t id = 0; id < rows; id++) {
        const uint8_t *bytes = tokenizer_token(bpe, id, &length);
        add_text(writer, !bytes ? string_format("[PAD%u]", id)
                         : tokenizer_is_special(bpe, id)
                             ? string_format("%.*s", (int)length, (const char *)bytes)
                             : alphabet_text(bpe, id));
    }
    gguf_add_array(writer, "tokenizer.ggml.token_type", GGUF_INT32, rows);
    for (uint32_t id = 0; id < rows; id++)
        gguf_array_int32(writer, tokenizer_is_special(bpe, id)       ? CONTROL
                                 : tokenizer_token(bpe, id, &length) ? NORMAL
                                                                     : UNUSED);
    gguf_add_array(writer, "tokenizer.ggml.merges", GGUF_STRING, bpe->merge_count);
    for (int64_t i = 0; i < bpe->merge_count; i++) {
        char *left = alphabet_text(bpe, bpe->merges[i].left);
        char *right = alphabet_text(bpe, bpe->merges[i].right);
        add_text(writer, string_format("%s %s", left, right));
        free(right);
        free(left);
    }
    gguf_add_bool(writer, "tokenizer.ggml.add_bos_token", bpe->begin != TOKEN_NONE);
}

/* The piece as SentencePiece spells it. */
static void add_piece(GgufWriter *writer, const Llama2cPiece *piece, bool is_byte) {
    if (is_byte && piece->length == 1) {
        add_text(writer, string_format("<0x%02X>", piece->bytes[0]));
        return;
    }
    char *text = allocate(piece->length * BLANK_SIZE, 1);
    size_t length = 0;
    for (size_t i = 0; i < piece->length; i++) {
        bool blank = piece->bytes[i] == ' ';
        memcpy(text + length, blank ? (const void *)BLANK : &piece->bytes[i],
               blank ? BLANK_SIZE : 1);
        length += blank ? BLANK_SIZE : 1;
    }
    gguf_array_string(writer, text, length);
    free(text);
}

static int32_t piece_type(int64_t id) {
    if (id == LLAMA2C_UNKNOWN) return UNKNOWN;
    if (id < LLAMA2C_FIRST_BYTE) return CONTROL;
    return id < LLAMA2C_FIRST_BYTE + 256 ? BYTE : NORMAL;
}

static void add_pieces(const Llama2cTokenizer *pieces, GgufWriter *writer) {
    gguf_add_string(writer, "tokenizer.ggml.model", "llama");
    gguf_add_array(writer, "tokenizer.ggml.tokens", GGUF_STRING, pieces->count);
    for (int64_t id = 0; id < pieces->count; id++)
        add_piece(writer, &pieces->pieces[id], piece_type(id) == BYTE);
    gguf_add_array(writer, "tokenizer.ggml.scores", GGUF_FLOAT32, pieces->count);
    for (int64_t id = 0; id < pieces->count; id++)
        gguf_array_float32(writer, pieces->pieces[id].score);
    gguf_add_array(writer, "tokenizer.ggml.token_type", GGUF_INT32, pieces->count);
    for (int64_t id = 0; id < pieces->count; id++) gguf_array_int32(writer, piece_type(id));
    gguf_add_uint32(writer, "tokenizer.ggml.unknown_token_id", LLAMA2C_UNKNOWN);
    gguf_add_bool(writer, "tokenizer.ggml.add_bos_token", true);
    gguf_add_bool(writer, "tokenizer.ggml.add_space_prefix", true);
}

bool gguf_tokenizer_check(const ModelFile *file, const char *path, Error *error) {
    const Tokenizer *bpe = file->tokenizer.bpe;
    return !bpe || pre_name(bpe) ||
           error_set(error,
                     "%s: GGUF has no name for the tokenizer's split (%s%s); convert to Hugging "
                     "Face instead",
                     path, bpe->pretokenizer->name,
                     bpe->whole_tokens ? ", tokens taken whole" : "");
}

void gguf_tokenizer_write(const ModelFile *file, GgufWriter *writer) {
    const ModelTokenizer *tokenizer = &file->tokenizer;
    if (tokenizer->bpe)
        add_bpe(tokenizer->bpe, file->model->config.vocab_size, writer);
    else if (tokenizer->pieces)
        add_pieces(tokenizer->pieces, writer);
    else
        gguf_add_string(writer, "tokenizer.ggml.model", "no_vocab");
    bool begins = tokenizer->bpe && tokenizer->bpe->begin != TOKEN_NONE;
    int64_t start = begins ? tokenizer->bpe->begin : model_tokenizer_start(tokenizer);
    if (start >= 0) gguf_add_uint32(writer, "tokenizer.ggml.bos_token_id", (uint32_t)start);
}
