#include "tokenizer/model_tokenizer.h"

void model_tokenizer_free(ModelTokenizer *tokenizer) {
    tokenizer_free(tokenizer->bpe);
    llama2c_tokenizer_free(tokenizer->pieces);
    *tokenizer = (ModelTokenizer){0};
}

static int64_t default_separator(const Tokenizer *bpe) {
    int64_t id = tokenizer_special_id(bpe, "<|endoftext|>");
    if (id >= 0) return id;
    for (int i = 0; i < bpe->specials.count; i++)
        if (id < 0 || bpe->specials.tokens[i].id < id) id = bpe->specials.tokens[i].id;
    return id;
}

void model_tokenizer_take(ModelTokenizer *tokenizer, Tokenizer *bpe, const char *separator) {
    int64_t id = separator ? tokenizer_special_id(bpe, separator) : -1;
    if (id < 0) id = default_separator(bpe);
    *tokenizer = (ModelTokenizer){.bpe = bpe, .start = id};
    model_tokenizer_set_ends(tokenizer, &id, 1);
}

static bool is_special(const ModelTokenizer *tokenizer, int64_t id) {
    return tokenizer->bpe && id >= 0 && id < tokenizer_vocab_size(tokenizer->bpe) &&
           tokenizer_is_special(tokenizer->bpe, (uint32_t)id);
}

void model_tokenizer_set_start(ModelTokenizer *tokenizer, int64_t id) {
    if (is_special(tokenizer, id)) tokenizer->start = id;
}

void model_tokenizer_set_ends(ModelTokenizer *tokenizer, const int64_t *ids, int count) {
    int kept = 0;
    for (int i = 0; i < count && kept < MODEL_MOST_ENDS; i++)
        if (ids[i] >= 0) tokenizer->ends[kept++] = ids[i];
    if (kept > 0) tokenizer->end_count = kept;
}

bool model_tokenizer_present(const ModelTokenizer *tokenizer) {
    return tokenizer->bpe || tokenizer->pieces;
}

int64_t model_tokenizer_size(const ModelTokenizer *tokenizer) {
    if (tokenizer->bpe) return tokenizer_vocab_size(tokenizer->bpe);
    return tokenizer->pieces ? tokenizer->pieces->count : 0;
}

bool model_tokenizer_encode(const ModelTokenizer *tokenizer, const uint8_t *text, size_t length,
                            uint32_t **ids, size_t *count, Error *error) {
    if (tokenizer->bpe) return tokenizer_encode(tokenizer->bpe, text, length, ids, count, error);
    if (!tokenizer->pieces)
        return error_set(error, "this model has no tokenizer; give ids instead of text");
    llama2c_tokenizer_encode(tokenizer->pieces, text, length, ids, count);
    return true;
}

const uint8_t *model_tokenizer_bytes(const ModelTokenizer *tokenizer, uint32_t previous,
                                     uint32_t id, size_t *length) {
    if (tokenizer->bpe) return tokenizer_token(tokenizer->bpe, id, length);
    if (tokenizer->pieces) return llama2c_tokenizer_bytes(tokenizer->pieces, previous, id, length);
    return NULL;
}

int64_t model_tokenizer_start(const ModelTokenizer *tokenizer) {
    if (tokenizer->bpe) return tokenizer->start;
    return tokenizer->pieces ? LLAMA2C_BEGIN : -1;
}

int64_t model_tokenizer_end(const ModelTokenizer *tokenizer) {
    if (tokenizer->end_count > 0) return tokenizer->ends[0];
    return tokenizer->pieces ? LLAMA2C_END : -1;
}

bool model_tokenizer_ends(const ModelTokenizer *tokenizer, uint32_t id) {
    if (tokenizer->pieces && (id == LLAMA2C_BEGIN || id == LLAMA2C_END)) return true;
    for (int i = 0; i < tokenizer->end_count; i++)
        if (tokenizer->ends[i] == (int64_t)id) return true;
    return false;
}
