#include "tensor/cross_entropy.h"

#include "base/parallel.h"
#include "tensor/matmul.h"
#include "tensor/plain/plain.h"

/* Rows of logits at a time: enough for a fast product, few enough for the last-level cache. */
enum { CHUNK = 1024 };

real cross_entropy_row(real *logits, int64_t V, int32_t target, real factor) {
    real maximum = real_max(V, logits), sum = 0, at_target = logits[target];
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < V; j++) {
        logits[j] = real_exp(logits[j] - maximum);
        sum += logits[j];
    }
    real shrink = factor / sum;
#pragma omp simd
    for (int64_t j = 0; j < V; j++) logits[j] *= shrink;
    logits[target] -= factor;
    /* Equal large parts of the two logits cancel first: at 10,000 a float has three decimals. */
    return (real)log((double)sum) + (maximum - at_target);
}

/* The lowest index of the largest logit. Whole blocks are compared by their largest one, which is
 * fast; only the best block is searched. */
static int32_t largest(const real *logits, int64_t V) {
    enum { BLOCK = 256 };
    int64_t block = 0, length = V < BLOCK ? V : BLOCK;
    real maximum = real_max(length, logits);
    for (int64_t j = BLOCK; j < V; j += BLOCK) {
        int64_t n = V - j < BLOCK ? V - j : BLOCK;
        real candidate = real_max(n, logits + j);
        if (candidate > maximum) maximum = candidate, block = j, length = n;
    }
    for (int64_t j = block; j < block + length; j++)
        if (logits[j] == maximum) return (int32_t)j;
    return 0; /* nothing but NaN */
}

static int64_t head_scratch(const Node *node, bool backward) {
    int64_t rows = tensor_rows(node->inputs[0]), V = node->inputs[1]->shape[0];
    return backward ? 0 : (rows < CHUNK ? rows : CHUNK) * V;
}

/* A chunk of logits: `count` rows, of which the first is row `first` of the node. */
typedef struct LogitRows {
    const HeadLoss *loss;
    real *logits;
    int64_t first, count, V;
    int parts;
} LogitRows;

real head_loss_factor(const HeadLoss *loss, int64_t n) {
    return (loss->weights ? loss->weights[n] : 1) * (real)loss->scale;
}

static void rows_part(void *context, int part) {
    const LogitRows *x = context;
    const HeadLoss *loss = x->loss;
    int64_t end = x->count * (part + 1) / x->parts;
    for (int64_t r = x->count * part / x->parts; r < end; r++) {
        real *logits = x->logits + r * x->V;
        int64_t row = x->first + r;
        if (loss->predictions) loss->predictions[row] = largest(logits, x->V);
        loss->losses[row] =
            cross_entropy_row(logits, x->V, loss->targets[row], head_loss_factor(loss, row));
    }
}

static void head_forward(Tape *tape, Node *node, int64_t begin, int64_t end, real *scratch) {
    (void)tape, (void)begin, (void)end;
    const HeadLoss *loss = node->options;
    Tensor *x = node->inputs[0], *w = node->inputs[1];
    int64_t rows = tensor_rows(x), C = tensor_columns(x), V = w->shape[0];
    real *dx = node->input_gradients[0], *dw = node->input_gradients[1]; /* NULL: not recording */
    real keep_x = node->accumulate[0], keep_w = node->accumulate[1];
    double total = 0;
    MatmulOperand weight = {w->data, C, false}, transposed = {w->data, C, true};
    for (int64_t n = 0; n < rows; n += CHUNK) {
        int64_t count = rows - n < CHUNK ? rows - n : CHUNK;
        MatmulOperand chunk = {x->data + n * C, C, false};
        matmul(count, V, C, 1, chunk, transposed, 0, scratch, V);
        LogitRows chunk_rows = {loss, scratch, n, count, V, 1};
        chunk_rows.parts = parallel_parts(count, 64 * count * V);
        parallel_run(chunk_rows.parts, rows_part, &chunk_rows);
        for (int64_t r = n; r < n + count; r++) {
            real factor = head_loss_factor(loss, r);
            if (factor != 0) total += (double)factor * (double)loss->losses[r];
        }
        if (dx)
            matmul(count, C, V, 1, (MatmulOperand){scratch, V, false}, weight, keep_x, dx + n * C,
                   C);
        if (dw) matmul(V, C, count, 1, (MatmulOperand){scratch, V, true}, chunk, keep_w, dw, C);
        keep_w = 1;
    }
    node->output->data[0] = (real)total;
}

static int64_t head_flops(const Node *node) {
    return 2 * tensor_size(node->inputs[1]) * tensor_rows(node->inputs[0]);
}

static const Operation head_operation = {
    .name = "head_loss",
    .kind = KIND_HEAD,
    .scratch = head_scratch,
    .flops = head_flops,
    .gradient_in_forward = true,
    .forward = head_forward,
    .plain_forward = plain_head_loss,
};

void head_loss(Tape *tape, Tensor *x, Tensor *weight, const HeadLoss *loss) {
    tape_apply(tape, &(OperationCall){.operation = &head_operation,
                                      .name = "loss",
                                      .inputs = {x, weight},
                                      .rank = 1,
                                      .shape = {1},
                                      .options = loss,
                                      .options_size = sizeof *loss});
}
