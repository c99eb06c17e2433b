#include "formats/model_tokenizer.h"

void model_tokenizer_free(ModelTokenizer *tokenizer) {
    tokenizer_free(tokenizer->bpe);
    llama2c_tokenizer_free(tokenizer->pieces);
    *tokenizer = (ModelTokenizer){0};
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
    if (tokenizer->bpe) return tokenizer_special_id(tokenizer->bpe, "<|endoftext|>");
    return tokenizer->pieces ? LLAMA2C_BEGIN : -1;
}

bool model_tokenizer_ends(const ModelTokenizer *tokenizer, uint32_t id) {
    if (tokenizer->pieces) return id == LLAMA2C_BEGIN || id == LLAMA2C_END;
    return model_tokenizer_start(tokenizer) == (int64_t)id;
}
