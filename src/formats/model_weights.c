#include "formats/model_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "model/position_tables.h"

static void our_name(const char *ours, char name[WEIGHT_NAME_SIZE]) {
    snprintf(name, WEIGHT_NAME_SIZE, "%s", ours);
}

static const StoredTensor *find(const WeightSource *source, const Parameter *part,
                                char name[WEIGHT_NAME_SIZE]) {
    (source->name ? source->name : our_name)(part->name, name);
    return stored_tensors_find(source->tensors, name);
}

static bool same_shape(const Parameter *part, const StoredTensor *tensor) {
    return tensor->rank == part->rank &&
           memcmp(tensor->shape, part->shape, (size_t)part->rank * sizeof *part->shape) == 0;
}

/* A learned position table of another length. */
static bool can_fit(const Parameter *part, const StoredTensor *tensor) {
    return strcmp(part->name, "position_embeddings.weight") == 0 && tensor->rank == 2 &&
           tensor->shape[1] == part->shape[1] && tensor->shape[0] > 0;
}

static bool shape_error(const WeightSource *source, const Parameter *part,
                        const StoredTensor *tensor, Error *error) {
    char *found = shape_text(tensor->rank, tensor->shape);
    char *expected = shape_text(part->rank, part->shape);
    error_set(error, "%s: the tensor '%s' is %s, and the model's config asks for %s", source->path,
              tensor->name, found, expected);
    free(found);
    free(expected);
    return false;
}

static bool check_part(const WeightSource *source, const Parameter *part, Error *error) {
    char name[WEIGHT_NAME_SIZE];
    const StoredTensor *tensor = find(source, part, name);
    if (!tensor)
        return error_set(error,
                         "%s: the tensor '%s' is missing; the file belongs to another model config",
                         source->path, name);
    if (!same_shape(part, tensor) && !(source->fit && can_fit(part, tensor)))
        return shape_error(source, part, tensor, error);
    if (!stored_tensor_is_real(tensor))
        return error_set(error,
                         "%s: the tensor '%s' has type %s; weights are F32, F64, F16 or BF16",
                         source->path, name, number_type_name(tensor->type));
    return true;
}

/* No tensor is there that the model has no place for. */
static bool check_others(const WeightSource *source, const Parameters *parameters, Error *error) {
    const StoredTensors *list = source->tensors;
    bool *used = allocate_zeroed((size_t)list->count, sizeof *used), good = true;
    char name[WEIGHT_NAME_SIZE];
    for (int64_t i = 0; i < parameters->part_count; i++)
        used[find(source, &parameters->parts[i], name) - list->items] = true;
    for (int64_t i = 0; good && i < list->count; i++) {
        const char *const *other = source->others;
        while (!used[i] && *other && !strstr(list->items[i].name, *other)) other++;
        if (!used[i] && !*other)
            good = error_set(error,
                             "%s: the tensor '%.200s' has no place in this model; the file belongs "
                             "to another config or architecture",
                             source->path, list->items[i].name);
    }
    free(used);
    return good;
}

/* More rows are interpolated, fewer are the first ones. */
static void fit_positions(const Parameter *part, const StoredTensor *tensor, real *values) {
    int64_t rows = tensor->shape[0], new_rows = part->shape[0], C = part->shape[1];
    real *table = allocate((size_t)tensor->count, sizeof *table);
    stored_tensor_to_real(tensor, table);
    for (int64_t row = 0; row < new_rows; row++) {
        PositionBlend blend = position_stretch(row, rows, new_rows > rows ? new_rows : rows);
        const real *low = table + blend.low * C, *high = blend.fraction > 0 ? low + C : low;
        real fraction = (real)blend.fraction;
        for (int64_t c = 0; c < C; c++)
            values[row * C + c] = (1 - fraction) * low[c] + fraction * high[c];
    }
    free(table);
}

bool model_weights_take(Model *model, const WeightSource *source, Error *error) {
    Parameters *parameters = &model->parameters;
    for (int64_t i = 0; i < parameters->part_count; i++)
        if (!check_part(source, &parameters->parts[i], error)) return false;
    if (!check_others(source, parameters, error) ||
        (!parameters->values && !parameters_allocate(parameters, error)))
        return false;
    for (int64_t i = 0; i < parameters->part_count; i++) {
        const Parameter *part = &parameters->parts[i];
        char name[WEIGHT_NAME_SIZE];
        const StoredTensor *tensor = find(source, part, name);
        real *values = parameters->values + part->offset;
        if (same_shape(part, tensor))
            stored_tensor_to_real(tensor, values);
        else
            fit_positions(part, tensor, values);
    }
    return true;
}

/* ---- safetensors ---- */

static bool load(Model *model, const char *path, bool fit, Error *error) {
    static const char *const moments[] = {"optimizer.", NULL};
    Safetensors file;
    if (!safetensors_open(&file, path, error)) return false;
    const StoredTensors *tensors = &file.tensors;
    bool loaded = !safetensors_metadata(&file, "checksum") || safetensors_verify(&file, error);
    if (loaded && tensors->count > 0 && strncmp(tensors->items[0].name, "_orig_mod.", 10) == 0)
        loaded = error_set(error,
                           "%s: its names begin with '_orig_mod.', as those of a compiled PyTorch "
                           "model do; save the state_dict of model._orig_mod instead",
                           path);
    loaded = loaded &&
             model_weights_take(model, &(WeightSource){tensors, path, NULL, moments, fit}, error);
    safetensors_close(&file);
    return loaded;
}

bool model_weights_load(Model *model, const char *path, Error *error) {
    return load(model, path, false, error);
}

bool model_weights_load_fitted(Model *model, const char *path, Error *error) {
    return load(model, path, true, error);
}

void model_weights_add(StoredTensors *list, const char *name, const Parameter *part,
                       const real *values) {
    StoredTensor tensor = {.type = NUMBER_REAL,
                           .rank = part->rank,
                           .shape = {part->shape[0], part->shape[1]},
                           .data = values + part->offset};
    stored_tensor_measure(&tensor);
    stored_tensors_add(list, name, tensor);
}

bool model_weights_write(const Model *model, const real *values, WeightName *name, const char *path,
                         Error *error) {
    static const char *const metadata[1][2] = {{"format", "pt"}};
    StoredTensors list = {0};
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        char theirs[WEIGHT_NAME_SIZE];
        name(part->name, theirs);
        model_weights_add(&list, theirs, part, values);
    }
    bool saved = safetensors_write(path, list.items, list.count, metadata, 1, false, NULL, error);
    stored_tensors_free(&list, true);
    return saved;
}

bool model_weights_save(const Model *model, const char *path, Error *error) {
    return model_weights_write(model, model->parameters.values, our_name, path, error);
}
