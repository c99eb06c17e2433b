#include "tensor/tensor.h"

int64_t tensor_size(const Tensor *x) {
    int64_t size = 1;
    for (int i = 0; i < x->rank; i++) size *= x->shape[i];
    return size;
}

int64_t tensor_columns(const Tensor *x) {
    return x->shape[x->rank - 1];
}

int64_t tensor_rows(const Tensor *x) {
    int64_t rows = 1;
    for (int i = 0; i + 1 < x->rank; i++) rows *= x->shape[i];
    return rows;
}

Tensor tensor_constant(const char *name, real *data, int rank, const int64_t *shape) {
    Tensor x = {.name = name, .rank = rank, .data = data, .resident = true, .parameter = -1};
    for (int i = 0; i < rank; i++) x.shape[i] = shape[i];
    return x;
}
