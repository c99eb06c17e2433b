/* Shared by the tests of model formats: small models with weights that differ everywhere, and a small
 * tokenizer. */
#ifndef TINYLM_TESTS_MODEL_FILES_H
#define TINYLM_TESTS_MODEL_FILES_H

#include "formats_helpers.h"

#include "base/random.h"
#include "formats/llama/llama.h"
#include "formats/model_file.h"

/* The places of the formats in model_formats. */
enum { MODEL_TINYLM, MODEL_HUGGINGFACE, MODEL_GGUF, MODEL_LLAMA2C, MODEL_FORMAT_COUNT };

static inline ModelConfig small_config(void) {
    return (ModelConfig){.vocab_size = 270,
                         .context_length = 24,
                         .d_model = 32,
                         .num_layers = 2,
                         .num_heads = 4,
                         .num_kv_heads = 4,
                         .d_ff = 48,
                         .norm = NORM_PRE,
                         .norm_eps = 1e-5,
                         .ffn = FFN_SWIGLU,
                         .position = {.type = POSITION_ROPE, .base = 10000, .fraction = 1}};
}

/* Weights that float32 holds exactly, norms included. */
static inline Model *small_model(const ModelConfig *config) {
    Error error;
    Model *model = model_create(config, false, &error);
    if (!model) fail_msg("%s", error.message);
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        for (int64_t k = 0; k < parameter_size(part); k++)
            model->parameters.values[part->offset + k] =
                (real)(float)(random_uniform(1, RANDOM_TEST, (uint64_t)(i << 32 | k)) - 0.4);
    }
    return model;
}

/* <|endoftext|>, the bytes, and merges for " the", "and", "ab", "abab". 270 ids at most. */
static inline Tokenizer *small_tokenizer(void) {
    Error error = {""};
    Tokenizer *bpe = tokenizer_new();
    static const char *const pairs[][2] = {{"t", "h"},   {"th", "e"},     {" ", "the"},
                                           {"n", "d"},   {"a", "nd"},     {"a", "b"},
                                           {"ab", "ab"}, {"\xc3", "\xa9"}};
    bool good = tokenizer_add_token(bpe, 0, (const uint8_t *)"<|endoftext|>", 13, &error) &&
                tokenizer_add_special(bpe, "<|endoftext|>", &error);
    for (int i = 0; i < 256 && good; i++)
        good = tokenizer_add_token(bpe, 1 + i, &(uint8_t){(uint8_t)i}, 1, &error);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && good; i++) {
        const char *left = pairs[i][0], *right = pairs[i][1];
        char *both = string_format("%s%s", left, right);
        good =
            tokenizer_add_token(bpe, (int64_t)(257 + i), (uint8_t *)both, strlen(both), &error) &&
            tokenizer_add_merge(bpe, tokenizer_find(bpe, (const uint8_t *)left, strlen(left)),
                                tokenizer_find(bpe, (const uint8_t *)right, strlen(right)), &error);
        free(both);
    }
    if (!good) fail_msg("%s", error.message);
    return bpe;
}

static inline ModelFile small_file(const ModelConfig *config, bool with_tokenizer) {
    ModelFile file = {.model = small_model(config), .path = string_copy("memory")};
    if (with_tokenizer) model_tokenizer_take(&file.tokenizer, small_tokenizer(), NULL);
    return file;
}

static inline void write_model(ModelFile *file, int format, const char *path) {
    Error error = {""};
    if (!model_file_write(file, model_formats[format], path, false, &error))
        fail_msg("%s", error.message);
}

static inline ModelFile read_model(const char *path) {
    ModelFile file;
    Error error = {""};
    if (!model_file_read(&file, path, NULL, &error)) fail_msg("%s", error.message);
    return file;
}

static inline void refuse_reading(const char *path, const char *part_of_message) {
    ModelFile file;
    Error error = {""};
    if (model_file_read(&file, path, NULL, &error))
        fail_msg("%s: read, though it should say '%s'", path, part_of_message);
    if (!strstr(error.message, part_of_message))
        fail_msg("'%s' does not say '%s'", error.message, part_of_message);
}

static inline void refuse_writing(const ModelConfig *config, int format,
                                  const char *part_of_message) {
    ModelFile file = small_file(config, false);
    Error error = {""};
    const char *path = scratch_path("refused");
    assert_false(model_file_write(&file, model_formats[format], path, false, &error));
    if (!strstr(error.message, part_of_message) || !strstr(error.message, path))
        fail_msg("'%s' does not say '%s'", error.message, part_of_message);
    assert_int_equal(access(path, F_OK), -1);
    model_file_free(&file);
}

/* The same numbers in every tensor, when both are brought into the same row order. */
static inline void assert_same_weights(const Model *a, const Model *b) {
    real *x = llama_values(a, LAYOUT_HALF), *y = llama_values(b, LAYOUT_HALF);
    assert_int_equal(a->parameters.part_count, b->parameters.part_count);
    assert_int_equal(a->parameters.size, b->parameters.size);
    for (int64_t i = 0; i < a->parameters.part_count; i++) {
        const Parameter *part = &a->parameters.parts[i];
        assert_string_equal(part->name, b->parameters.parts[i].name);
        if (memcmp(x + part->offset, y + part->offset, (size_t)parameter_size(part) * sizeof *x) !=
            0)
            fail_msg("%s differs", part->name);
    }
    free(x);
    free(y);
}

static inline void assert_same_bytes(const char *path, const char *other) {
    size_t size, other_size;
    char *bytes = read_bytes(path, &size), *other_bytes = read_bytes(other, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(bytes, other_bytes, size);
    free(bytes);
    free(other_bytes);
}

#endif
