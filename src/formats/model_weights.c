#include "formats/model_weights.h"

#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "model/position_tables.h"

/* "4096 x 128", for messages. */
static char *shape_text(int rank, const int64_t *shape) {
    char *text = string_copy(rank ? "" : "no dimensions");
    for (int i = 0; i < rank; i++) {
        char *longer = string_format("%s%s%lld", text, i ? " x " : "", (long long)shape[i]);
        free(text);
        text = longer;
    }
    return text;
}

static bool same_shape(const Parameter *part, const SafetensorsTensor *tensor) {
    if (tensor->rank != part->rank) return false;
    for (int i = 0; i < part->rank; i++)
        if (tensor->shape[i] != part->shape[i]) return false;
    return true;
}

/* A learned position table of another length: more rows are interpolated, fewer are the first ones. */
static bool fit_positions(const Parameter *part, const SafetensorsTensor *tensor, real *values) {
    if (strcmp(part->name, "position_embeddings.weight") != 0 || tensor->rank != 2 ||
        tensor->shape[1] != part->shape[1] || tensor->shape[0] < 1)
        return false;
    int64_t rows = tensor->shape[0], new_rows = part->shape[0], C = part->shape[1];
    real *table = allocate((size_t)tensor->count, sizeof *table);
    bool read = safetensors_to_real(tensor, table);
    for (int64_t row = 0; read && row < new_rows; row++) {
        PositionBlend blend = position_stretch(row, rows, new_rows > rows ? new_rows : rows);
        const real *low = table + blend.low * C, *high = blend.fraction > 0 ? low + C : low;
        real fraction = (real)blend.fraction;
        for (int64_t c = 0; c < C; c++)
            values[row * C + c] = (1 - fraction) * low[c] + fraction * high[c];
    }
    free(table);
    return read;
}

static bool load_part(Model *model, const Parameter *part, const Safetensors *file, bool fit,
                      Error *error) {
    const SafetensorsTensor *tensor = safetensors_find(file, part->name);
    if (!tensor && file->count > 0 && strncmp(file->tensors[0].name, "_orig_mod.", 10) == 0)
        return error_set(error,
                         "%s: its names begin with '_orig_mod.', as those of a compiled PyTorch "
                         "model do; save the state_dict of model._orig_mod instead",
                         file->path);
    if (!tensor)
        return error_set(error,
                         "%s: the tensor '%s' is missing; the file belongs to another model config",
                         file->path, part->name);
    if (!same_shape(part, tensor)) {
        if (fit && fit_positions(part, tensor, model->parameters.values + part->offset))
            return true;
        char *found = shape_text(tensor->rank, tensor->shape);
        char *expected = shape_text(part->rank, part->shape);
        error_set(error, "%s: the tensor '%s' is %s, and the model's config asks for %s",
                  file->path, part->name, found, expected);
        free(found);
        free(expected);
        return false;
    }
    if (!safetensors_to_real(tensor, model->parameters.values + part->offset))
        return error_set(error,
                         "%s: the tensor '%s' has type %s; weights are F32, F64, F16 or BF16",
                         file->path, part->name, safetensors_type_name(tensor->type));
    return true;
}

/* The moments that a checkpoint holds beside the weights. */
static bool is_optimizers(const SafetensorsTensor *tensor) {
    return strncmp(tensor->name, "optimizer.", strlen("optimizer.")) == 0;
}

static bool load(Model *model, const char *path, bool fit, Error *error) {
    const Parameters *parameters = &model->parameters;
    Safetensors file;
    if (!safetensors_open(&file, path, error)) return false;
    bool loaded = !safetensors_metadata(&file, "checksum") || safetensors_verify(&file, error);
    for (int64_t i = 0; loaded && i < parameters->part_count; i++)
        loaded = load_part(model, &parameters->parts[i], &file, fit, error);
    for (int64_t i = 0; loaded && i < file.count; i++)
        if (!parameters_find(parameters, file.tensors[i].name) && !is_optimizers(&file.tensors[i]))
            loaded = error_set(error,
                               "%s: the tensor '%s' is none of this model's; the file belongs to "
                               "another model config",
                               path, file.tensors[i].name);
    safetensors_close(&file);
    return loaded;
}

bool model_weights_load(Model *model, const char *path, Error *error) {
    return load(model, path, false, error);
}

bool model_weights_load_fitted(Model *model, const char *path, Error *error) {
    return load(model, path, true, error);
}

bool model_weights_save(const Model *model, const char *path, Error *error) {
    static const char *const metadata[1][2] = {{"format", "pt"}};
    const Parameters *parameters = &model->parameters;
    SafetensorsItem *items = allocate((size_t)parameters->part_count, sizeof *items);
    for (int64_t i = 0; i < parameters->part_count; i++) {
        const Parameter *part = &parameters->parts[i];
        items[i] = (SafetensorsItem){.name = part->name,
                                     .type = SAFETENSORS_REAL,
                                     .rank = part->rank,
                                     .shape = {part->shape[0], part->shape[1]},
                                     .data = parameters->values + part->offset};
    }
    bool saved =
        safetensors_write(path, items, parameters->part_count, metadata, 1, false, NULL, error);
    free(items);
    return saved;
}
