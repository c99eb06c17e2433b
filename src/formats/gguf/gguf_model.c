/* GGUF files of architecture "llama" as models. */
#include "formats/gguf/gguf_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/half.h"
#include "formats/llama/llama.h"
#include "model/position_tables.h"

/* Refuses a part of a model that llama-gguf-split has split. */
static bool check_whole(const Gguf *gguf, const char *path, Error *error) {
    int64_t count = gguf_whole(gguf, "split.count", 0);
    if (count < 2) return true;
    return error_set(error,
                     "%s: is part %lld of %lld of a split GGUF; join the parts first: "
                     "llama-gguf-split --merge FIRST-PART.gguf WHOLE.gguf",
                     path, (long long)gguf_whole(gguf, "split.no", 0) + 1, (long long)count);
}

/* The tokens at which llama.cpp ends a text: of the end, of a turn, of a message. */
static const char *const END_KEYS[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
enum { END_KEY_COUNT = sizeof END_KEYS / sizeof *END_KEYS };

static void read_ends(ModelFile *file, const Gguf *gguf) {
    int64_t ids[END_KEY_COUNT];
    for (int i = 0; i < END_KEY_COUNT; i++) {
        ids[i] = gguf_whole(gguf, END_KEYS[i], -1);
        if (ids[i] >= file->model->config.vocab_size) ids[i] = -1;
    }
    model_tokenizer_set_ends(&file->tokenizer, ids, END_KEY_COUNT);
}

static void add_ends(ModelFile *file, GgufWriter *writer) {
    const ModelTokenizer *tokenizer = &file->tokenizer;
    int64_t usual = model_tokenizer_end(tokenizer);
    if (usual >= 0) gguf_add_uint32(writer, END_KEYS[0], (uint32_t)usual);
    for (int i = 1; i < tokenizer->end_count && i < END_KEY_COUNT; i++)
        gguf_add_uint32(writer, END_KEYS[i], (uint32_t)tokenizer->ends[i]);
    if (tokenizer->end_count > END_KEY_COUNT)
        model_file_warn(file,
                        "its texts end with any of %d tokens; GGUF has room for the first %d, the "
                        "others are lost",
                        tokenizer->end_count, END_KEY_COUNT);
}

static bool read_gguf(ModelFile *file, const Gguf *gguf, const char *path, const char *tokenizer,
                      Error *error) {
    static const char *const others[] = {"rope_freqs.weight", NULL};
    ModelConfig config;
    WeightSource source = {&gguf->tensors, path, llama_gguf_name, others, false};
    if (!check_whole(gguf, path, error) || !gguf_config_read(file, gguf, &config, path, error) ||
        !(tokenizer ? model_file_load_tokenizer(file, tokenizer, NULL, error)
                    : gguf_tokenizer_read(file, gguf, path, error)))
        return false;
    file->model = model_create(&config, true, error);
    if (!file->model || !model_weights_take(file->model, &source, error)) return false;
    read_ends(file, gguf);
    return true;
}

static bool parse(ModelFile *file, const void *data, size_t size, const char *path,
                  const char *tokenizer, Error *error) {
    Gguf gguf;
    if (!gguf_parse(&gguf, data, size, path, error)) return false;
    bool good = read_gguf(file, &gguf, path, tokenizer, error);
    gguf_close(&gguf);
    return good;
}

/* ---- writing ---- */

/* llama.cpp divides each frequency by its factor. */
static real *rope_factors(const ModelConfig *config) {
    int64_t d_head = config->d_model / config->num_heads;
    PositionConfig plain = config->position;
    plain.scaling = (RopeScaling){0};
    double magnitude;
    double *from = allocate((size_t)d_head, sizeof *from), *to = from + d_head / 2;
    position_rope_frequencies(&plain, d_head, config->context_length, 1, from, &magnitude);
    position_rope_frequencies(&config->position, d_head, config->context_length, 1, to, &magnitude);
    real *factors = allocate((size_t)d_head / 2, sizeof *factors);
    for (int64_t i = 0; i < d_head / 2; i++) factors[i] = (real)(from[i] / to[i]);
    free(from);
    return factors;
}

/* Whether no weight becomes infinite as float16. */
static bool fits_half(const Model *model, const char *path, Error *error) {
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        const real *values = model->parameters.values + part->offset;
        for (int64_t k = 0; part->rank == 2 && k < parameter_size(part); k++)
            if (isfinite(values[k]) && isinf(half_to_float(half_from_float((float)values[k]))))
                return error_set(error,
                                 "%s: %s has the weight %g, which is too large for f16; write it "
                                 "as f32",
                                 path, part->name, (double)values[k]);
    }
    return true;
}

static bool check(const ModelFile *file, const char *path, bool half, Error *error) {
    const ModelConfig *config = &file->model->config;
    if (!llama_check(file, path, half, error) || !gguf_tokenizer_check(file, path, error))
        return false;
    if (config->position.scaling.type == ROPE_SCALING_DYNAMIC_NTK)
        return error_set(error, "%s: GGUF has no dynamic NTK scaling of positions", path);
    if (config->d_model / config->num_heads < 2)
        return error_set(error, "%s: heads of one element have no positions in GGUF", path);
    return !half || fits_half(file->model, path, error);
}

static bool write_model(ModelFile *file, const char *path, bool half, Error *error) {
    const Model *model = file->model;
    const ModelConfig *config = &model->config;
    bool scaled = config->position.scaling.type == ROPE_SCALING_LLAMA3;
    real *values = llama_values(model, LAYOUT_INTERLEAVED);
    real *factors = scaled ? rope_factors(config) : NULL;
    int64_t pairs = config->d_model / config->num_heads / 2;
    GgufWriter *writer = gguf_writer_new();
    gguf_config_write(writer, config);
    gguf_add_uint32(writer, "general.file_type", half ? 1 : 0);
    gguf_tokenizer_write(file, writer);
    add_ends(file, writer);
    if (scaled) gguf_add_tensor(writer, "rope_freqs.weight", NUMBER_F32, 1, &pairs, factors);
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        char name[WEIGHT_NAME_SIZE];
        llama_gguf_name(part->name, name);
        /* llama.cpp requires vectors in float32, whatever the type of the matrices */
        NumberType type = half && part->rank == 2 ? NUMBER_F16 : NUMBER_F32;
        gguf_add_tensor(writer, name, type, part->rank, part->shape, values + part->offset);
    }
    bool written = gguf_write(writer, path, error);
    gguf_writer_free(writer);
    free(factors);
    free(values);
    return written;
}

/* ---- the format ---- */

static bool detect(const ModelClues *clues) {
    return (clues->size >= 4 && memcmp(clues->start, "GGUF", 4) == 0) ||
           path_ends_with(clues->path, ".gguf");
}

const ModelFormat gguf_format = {.name = "gguf",
                                 .ending = ".gguf",
                                 .has_f16 = true,
                                 .detect = detect,
                                 .parse = parse,
                                 .check = check,
                                 .write = write_model};
