#include "training/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/model_weights.h"
#include "formats/safetensors.h"

#define FORMAT "tinylm-checkpoint-1"

/* The flat buffers a checkpoint holds, each with the prefix of its tensors' names. */
typedef struct Buffer {
    char prefix[32]; /* "" for the weights, "optimizer.m." for a state */
    real *values;
} Buffer;
enum { MOST_BUFFERS = 1 + UPDATE_MOST_STATES };

static int buffers_of(const Model *model, const Optimizer *optimizer,
                      Buffer buffers[MOST_BUFFERS]) {
    buffers[0] = (Buffer){"", model->parameters.values};
    for (int i = 0; i < optimizer->state_count; i++) {
        Buffer *buffer = &buffers[1 + i];
        buffer->values = optimizer->state[i];
        snprintf(buffer->prefix, sizeof buffer->prefix, "optimizer.%s.",
                 optimizer->rule->states[i]);
    }
    return 1 + optimizer->state_count;
}

bool checkpoint_save(const char *path, const char *previous_path, const Model *model,
                     const Optimizer *optimizer, const RunState *state, const char *config_json,
                     Error *error) {
    Buffer buffers[MOST_BUFFERS];
    int buffer_count = buffers_of(model, optimizer, buffers);
    const Parameters *p = &model->parameters;
    StoredTensors list = {0};
    for (int64_t k = 0; k < buffer_count * p->part_count; k++) {
        const Buffer *buffer = &buffers[k / p->part_count];
        const Parameter *part = &p->parts[k % p->part_count];
        char *name = string_format("%s%s", buffer->prefix, part->name);
        model_weights_add(&list, name, part, buffer->values);
        free(name);
    }
    char step[32], seconds[32], best[32], tokenizer[32], data[32];
    snprintf(step, sizeof step, "%lld", (long long)state->step);
    snprintf(seconds, sizeof seconds, "%.17g", state->seconds);
    snprintf(best, sizeof best, "%.17g", state->best_valid_loss);
    snprintf(tokenizer, sizeof tokenizer, "%016llx", (unsigned long long)state->tokenizer);
    snprintf(data, sizeof data, "%016llx", (unsigned long long)state->data);
    const char *const metadata[][2] = {
        {"format", FORMAT},       {"step", step}, {"seconds", seconds},   {"best_valid_loss", best},
        {"tokenizer", tokenizer}, {"data", data}, {"config", config_json}};
    bool saved =
        safetensors_write(path, list.items, list.count, metadata, 7, true, previous_path, error);
    stored_tensors_free(&list, true);
    return saved;
}

/* Opens and verifies; nothing to close on error. */
static bool open_checkpoint(const char *path, Safetensors *file, Error *error) {
    if (!safetensors_open(file, path, error)) return false;
    const char *format = safetensors_metadata(file, "format");
    if (!format || strcmp(format, FORMAT) != 0)
        error_set(error,
                  "%s: is not a checkpoint of this program; give a run's "
                  "checkpoint.safetensors",
                  path);
    else if (safetensors_verify(file, error))
        return true;
    safetensors_close(file);
    return false;
}

static bool load_part(const Safetensors *file, const char *path, const char *prefix,
                      const Parameter *part, real *values, Error *error) {
    char *name = string_format("%s%s", prefix, part->name);
    const StoredTensor *tensor = stored_tensors_find(&file->tensors, name);
    bool same = tensor && tensor->rank == part->rank && tensor->shape[0] == part->shape[0] &&
                (part->rank < 2 || tensor->shape[1] == part->shape[1]);
    if (!tensor)
        error_set(error,
                  "%s: has no tensor %s: it belongs to another model or optimizer; use the "
                  "config of that run, or --fresh to start over",
                  path, name);
    else if (!same)
        error_set(error,
                  "%s: tensor %s has another shape than the config says; use the config of "
                  "that run, or --fresh to start over",
                  path, name);
    else if (!stored_tensor_to_real(tensor, values + part->offset))
        same = error_set(error, "%s: tensor %s is not of a floating-point type", path, name);
    free(name);
    return tensor && same;
}

static bool no_number(const char *path, const char *key, Error *error) {
    return error_set(error, "%s: its metadata has no number \"%s\"; the file is not whole", path,
                     key);
}

/* Whole and not negative: batches and schedule are functions of it. */
static bool read_step(const Safetensors *file, const char *path, int64_t *step, Error *error) {
    const char *text = safetensors_metadata(file, "step");
    if (text && text_to_whole(text, step) && *step >= 0) return true;
    return no_number(path, "step", error);
}

/* A number of the metadata. */
static bool read_number(const Safetensors *file, const char *path, const char *key, double *value,
                        Error *error) {
    const char *text = safetensors_metadata(file, key);
    char *end = NULL;
    *value = text ? strtod(text, &end) : 0;
    if (text && *text && !*end) return true;
    return no_number(path, key, error);
}

static bool check_tokenizer(const Safetensors *file, const char *path, uint64_t expected,
                            Error *error) {
    const char *text = safetensors_metadata(file, "tokenizer");
    if (text && strtoull(text, NULL, 16) == expected) return true;
    return error_set(
        error,
        "%s: was trained with another tokenizer than the one in its run directory; put "
        "the right one back, or start over with --fresh",
        path);
}

bool checkpoint_load(const char *path, Model *model, Optimizer *optimizer, RunState *state,
                     Error *error) {
    Safetensors file;
    if (!open_checkpoint(path, &file, error)) return false;
    Buffer buffers[MOST_BUFFERS];
    int buffer_count = buffers_of(model, optimizer, buffers);
    const Parameters *p = &model->parameters;
    int64_t step;
    bool loaded = read_step(&file, path, &step, error) &&
                  read_number(&file, path, "seconds", &state->seconds, error) &&
                  read_number(&file, path, "best_valid_loss", &state->best_valid_loss, error) &&
                  check_tokenizer(&file, path, state->tokenizer, error);
    if (loaded && file.tensors.count != buffer_count * p->part_count)
        loaded = error_set(error,
                           "%s: holds %lld tensors where this config needs %lld: it belongs to "
                           "another model or optimizer; use the config of that run, or --fresh "
                           "to start over",
                           path, (long long)file.tensors.count,
                           (long long)(buffer_count * p->part_count));
    for (int k = 0; loaded && k < buffer_count; k++)
        for (int64_t i = 0; loaded && i < p->part_count; i++)
            loaded =
                load_part(&file, path, buffers[k].prefix, &p->parts[i], buffers[k].values, error);
    const char *data = safetensors_metadata(&file, "data"); /* older checkpoints have none */
    if (loaded) state->data = data ? strtoull(data, NULL, 16) : 0;
    safetensors_close(&file);
    if (loaded) optimizer->step = state->step = step;
    return loaded;
}

char *checkpoint_config(const char *path, Error *error) {
    Safetensors file;
    if (!open_checkpoint(path, &file, error)) return NULL;
    const char *config = safetensors_metadata(&file, "config");
    char *copy = config ? string_copy(config) : NULL;
    if (!copy) error_set(error, "%s: its metadata has no \"config\"; the file is not whole", path);
    safetensors_close(&file);
    return copy;
}
