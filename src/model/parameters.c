#include "model/parameters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

/* Tensors begin at multiples of a cache line. */
enum { ALIGN_ELEMENTS = 64 / sizeof(real) };

Tensor *parameters_declare(Parameters *parameters, const char *name, int rank, int64_t columns,
                           ParameterInit init, const ParameterPart *parts, int part_count) {
    Parameters *p = parameters;
    Tensor *tensor = allocate_zeroed(1, sizeof *tensor);
    *tensor = (Tensor){.name = string_copy(name),
                       .rank = rank,
                       .shape = {0, columns},
                       .resident = true,
                       .parameter = p->count,
                       .offset = p->size};
    p->tensors = reallocate(p->tensors, (size_t)p->count + 1, sizeof *p->tensors);
    p->tensors[p->count++] = tensor;
    p->parts = reallocate(p->parts, (size_t)(p->part_count + part_count), sizeof *p->parts);
    for (int i = 0; i < part_count; i++) {
        Parameter *part = &p->parts[p->part_count++];
        *part = (Parameter){.name = string_copy(parts[i].name),
                            .rank = rank,
                            .shape = {parts[i].rows, columns},
                            .offset = p->size,
                            .init = init};
        tensor->shape[0] += parts[i].rows;
        p->size += parameter_size(part);
    }
    p->size = (p->size + ALIGN_ELEMENTS - 1) / ALIGN_ELEMENTS * ALIGN_ELEMENTS;
    return tensor;
}

Tensor *parameters_declare_one(Parameters *parameters, const char *name, int64_t rows,
                               int64_t columns, ParameterInit init) {
    return parameters_declare(parameters, name, columns ? 2 : 1, columns, init,
                              &(ParameterPart){name, rows}, 1);
}

int64_t parameter_size(const Parameter *part) {
    return part->rank == 2 ? part->shape[0] * part->shape[1] : part->shape[0];
}

int64_t parameters_total(const Parameters *parameters) {
    int64_t total = 0;
    for (int64_t i = 0; i < parameters->part_count; i++)
        total += parameter_size(&parameters->parts[i]);
    return total;
}

bool parameters_allocate(Parameters *parameters, Error *error) {
    size_t bytes = (size_t)parameters->size * sizeof(real);
    parameters->values = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!parameters->values)
        return error_set(error,
                         "cannot allocate %.1f GB of memory for the model's weights; reduce "
                         "d_model, num_layers or vocab_size",
                         (double)bytes / 1e9);
    memset(parameters->values, 0, bytes);
    for (int64_t i = 0; i < parameters->count; i++)
        parameters->tensors[i]->data = parameters->values + parameters->tensors[i]->offset;
    return true;
}

static double deviation(const Parameter *part) {
    switch (part->init) {
    case INIT_LINEAR:
        return sqrt(2.0 / (double)(part->shape[0] + part->shape[1]));
    case INIT_TIED_EMBEDDING:
        return sqrt(1.0 / (double)part->shape[1]);
    case INIT_SMALL:
        return 0.02;
    default:
        return 1;
    }
}

void parameters_initialize(Parameters *parameters, uint64_t seed) {
    for (int64_t i = 0; i < parameters->part_count; i++) {
        const Parameter *part = &parameters->parts[i];
        real *values = parameters->values + part->offset;
        int64_t size = parameter_size(part);
        double sigma = deviation(part);
        if (part->init == INIT_GIVEN) continue;
        if (part->init == INIT_ZEROS || part->init == INIT_ONES) {
            for (int64_t k = 0; k < size; k++) values[k] = part->init == INIT_ONES;
            continue;
        }
#pragma omp parallel for schedule(static)
        for (int64_t k = 0; k < size; k++)
            values[k] =
                (real)(sigma * random_truncated_normal(seed, RANDOM_INIT,
                                                       ((uint64_t)i << 40) + (uint64_t)k, 3));
    }
}

void parameters_free(Parameters *parameters) {
    for (int64_t i = 0; i < parameters->part_count; i++) free(parameters->parts[i].name);
    for (int64_t i = 0; i < parameters->count; i++) {
        free((void *)(uintptr_t)parameters->tensors[i]->name);
        free(parameters->tensors[i]);
    }
    free(parameters->parts);
    free(parameters->tensors);
    free(parameters->values);
    *parameters = (Parameters){0};
}

const Parameter *parameters_find(const Parameters *parameters, const char *name) {
    for (int64_t i = 0; i < parameters->part_count; i++)
        if (strcmp(parameters->parts[i].name, name) == 0) return &parameters->parts[i];
    return NULL;
}
