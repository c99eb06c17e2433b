#include <stdlib.h>

#include "base/error.h"
#include "tensor/plain/plain.h"

real plain_cross_entropy_row(real *logits, int64_t V, int32_t target, real factor) {
    double largest = (double)logits[0], sum = 0, at_target = (double)logits[target];
    for (int64_t j = 1; j < V; j++) largest = fmax(largest, (double)logits[j]);
    for (int64_t j = 0; j < V; j++) sum += exp((double)logits[j] - largest);
    for (int64_t j = 0; j < V; j++) {
        double p = exp((double)logits[j] - largest) / sum;
        logits[j] = (real)((p - (j == target)) * (double)factor);
    }
    return (real)(log(sum) + (largest - at_target));
}

/* z = W x, loss = −log softmax(z)[target], dz = factor · (softmax(z) − onehot(target)); dx = Wᵀ dz,
 * dW = dz xᵀ: for each token, and the gradients at once, since backward starts here. */
void plain_head_loss(const Node *node) {
    const HeadLoss *loss = node->options;
    const real *X = node->inputs[0]->data, *W = node->inputs[1]->data;   /* (N, C), (V, C) */
    real *dX = node->input_gradients[0], *dW = node->input_gradients[1]; /* NULL: not recording */
    int64_t N = tensor_rows(node->inputs[0]), C = tensor_columns(node->inputs[0]);
    int64_t V = node->inputs[1]->shape[0];
    real *z = allocate((size_t)V, sizeof *z);
    double total = 0;
    for (int64_t n = 0; n < N; n++) {
        int32_t best = 0;
        for (int64_t v = 0; v < V; v++) {
            double sum = 0;
            for (int64_t c = 0; c < C; c++) sum += (double)X[n * C + c] * (double)W[v * C + c];
            z[v] = (real)sum;
            if (z[v] > z[best]) best = (int32_t)v;
        }
        real factor = head_loss_factor(loss, n);
        loss->losses[n] = plain_cross_entropy_row(z, V, loss->targets[n], factor); /* z is now dz */
        if (loss->predictions) loss->predictions[n] = best;
        if (factor != 0) total += (double)factor * (double)loss->losses[n];
        for (int64_t v = 0; v < V; v++)
            for (int64_t c = 0; c < C; c++) {
                if (dX) dX[n * C + c] += z[v] * W[v * C + c];
                if (dW) dW[v * C + c] += z[v] * X[n * C + c];
            }
    }
    node->output->data[0] = (real)total;
    free(z);
}
