/* Speed of training against the limit of the machine: what OpenBLAS multiplies on the same shapes.
 *
 * In one run: the sgemm rate of the step's linear layers (forward, input gradient, weight gradient; each
 * thread with its own rows, as in training; medians, weighted by FLOPs), the time of whole steps
 * (median), and their ratio. Model FLOPs a token: 6·N + 6·L·T·d_model, N the matmul parameters (head
 * included, embedding table not), attention counted causal. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/parallel.h"
#include "base/random.h"
#include "bench.h"
#include "tensor/matmul.h"
#include "training/train_step.h"

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* ---- the limit ---- */

/* One product of a linear layer, with operands of its own for every thread. */
typedef struct Product {
    int64_t m, n, k;
    bool a_transposed, b_transposed;
    real beta;
    double count; /* how often in a step of one micro-batch */
    real **memory;
    double *times; /* seconds on all threads at once, one per round */
} Product;

enum { MOST_ROUNDS = 1024, PRODUCTS = 15 };

static Product product_new(int64_t m, int64_t n, int64_t k, bool ta, bool tb, real beta,
                           double count) {
    Product p = {m, n, k, ta, tb, beta, count, NULL, allocate(MOST_ROUNDS, sizeof *p.times)};
    int64_t size = m * k + k * n + m * n;
    p.memory = allocate((size_t)parallel_threads(), sizeof *p.memory);
    for (int t = 0; t < parallel_threads(); t++) {
        p.memory[t] = allocate((size_t)size, sizeof(real));
        for (int64_t i = 0; i < size; i++)
            p.memory[t][i] = (real)((double)(i * 7919 % 1000) / 1000 - 0.5);
    }
    return p;
}

static double time_product(const Product *p) {
    double start = omp_get_wtime();
#pragma omp parallel
    {
        real *a = p->memory[omp_get_thread_num()], *b = a + p->m * p->k, *c = b + p->k * p->n;
        matmul(
            p->m, p->n, p->k, 1, (MatmulOperand){a, p->a_transposed ? p->m : p->k, p->a_transposed},
            (MatmulOperand){b, p->b_transposed ? p->k : p->n, p->b_transposed}, p->beta, c, p->n);
    }
    return omp_get_wtime() - start;
}

/* The products of the linear layers of a step: forward, input gradient, weight gradient. */
static void products_of(const Model *model, int64_t rows, Product products[PRODUCTS]) {
    const Layer *layer = &model->layers[0];
    double L = (double)model->config.num_layers;
    const struct {
        const Tensor *weight;
        int64_t rows;
        double count;
    } layers[] = {{layer->qkv_proj, rows, L},
                  {layer->output_proj, rows, L},
                  {layer->w1, rows, L},
                  {layer->w2, rows, L},
                  {model->lm_head, 1024, (double)rows / 1024}};
    for (int i = 0; i < 5; i++) {
        int64_t out = layers[i].weight->shape[0], in = layers[i].weight->shape[1];
        int64_t n = layers[i].rows;
        double count = layers[i].count;
        products[3 * i] = product_new(n, out, in, false, true, 0, count);      /* Y = X Wᵀ */
        products[3 * i + 1] = product_new(n, in, out, false, false, 0, count); /* dX = dY W */
        products[3 * i + 2] = product_new(out, in, n, true, false, 1, count);  /* dW += dYᵀ X */
    }
}

static void products_free(Product products[PRODUCTS]) {
    for (int i = 0; i < PRODUCTS; i++) {
        for (int t = 0; t < parallel_threads(); t++) free(products[i].memory[t]);
        free(products[i].memory);
        free(products[i].times);
    }
}

/* FLOP/s of all products together, from their median times. */
static double sgemm_rate(const Product products[PRODUCTS], int rounds) {
    double flops = 0, seconds = 0;
    for (int i = 0; i < PRODUCTS; i++) {
        const Product *p = &products[i];
        flops += p->count * 2 * (double)(p->m * p->n * p->k) * parallel_threads();
        seconds += p->count * bench_median(p->times, rounds);
    }
    return flops / seconds;
}

/* ---- the steps ---- */

static void fill_random(const void *context, int64_t step, int64_t row, int32_t *ids,
                        int32_t *targets, real *weights) {
    const ModelConfig *c = context;
    for (int64_t t = 0; t < c->context_length; t++) {
        uint64_t at = (uint64_t)((step * 1000 + row) * (c->context_length + 1) + t);
        ids[t] = (int32_t)random_below(1, RANDOM_TEST, at, (uint64_t)c->vocab_size);
        targets[t] = (int32_t)random_below(1, RANDOM_TEST, at + 1, (uint64_t)c->vocab_size);
        weights[t] = 1;
    }
}

static void print_times(const TrainStep *step, double total, int steps) {
    static const char *const names[KIND_COUNT] = {
        "matmul", "attention", "norm", "activation", "head and loss", "other operations"};
    double kinds[KIND_COUNT] = {0}, sum = 0;
    for (int w = 0; w < step->workers; w++)
        for (int k = 0; k < KIND_COUNT; k++)
            kinds[k] += step->tapes[w].seconds[k] / step->workers / steps;
    printf("  where a step's time goes (ms)\n");
    for (int k = 0; k < KIND_COUNT; k++) {
        printf("    %-18s %9.2f  %5.1f %%\n", names[k], 1e3 * kinds[k], 100 * kinds[k] / total);
        sum += kinds[k];
    }
    const struct {
        const char *name;
        double seconds;
    } rest[] = {{"optimizer", step->seconds_optimizer / steps},
                {"data", step->seconds_data / steps},
                {"waiting", step->seconds_waiting / steps}};
    for (int k = 0; k < 3; k++) {
        printf("    %-18s %9.2f  %5.1f %%\n", rest[k].name, 1e3 * rest[k].seconds,
               100 * rest[k].seconds / total);
        sum += rest[k].seconds;
    }
    printf("    %-18s %9.2f  %5.1f %%\n", "rest", 1e3 * (total - sum), 100 * (total - sum) / total);
}

static int bench_shape(const BenchShape *shape, double seconds) {
    Error error;
    Model *model = bench_model(shape);
    if (!model) return 1;
    OptimizerConfig optimizer = {OPTIMIZER_ADAMW, 0.9, 0.95, 1e-8, 0.1, 0};
    TrainStepConfig setup = {.optimizer = &optimizer,
                             .source = {fill_random, &model->config},
                             .rows = shape->batch,
                             .T = shape->T,
                             .separator = -1,
                             .grad_clip = 1};
    TrainStep step;
    if (!train_step_create(&step, model, &setup, &error)) {
        fprintf(stderr, "bench: %s\n", error.message);
        return 1;
    }
    static double times[MOST_ROUNDS];
    Product products[PRODUCTS];
    StepResult result;
    double tokens = (double)(shape->batch * shape->T);
    bool fine =
        train_step_run(&step, 0, 1e-4, &result, &error); /* the first step takes the memory */
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    for (int w = 0; w < step.workers; w++)
        memset(step.tapes[w].seconds, 0, sizeof step.tapes[w].seconds);
    step.seconds_data = step.seconds_optimizer = step.seconds_waiting = 0;
    products_of(model, step.micro_batch * step.T, products);
    /* Steps and products take turns, so that both see the same machine. */
    double start = omp_get_wtime(), total = 0;
    int count = 0;
    while (fine && count < MOST_ROUNDS && (count < 5 || omp_get_wtime() - start < seconds)) {
        /* One after the other, as in a step: a product's operands were not just used by itself. */
        for (int i = 0; i < 2 * PRODUCTS; i++)
            products[i % PRODUCTS].times[count] = time_product(&products[i % PRODUCTS]);
        double before = omp_get_wtime();
        fine = train_step_run(&step, count + 1, 1e-4, &result, &error);
        total += times[count++] = omp_get_wtime() - before;
    }
    if (!fine) {
        fprintf(stderr, "bench: %s\n", error.message);
        return 1;
    }
    double rate = sgemm_rate(products, count), median = bench_median(times, count);
    products_free(products);
    double per_token = 6.0 * (double)model_matmul_parameters(model) +
                       6.0 * (double)(shape->L * shape->T * shape->C);
    double model_rate = tokens / median * per_token;
    printf("%s, batch %lld: kernel %s, %d threads\n", shape->name, (long long)shape->batch,
           parallel_blas_kernel(), parallel_threads());
    printf("  sgemm of the linear layers %.1f GFLOP/s, model %.1f GFLOP/s, ratio %.3f\n",
           rate / 1e9, model_rate / 1e9, model_rate / rate);
    printf("  step %.2f ms (median of %d), peak memory %ld MB\n", 1e3 * median, count,
           usage.ru_maxrss / 1024);
    printf("  tokens_per_second %.0f\n", tokens / median);
    print_times(&step, total / count, count);
    train_step_free(&step);
    model_free(model);
    return 0;
}

int bench_train(int argc, char **argv) {
    BenchShape shape = argc > 0 && strcmp(argv[0], "cs336") == 0 ? bench_cs336 : bench_tiny;
    double seconds = 10;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
        if (strcmp(argv[i], "--context") == 0) shape.T = atoll(argv[i + 1]);
        if (strcmp(argv[i], "--batch") == 0) shape.batch = atoll(argv[i + 1]);
        if (strcmp(argv[i], "--layers") == 0) shape.L = atoll(argv[i + 1]);
        if (strcmp(argv[i], "--vocab") == 0) shape.vocab = atoll(argv[i + 1]);
    }
    return bench_shape(&shape, seconds);
}
