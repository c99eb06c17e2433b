/* GGUF files of architecture "llama" as models. */
#include "formats/gguf_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/half.h"
#include "formats/llama_names.h"
#include "model/position_tables.h"

/* ---- hyperparameters ---- */

/* Looks keys up; after the first error everything else is skipped. */
typedef struct KeyReader {
    const Gguf *gguf;
    const char *path;
    Error *error;
    bool failed;
} KeyReader;

static void key_error(KeyReader *reader, const char *key, const char *what) {
    if (!reader->failed) error_set(reader->error, "%s: the key '%s' %s", reader->path, key, what);
    reader->failed = true;
}

/* A whole number from 1 to `high`; `fallback` when absent, 0 meaning that it must be there. */
static int64_t key_whole(KeyReader *reader, const char *key, int64_t fallback, int64_t high) {
    const GgufValue *value = gguf_value(reader->gguf, key);
    int64_t number;
    if (!value) {
        if (fallback == 0) key_error(reader, key, "is missing");
        return fallback;
    }
    if (value->type == GGUF_ARRAY || !gguf_integer(value, 0, &number) || number < 1 ||
        number > high) {
        key_error(reader, key, "is no whole number in a possible range");
        return 1;
    }
    return number;
}

static double key_real(KeyReader *reader, const char *key, double fallback) {
    const GgufValue *value = gguf_value(reader->gguf, key);
    double number;
    if (!value) {
        if (fallback == 0) key_error(reader, key, "is missing");
        return fallback;
    }
    if (value->type == GGUF_ARRAY || !gguf_number(value, 0, &number) || !(number > 0) ||
        !isfinite(number)) {
        key_error(reader, key, "is no positive number");
        return 1;
    }
    return number;
}

static bool key_is(const Gguf *gguf, const char *key, const char *text) {
    const GgufValue *value = gguf_value(gguf, key);
    GgufString string;
    return value && gguf_string(value, &string) && gguf_string_equal(string, text);
}

/* The float32 next to the decimal that was meant: 1e-5 and not 9.99999975e-6. */
static double tidy(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.7g", value);
    double short_value = strtod(text, NULL);
    return (float)short_value == (float)value ? short_value : value;
}

static void read_llama3(KeyReader *keys, RopeScaling *scaling) {
    scaling->type = ROPE_SCALING_LLAMA3;
    scaling->factor = tidy(key_real(keys, GGUF_LLAMA3_FACTOR, 0));
    scaling->low_freq_factor = tidy(key_real(keys, GGUF_LLAMA3_LOW, 0));
    scaling->high_freq_factor = tidy(key_real(keys, GGUF_LLAMA3_HIGH, 0));
    scaling->original_context = key_whole(keys, GGUF_LLAMA3_CONTEXT, 0, 1 << 30);
}

/* As llama.cpp: a factor without a type means linear. */
static void read_scaling(KeyReader *keys, ModelConfig *config) {
    RopeScaling *scaling = &config->position.scaling;
    const Gguf *gguf = keys->gguf;
    static const char type_key[] = "llama.rope.scaling.type";
    if (gguf_tensor(gguf, "rope_freqs.weight")) {
        if (gguf_value(gguf, GGUF_LLAMA3_FACTOR))
            read_llama3(keys, scaling);
        else
            key_error(keys, type_key,
                      "cannot be told: the file scales its frequencies by the tensor "
                      "rope_freqs.weight, which is not supported");
        return;
    }
    bool yarn = key_is(gguf, type_key, "yarn");
    double factor = key_real(keys, "llama.rope.scale_linear", 1);
    factor = tidy(key_real(keys, "llama.rope.scaling.factor", factor));
    if (key_is(gguf, type_key, "none")) return;
    if (gguf_value(gguf, type_key) && !yarn && !key_is(gguf, type_key, "linear")) {
        key_error(keys, type_key, "is of a kind that is not supported; none, linear and yarn are");
        return;
    }
    if (!yarn && factor == 1) return;
    *scaling = (RopeScaling){.type = yarn ? ROPE_SCALING_YARN : ROPE_SCALING_LINEAR,
                             .factor = factor,
                             .original_context = config->context_length};
    if (!yarn) return;
    scaling->original_context = key_whole(keys, "llama.rope.scaling.original_context_length",
                                          config->context_length, 1 << 30);
    scaling->beta_fast = tidy(key_real(keys, "llama.rope.scaling.yarn_beta_fast", 32));
    scaling->beta_slow = tidy(key_real(keys, "llama.rope.scaling.yarn_beta_slow", 1));
    /* what our formula does not have; 1 is llama.cpp's default for all of them */
    static const char *const factors[] = {"llama.rope.scaling.attn_factor",
                                          "llama.rope.scaling.yarn_attn_factor",
                                          "llama.rope.scaling.yarn_ext_factor"};
    for (int i = 0; i < 3; i++)
        if (key_real(keys, factors[i], 1) != 1)
            key_error(keys, factors[i], "is not 1; such models are not supported");
    if (gguf_value(gguf, "llama.rope.scaling.yarn_log_multiplier"))
        key_error(keys, "llama.rope.scaling.yarn_log_multiplier", "is not supported");
}

static bool read_config(const Gguf *gguf, ModelConfig *config, const char *path, Error *error) {
    KeyReader keys = {gguf, path, error, false};
    const GgufTensor *table = gguf_tensor(gguf, "token_embd.weight");
    if (!key_is(gguf, "general.architecture", "llama"))
        return error_set(
            error, "%s: its general.architecture is not \"llama\", the only one supported", path);
    if (!table || table->rank != 2 || table->shape[0] < 1 || table->shape[0] > 1 << 24)
        return error_set(error, "%s: has no usable tensor 'token_embd.weight'", path);
    *config = (ModelConfig){.norm = NORM_PRE, .ffn = FFN_SWIGLU, .vocab_size = table->shape[0]};
    config->tie_embeddings = gguf_tensor(gguf, "output.weight") == NULL;
    config->context_length = key_whole(&keys, "llama.context_length", 0, 1 << 20);
    config->d_model = key_whole(&keys, "llama.embedding_length", 0, 1 << 20);
    config->num_layers = key_whole(&keys, "llama.block_count", 0, 10000);
    config->d_ff = key_whole(&keys, "llama.feed_forward_length", 0, 1 << 22);
    config->num_heads = key_whole(&keys, "llama.attention.head_count", 0, 1 << 16);
    config->num_kv_heads =
        key_whole(&keys, "llama.attention.head_count_kv", config->num_heads, 1 << 16);
    config->norm_eps = tidy(key_real(&keys, "llama.attention.layer_norm_rms_epsilon", 0));
    config->position =
        (PositionConfig){.type = POSITION_ROPE, .layout = LAYOUT_INTERLEAVED, .fraction = 1};
    config->position.base = tidy(key_real(&keys, "llama.rope.freq_base", 10000));
    read_scaling(&keys, config);
    if (config->num_layers > gguf->tensor_count)
        key_error(&keys, "llama.block_count", "is larger than the number of tensors");
    if (keys.failed || !llama_check_numbers(config, path, error)) return false;
    static const char *const head_sizes[] = {
        "llama.rope.dimension_count", "llama.attention.key_length", "llama.attention.value_length"};
    int64_t d_head = config->d_model / config->num_heads;
    for (int i = 0; i < 3; i++)
        if (key_whole(&keys, head_sizes[i], d_head, 1 << 20) != d_head)
            key_error(&keys, head_sizes[i],
                      "is not embedding_length / head_count; such models are "
                      "not supported");
    return !keys.failed;
}

/* ---- tensors ---- */

static bool check_tensors(const Gguf *gguf, const Model *model, const char *path, Error *error) {
    int64_t found = gguf_tensor(gguf, "rope_freqs.weight") ? 1 : 0;
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        char name[LLAMA_NAME_SIZE];
        llama_name(part->name, LLAMA_GGUF, name);
        const GgufTensor *tensor = gguf_tensor(gguf, name);
        if (!tensor) return error_set(error, "%s: the tensor '%s' is missing", path, name);
        if (!llama_same_shape(tensor->rank, tensor->shape, part))
            return llama_shape_error(path, name, tensor->rank, tensor->shape, part, error);
        if (tensor->type != GGUF_TENSOR_F32 && tensor->type != GGUF_TENSOR_F16 &&
            tensor->type != GGUF_TENSOR_BF16)
            return error_set(error, "%s: the tensor '%s' has type %s; F32, F16 and BF16 are read",
                             path, name, gguf_tensor_type_name(tensor->type));
        found++;
    }
    if (found != gguf->tensor_count)
        return error_set(error,
                         "%s: has %lld tensors that a plain Llama model has no place for "
                         "(biases, experts, …); it cannot be read",
                         path, (long long)(gguf->tensor_count - found));
    return true;
}

static bool read_model(ModelFile *file, const Gguf *gguf, const char *path, Error *error) {
    ModelConfig config;
    if (!gguf_tokenizer_read(file, gguf, path, error) || !read_config(gguf, &config, path, error))
        return false;
    file->model = model_create(&config, true, error);
    if (!file->model || !check_tensors(gguf, file->model, path, error) ||
        !parameters_allocate(&file->model->parameters, error))
        return false;
    Parameters *parameters = &file->model->parameters;
    for (int64_t i = 0; i < parameters->part_count; i++) {
        char name[LLAMA_NAME_SIZE];
        llama_name(parameters->parts[i].name, LLAMA_GGUF, name);
        gguf_to_real(gguf_tensor(gguf, name), parameters->values + parameters->parts[i].offset);
    }
    return true;
}

bool gguf_model_parse(ModelFile *file, const void *data, size_t size, const char *name,
                      Error *error) {
    Gguf gguf;
    if (!gguf_parse(&gguf, data, size, name, error)) return false;
    bool read = read_model(file, &gguf, name, error);
    gguf_close(&gguf);
    return read;
}

bool gguf_model_read(ModelFile *file, const char *path, Error *error) {
    MappedFile map;
    if (!file_map(&map, path, error)) return false;
    bool read = gguf_model_parse(file, map.data, map.size, path, error);
    file_unmap(&map);
    return read;
}

/* ---- writing ---- */

static void add_scaling(GgufWriter *writer, const RopeScaling *scaling) {
    static const char type_key[] = "llama.rope.scaling.type";
    switch (scaling->type) {
    case ROPE_SCALING_LINEAR:
        gguf_add_string(writer, type_key, "linear");
        gguf_add_float32(writer, "llama.rope.scaling.factor", (float)scaling->factor);
        break;
    case ROPE_SCALING_YARN:
        gguf_add_string(writer, type_key, "yarn");
        gguf_add_float32(writer, "llama.rope.scaling.factor", (float)scaling->factor);
        gguf_add_uint32(writer, "llama.rope.scaling.original_context_length",
                        (uint32_t)scaling->original_context);
        gguf_add_float32(writer, "llama.rope.scaling.yarn_beta_fast", (float)scaling->beta_fast);
        gguf_add_float32(writer, "llama.rope.scaling.yarn_beta_slow", (float)scaling->beta_slow);
        break;
    case ROPE_SCALING_LLAMA3:
        gguf_add_float32(writer, GGUF_LLAMA3_FACTOR, (float)scaling->factor);
        gguf_add_float32(writer, GGUF_LLAMA3_LOW, (float)scaling->low_freq_factor);
        gguf_add_float32(writer, GGUF_LLAMA3_HIGH, (float)scaling->high_freq_factor);
        gguf_add_uint32(writer, GGUF_LLAMA3_CONTEXT, (uint32_t)scaling->original_context);
        break;
    default:
        break;
    }
}

static void add_config(GgufWriter *writer, const ModelConfig *config, bool half) {
    uint32_t d_head = (uint32_t)(config->d_model / config->num_heads);
    gguf_add_string(writer, "general.architecture", "llama");
    gguf_add_string(writer, "general.name", "tinylm");
    gguf_add_uint32(writer, "general.file_type", half ? 1 : 0);
    gguf_add_uint32(writer, "llama.vocab_size", (uint32_t)config->vocab_size);
    gguf_add_uint32(writer, "llama.context_length", (uint32_t)config->context_length);
    gguf_add_uint32(writer, "llama.embedding_length", (uint32_t)config->d_model);
    gguf_add_uint32(writer, "llama.block_count", (uint32_t)config->num_layers);
    gguf_add_uint32(writer, "llama.feed_forward_length", (uint32_t)config->d_ff);
    gguf_add_uint32(writer, "llama.attention.head_count", (uint32_t)config->num_heads);
    gguf_add_uint32(writer, "llama.attention.head_count_kv", (uint32_t)config->num_kv_heads);
    gguf_add_float32(writer, "llama.attention.layer_norm_rms_epsilon", (float)config->norm_eps);
    gguf_add_uint32(writer, "llama.rope.dimension_count", d_head);
    gguf_add_float32(writer, "llama.rope.freq_base", (float)llama_rope_base(config));
    add_scaling(writer, &config->position.scaling);
}

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

static bool write_model(const ModelFile *file, GgufWriter *writer, const char *path, bool half,
                        Error *error) {
    const Model *model = file->model;
    int64_t pairs = model->config.d_model / model->config.num_heads / 2;
    bool scaled = model->config.position.scaling.type == ROPE_SCALING_LLAMA3;
    real *values = llama_values(model, LAYOUT_INTERLEAVED);
    real *factors = scaled ? rope_factors(&model->config) : NULL;
    if (scaled) gguf_add_tensor(writer, "rope_freqs.weight", GGUF_TENSOR_F32, 1, &pairs, factors);
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        char name[LLAMA_NAME_SIZE];
        llama_name(part->name, LLAMA_GGUF, name);
        /* llama.cpp wants vectors in float32 whatever the matrices are */
        uint32_t type = half && part->rank == 2 ? GGUF_TENSOR_F16 : GGUF_TENSOR_F32;
        gguf_add_tensor(writer, name, type, part->rank, part->shape, values + part->offset);
    }
    bool written = gguf_write(writer, path, error);
    free(factors);
    free(values);
    return written;
}

bool gguf_model_write(ModelFile *file, const char *path, bool half, Error *error) {
    const ModelConfig *config = &file->model->config;
    if (!llama_check(config, path, error)) return false;
    if (config->position.scaling.type == ROPE_SCALING_DYNAMIC_NTK)
        return error_set(error, "%s: GGUF has no dynamic NTK scaling of positions", path);
    if (config->d_model / config->num_heads < 2)
        return error_set(error, "%s: heads of one element have no positions in GGUF", path);
    if (half && !fits_half(file->model, path, error)) return false;
    GgufWriter *writer = gguf_writer_new();
    add_config(writer, config, half);
    gguf_tokenizer_write(file, writer);
    bool written = write_model(file, writer, path, half, error);
    gguf_writer_free(writer);
    return written;
}
