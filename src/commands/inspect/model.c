/* ./inspect model PATH: what is in a model file of any format. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "commands/inspect/inspect.h"
#include "commands/options.h"
#include "formats/gguf/gguf.h"
#include "formats/model_file.h"
#include "formats/model_weights.h"
#include "formats/huggingface/safetensors_shards.h"

/* The tensors as they stand in the file, so that types this program cannot run are listed too. */
typedef struct Listing {
    StoredTensors tensors;
    SafetensorsShards shards; /* what the tensors lie in */
    Gguf gguf;
} Listing;

static void listing_free(Listing *listing) {
    stored_tensors_free(&listing->tensors, true);
    safetensors_shards_close(&listing->shards);
    gguf_close(&listing->gguf);
}

/* ---- collecting ---- */

static void list_file(Listing *listing, const StoredTensors *tensors) {
    for (int64_t i = 0; i < tensors->count; i++)
        stored_tensors_add(&listing->tensors, tensors->items[i].name, tensors->items[i]);
}

static void list_model(Listing *listing, const Parameters *parameters) {
    for (int64_t i = 0; i < parameters->part_count; i++) {
        const Parameter *part = &parameters->parts[i];
        model_weights_add(&listing->tensors, part->name, part, parameters->values);
    }
}

/* GGUF by its first bytes, llama2.c through the model, everything else as safetensors. */
static bool list_tensors(Listing *listing, const char *path, const ModelFile *model, Error *error) {
    MappedFile file = {NULL, 0};
    if (!directory_exists(path) && !file_map(&file, path, error)) return false;
    bool is_gguf = file.size >= 4 && memcmp(file.data, "GGUF", 4) == 0;
    file_unmap(&file);
    if (is_gguf) {
        if (!gguf_open(&listing->gguf, path, error)) return false;
        list_file(listing, &listing->gguf.tensors);
    } else if (model && model->format == &llama2c_format) {
        list_model(listing, &model->model->parameters);
    } else {
        if (!safetensors_shards_open(&listing->shards, path, error)) return false;
        for (int f = 0; f < listing->shards.count; f++)
            list_file(listing, &listing->shards.files[f].tensors);
    }
    return true;
}

/* The tensor's numbers, to be freed; NULL when its type cannot be read. */
static real *read_numbers(const StoredTensor *item) {
    if (!stored_tensor_is_real(item)) return NULL;
    real *numbers = allocate((size_t)item->count, sizeof *numbers);
    stored_tensor_to_real(item, numbers);
    return numbers;
}

/* ---- printing ---- */

static void print_norm(const StoredTensor *item) {
    real *numbers = read_numbers(item);
    double sum = 0;
    int64_t strange = 0;
    for (int64_t i = 0; numbers && i < item->count; i++) {
        sum += (double)numbers[i] * (double)numbers[i];
        strange += !isfinite(numbers[i]);
    }
    if (strange)
        printf("  %" PRId64 " of them not finite", strange);
    else if (numbers)
        printf("  norm %.6g", sqrt(sum));
    free(numbers);
}

static void print_listing(const Listing *listing) {
    size_t bytes = 0;
    int64_t count = 0;
    int widest = 0;
    for (int64_t i = 0; i < listing->tensors.count; i++) {
        text_clean(listing->tensors.items[i].name);
        int width = text_columns(listing->tensors.items[i].name);
        if (width > widest) widest = width < 60 ? width : 60;
    }
    for (int64_t i = 0; i < listing->tensors.count; i++) {
        const StoredTensor *item = &listing->tensors.items[i];
        char *shape = item->rank ? shape_text(item->rank, item->shape) : string_copy("");
        int blanks = widest - text_columns(item->name);
        printf("  %s%*s  %-14s  %-4s  %10zu bytes", item->name, blanks > 0 ? blanks : 0, "", shape,
               number_type_name(item->type), item->bytes);
        free(shape);
        print_norm(item);
        putchar('\n');
        bytes += item->bytes;
        count += item->count;
    }
    printf("%" PRId64 " tensors, %" PRId64 " numbers, %zu bytes\n", listing->tensors.count, count,
           bytes);
}

/* One line per row of the last dimension. */
static int print_values(const Listing *listing, const char *name, const char *path) {
    Error error;
    for (int64_t i = 0; i < listing->tensors.count; i++) {
        const StoredTensor *item = &listing->tensors.items[i];
        if (strcmp(item->name, name) != 0) continue;
        real *numbers = read_numbers(item);
        if (!numbers) {
            error_set(&error, "%s: the tensor '%s' has type %s, whose numbers cannot be read", path,
                      name, number_type_name(item->type));
            return program_failed("inspect model", &error);
        }
        int64_t row = item->rank ? item->shape[item->rank - 1] : 1;
        for (int64_t k = 0; k < item->count; k++)
            printf("%.9g%c", (double)numbers[k], (k + 1) % row ? ' ' : '\n');
        free(numbers);
        return program_done("inspect model");
    }
    error_set(&error, "%s: has no tensor '%s'; without --tensor all are listed", path, name);
    return program_failed("inspect model", &error);
}

static void print_model(const ModelFile *file) {
    const ModelConfig *config = &file->model->config;
    char *text = json_finish(keys_write(model_keys, config), 2);
    printf("format: %s\nmodel: %s", file->format->name, text);
    free(text);
    int64_t total = parameters_total(&file->model->parameters);
    int64_t table = config->vocab_size * config->d_model;
    printf("parameters: %" PRId64 ", %" PRId64 " without the embedding table\n", total,
           total - table);
    if (file->tokenizer.bpe)
        printf("tokenizer: byte-level BPE, %" PRId64 " tokens, %" PRId64 " merges\n",
               tokenizer_vocab_size(file->tokenizer.bpe), file->tokenizer.bpe->merge_count);
    else if (file->tokenizer.pieces)
        printf("tokenizer: llama2.c, %" PRId64 " scored pieces\n", file->tokenizer.pieces->count);
    else
        printf("tokenizer: none that can be used\n");
}

int inspect_model(int argc, char **argv) {
    const char *path = NULL, *tensor = NULL;
    const Option options[] = {
        ARGUMENT("PATH", &path,
                 "a run directory, .safetensors, Hugging Face directory, .gguf or .bin"),
        OPTION_TEXT("--tensor", "NAME", &tensor,
                    "print the values of this tensor and nothing else"),
        OPTIONS_END,
    };
    const Program program = {
        "inspect model",
        "Lists a model file: format, hyperparameters, tensors with shape, type, "
        "size and norm (square root of the sum of squares).",
        "./inspect model runs/tiny", options};
    options_read(&program, argc, argv);

    Error cause, error;
    ModelFile file;
    Listing listing = {0};
    bool runs = model_file_read(&file, path, NULL, &cause);
    if (!list_tensors(&listing, path, runs ? &file : NULL, &error)) {
        if (runs) model_file_free(&file);
        /* what the reader of models found says more than "no safetensors file" about a .bin */
        return program_failed("inspect model", runs ? &error : &cause);
    }
    int status;
    if (tensor) {
        status = print_values(&listing, tensor, path);
    } else {
        if (runs) print_model(&file);
        for (int i = 0; runs && i < file.warning_count; i++)
            print_line(stdout, "note: %s", file.warnings[i]);
        print_listing(&listing);
        /* tensors that make no model this program can run are listed, and then it says why; a lone
         * safetensors file need not be a model */
        bool whole = runs || (listing.shards.count == 1 && !directory_exists(path));
        if (whole && !runs) print_line(stdout, "note: no model: %s", cause.message);
        status = whole ? program_done("inspect model") : program_failed("inspect model", &cause);
    }
    listing_free(&listing);
    if (runs) model_file_free(&file);
    return status;
}
