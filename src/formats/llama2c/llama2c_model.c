/* Legacy files of llama2.c (its export version 0, what `run` reads).
 *
 * Seven int32: dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len; a negative
 * vocab_size says that the head is separate. Then float32: the embeddings; each kind of tensor for
 * all layers: rms_att, wq, wk, wv, wo, rms_ffn, w1, w2, w3; the final norm; two tables of cosines and
 * sines that are no longer read; the head if separate. theta is 10000 and eps 1e-5. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "formats/llama/llama.h"
#include "formats/llama/llama_keys.h"
#include "formats/model_format.h"

/* In the order of the first rows of llama_keys. */
typedef int32_t Header[LLAMA_HEADER];
enum { VOCABULARY = 5 };

static const double THETA = 10000, EPS = 1e-5;

static int64_t table_size(const ModelConfig *config) {
    return config->context_length * (config->d_model / config->num_heads / 2);
}

/* The tables stand before the head, or last. */
static bool is_head(const Parameter *part) {
    return strcmp(part->name, "lm_head.weight") == 0;
}

/* ---- reading ---- */

/* Where a number of the header lies in the config. */
static int64_t *header_field(const ModelConfig *config, int index) {
    return (int64_t *)((char *)(uintptr_t)config + llama_keys[index].offset);
}

static bool read_config(const void *data, size_t size, ModelConfig *config, const char *path,
                        Error *error) {
    Header header;
    if (size < sizeof header)
        return error_set(error, "%s: is too short for a llama2.c model", path);
    memcpy(header, data, sizeof header);
    *config = llama_empty_config(LAYOUT_INTERLEAVED);
    config->norm_eps = EPS;
    config->position.base = THETA;
    config->tie_embeddings = header[VOCABULARY] > 0;
    bool possible = true;
    for (int i = 0; i < LLAMA_HEADER; i++) {
        int64_t value = i == VOCABULARY && header[i] < 0 ? -(int64_t)header[i] : header[i];
        possible = possible && interval_contains(llama_keys[i].allowed, (double)value);
        *header_field(config, i) = value;
    }
    if (!possible || (size_t)config->num_layers > size / 4)
        return error_set(error,
                         "%s: its header has impossible numbers; this is no llama2.c model of "
                         "the legacy format, or it is damaged",
                         path);
    KeysReader reader = {.file = path, .error = error};
    return model_config_check(config, &reader);
}

/* Whether `bytes` is what a file of this model has, wrap-around impossible. */
static bool check_size(const Model *model, size_t bytes, const char *path, Error *error) {
    int64_t numbers = parameters_total(&model->parameters) + 2 * table_size(&model->config);
    uint64_t expected = sizeof(Header) + 4 * (uint64_t)numbers;
    if (expected == bytes) return true;
    return error_set(error,
                     "%s: has %zu bytes, and a model of its header has %llu; it is cut short or "
                     "damaged, or of a newer llama2.c format",
                     path, bytes, (unsigned long long)expected);
}

/* "DIR/stories-tokenizer.bin" for DIR/stories.bin, to be freed. */
static char *own_tokenizer_path(const char *model_path) {
    size_t length = strlen(model_path) - (path_ends_with(model_path, ".bin") ? 4 : 0);
    return string_format("%.*s-tokenizer.bin", (int)length, model_path);
}

/* Beside the model: its own, tokenizer.bin, or tok512.bin for a vocabulary of 512 (the latter two are
 * llama2.c's names). */
static void find_tokenizer(ModelFile *file) {
    long long size = (long long)file->model->config.vocab_size;
    char *directory = path_directory(file->path), *name = string_format("tok%lld.bin", size);
    char *paths[3] = {own_tokenizer_path(file->path), path_join(directory, "tokenizer.bin"),
                      path_join(directory, name)};
    Error error = {""};
    for (int i = 0; i < 3; i++) {
        if (!file->tokenizer.pieces && file_exists(paths[i]))
            file->tokenizer.pieces = llama2c_tokenizer_read(paths[i], size, &error);
        free(paths[i]);
    }
    if (!file->tokenizer.pieces)
        model_file_warn(file, "only ids can be used: %s",
                        *error.message ? error.message
                                       : "there is no tokenizer.bin beside the model");
    free(name);
    free(directory);
}

static bool parse(ModelFile *file, const void *data, size_t size, const char *name,
                  const char *tokenizer, Error *error) {
    ModelConfig config;
    if (!read_config(data, size, &config, name, error)) return false;
    file->model = model_create(&config, true, error);
    if (!file->model || !check_size(file->model, size, name, error) ||
        !parameters_allocate(&file->model->parameters, error))
        return false;
    const uint8_t *at = (const uint8_t *)data + sizeof(Header);
    const Parameter **order = llama_file_order(file->model);
    for (int64_t i = 0; i < file->model->parameters.part_count; i++) {
        if (is_head(order[i])) at += 4 * 2 * table_size(&config);
        StoredTensor tensor = {.type = NUMBER_F32, .data = at, .count = parameter_size(order[i])};
        stored_tensor_to_real(&tensor, file->model->parameters.values + order[i]->offset);
        at += 4 * tensor.count;
    }
    free(order);
    if (tokenizer)
        file->tokenizer.pieces = llama2c_tokenizer_read(tokenizer, config.vocab_size, error);
    else if (file->path)
        find_tokenizer(file);
    return !tokenizer || file->tokenizer.pieces;
}

/* ---- writing: byte-level BPE as scored pieces ---- */

/* A vocabulary in llama2.c's order, and which row of the model each id takes: -1 for none. */
typedef struct Vocabulary {
    Llama2cPiece *pieces;
    int64_t *rows, count;
} Vocabulary;

static void add_piece(Vocabulary *list, const void *bytes, size_t length, float score,
                      int64_t row) {
    list->rows[list->count] = row;
    list->pieces[list->count++] = (Llama2cPiece){(uint8_t *)(uintptr_t)bytes, length, score};
}

/* `run` needs <unk>, <s>, </s>, then the 256 bytes in order; then come all other tokens. The id that
 * begins our texts is <s>; one of its own that ends them is </s>. Single bytes are stored as themselves,
 * so that `run` finds them and merges them like ours; NUL, which would be an empty C string, as "<0x00>".
 * Scores fall with the rank of the merge; a token that no merge makes (<unk>, another special token) is
 * never merged: no text spells it. The bytes are the tokenizer's. */
static Vocabulary make_vocabulary(const ModelTokenizer *tokenizer) {
    static uint8_t bytes_in_order[256];
    const Tokenizer *bpe = tokenizer->bpe;
    int64_t size = tokenizer_vocab_size(bpe), start = tokenizer->start;
    int64_t end = model_tokenizer_end(tokenizer);
    if (end >= size) end = -1; /* a row without a token */
    size_t most = (size_t)size + LLAMA2C_FIRST_BYTE + 256;
    Vocabulary list = {allocate(most, sizeof *list.pieces), allocate(most, sizeof *list.rows), 0};
    float *scores = allocate((size_t)size, sizeof *scores);
    for (int64_t i = 0; i < size; i++) scores[i] = LLAMA2C_NEVER_MERGED;
    for (int64_t i = bpe->merge_count - 1; i >= 0; i--) scores[bpe->merges[i].result] = -(float)i;
    add_piece(&list, "<unk>", 5, LLAMA2C_NEVER_MERGED, -1);
    add_piece(&list, "\n<s>\n", 5, LLAMA2C_NEVER_MERGED, start);
    add_piece(&list, "\n</s>\n", 6, LLAMA2C_NEVER_MERGED, end == start ? -1 : end);
    for (int byte = 0; byte < 256; byte++) {
        uint32_t id = bpe->id_of_byte[byte];
        bytes_in_order[byte] = (uint8_t)byte;
        add_piece(&list, byte ? (const void *)&bytes_in_order[byte] : "<0x00>", byte ? 1 : 6, 0,
                  id == TOKEN_NONE ? -1 : (int64_t)id);
    }
    for (int64_t id = 0; id < size; id++) {
        size_t length;
        const uint8_t *bytes = tokenizer_token(bpe, (uint32_t)id, &length);
        bool is_byte = bytes && length == 1 && bpe->id_of_byte[*bytes] == id;
        if (bytes && !is_byte && id != start && id != end)
            add_piece(&list, bytes, length, scores[id], id);
    }
    free(scores);
    return list;
}

/* ---- writing ---- */

typedef struct Output {
    FILE *stream;
    const real *values;  /* interleaved */
    const int64_t *rows; /* new id → row of the model, -1: none; NULL: as they are */
    int64_t row_count;
    int64_t rare_row; /* stands in for rows that the model does not have */
} Output;

static void write_tables(FILE *stream, const ModelConfig *config) {
    int64_t pairs = config->d_model / config->num_heads / 2;
    for (int sine = 0; sine < 2; sine++)
        for (int64_t position = 0; position < config->context_length; position++)
            for (int64_t i = 0; i < pairs; i++) {
                double angle = (double)position * pow(THETA, -(double)i / (double)pairs);
                float value = (float)(sine ? sin(angle) : cos(angle));
                fwrite(&value, sizeof value, 1, stream);
            }
}

static void write_tensor(const Output *output, const Parameter *part) {
    const real *values = output->values + part->offset;
    bool by_id = is_head(part) || strcmp(part->name, "token_embeddings.weight") == 0;
    if (!by_id || !output->rows) {
        write_reals(output->stream, NUMBER_F32, values, parameter_size(part));
        return;
    }
    for (int64_t i = 0; i < output->row_count; i++) {
        int64_t row = output->rows[i] >= 0 ? output->rows[i] : output->rare_row;
        write_reals(output->stream, NUMBER_F32, values + row * part->shape[1], part->shape[1]);
    }
}

static bool check(const ModelFile *file, const char *path, bool half, Error *error) {
    const ModelConfig *config = &file->model->config;
    if (!llama_check(file, path, half, error)) return false;
    if (config->position.base != THETA || config->position.scaling.type != ROPE_SCALING_NONE)
        return error_set(error,
                         "%s: llama2.c files have rotary positions with theta 10000 and no "
                         "scaling; this model has others",
                         path);
    if (fabs(config->norm_eps - EPS) > 1e-7 * EPS)
        return error_set(error, "%s: llama2.c files have a norm_eps of 1e-5, and the model %g",
                         path, config->norm_eps);
    return true;
}

static bool write_numbers(const ModelFile *file, Output *output, const char *path, Error *error) {
    const ModelConfig *config = &file->model->config;
    Header header;
    for (int i = 0; i < LLAMA_HEADER; i++) header[i] = (int32_t)*header_field(config, i);
    header[VOCABULARY] = (int32_t)(config->tie_embeddings ? output->row_count : -output->row_count);
    FileWriter writer;
    if (!file_writer_open(&writer, path, error)) return false;
    output->stream = writer.stream;
    fwrite(header, sizeof header, 1, writer.stream);
    const Parameter **order = llama_file_order(file->model);
    for (int64_t i = 0; i < file->model->parameters.part_count; i++) {
        if (is_head(order[i])) write_tables(writer.stream, config);
        write_tensor(output, order[i]);
    }
    if (config->tie_embeddings) write_tables(writer.stream, config);
    free(order);
    return file_writer_commit(&writer, NULL, error);
}

/* Whether two files hold the same bytes. */
static bool same_content(const char *path, const char *other) {
    MappedFile a, b;
    Error ignored;
    if (!file_map(&a, path, &ignored)) return false;
    bool mapped = file_map(&b, other, &ignored);
    bool same = mapped && a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
    if (mapped) file_unmap(&b);
    file_unmap(&a);
    return same;
}

/* Renames the model's own tokenizer file to tokenizer.bin, where llama2.c looks for it; if that is
 * another model's tokenizer already, both stay as they are. */
static bool place_tokenizer(ModelFile *file, const char *own, Error *error) {
    char *directory = path_directory(own), *shared = path_join(directory, "tokenizer.bin");
    bool placed = true;
    if (file_exists(shared) && !same_content(own, shared))
        model_file_warn(file,
                        "%s belongs to another model and was not changed; this model's tokenizer "
                        "is %s (llama2.c: run -z)",
                        shared, own);
    else if (rename(own, shared) != 0)
        placed = error_set(error, "%s: cannot be written", shared);
    free(shared);
    free(directory);
    return placed;
}

/* The tokenizer is written before the model, since a model without one would look complete, and gets
 * its final name after it. If either cannot be written, neither remains. */
static bool write_files(ModelFile *file, Output *output, const Llama2cTokenizer *pieces,
                        const char *path, Error *error) {
    if (!pieces) return write_numbers(file, output, path, error);
    char *own = own_tokenizer_path(path);
    bool written = llama2c_tokenizer_write(pieces, own, error);
    if (written) {
        written = write_numbers(file, output, path, error) && place_tokenizer(file, own, error);
        if (!written) unlink(own);
    }
    free(own);
    return written;
}

static bool write_model(ModelFile *file, const char *path, bool half, Error *error) {
    (void)half;
    const ModelTokenizer *tokenizer = &file->tokenizer;
    const Tokenizer *bpe = tokenizer->bpe;
    if (tokenizer->end_count > 1)
        model_file_warn(
            file, "its texts end with any of %d tokens; llama2.c has one, the others are lost",
            tokenizer->end_count);
    Vocabulary list = {0};
    if (bpe) list = make_vocabulary(tokenizer);
    Llama2cTokenizer *pieces = bpe ? llama2c_tokenizer_new(list.pieces, list.count, error) : NULL;
    real *values = llama_values(file->model, LAYOUT_INTERLEAVED);
    Output output = {.values = values,
                     .rows = list.rows,
                     .row_count = bpe ? list.count : file->model->config.vocab_size};
    /* 0xFF occurs in no text, so training has made its logit as low as any */
    if (bpe && bpe->id_of_byte[0xFF] != TOKEN_NONE) output.rare_row = bpe->id_of_byte[0xFF];
    bool good = (pieces || !bpe) &&
                write_files(file, &output, pieces ? pieces : tokenizer->pieces, path, error);
    free(values);
    llama2c_tokenizer_free(pieces);
    free(list.pieces);
    free(list.rows);
    return good;
}

/* ---- the format ---- */

static bool detect(const ModelClues *clues) {
    return clues->start && path_ends_with(clues->path, ".bin");
}

const ModelFormat llama2c_format = {.name = "llama2c",
                                    .ending = ".bin",
                                    .detect = detect,
                                    .parse = parse,
                                    .check = check,
                                    .write = write_model};
