/* Speed of generation against the limits of the machine, all measured in turns in one run.
 *
 *   one story      every token reads all weights once: bytes of weights a second over the
 *                  bandwidth that a loop reaches which only reads them
 *   eight stories  the weights are read once for all: tokens a second over those of one story
 *   prompt         one pass: FLOP/s (attention counted causal, logits of the last token only)
 *                  over those of the same linear layers alone
 * Medians. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "bench.h"
#include "generation/generator.h"
#include "tensor/matmul.h"

enum { TOKENS = 64, STORIES = 8, MOST_ROUNDS = 256 };

/* The sum of all weights, read once by the whole team. */
static real read_weights(const Parameters *parameters) {
    int64_t size = parameters->size;
    const real *values = parameters->values;
    real total = 0;
#pragma omp parallel reduction(+ : total)
    {
        int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
        const real *part = values + size * thread / team;
        int64_t quarter = (size * (thread + 1) / team - size * thread / team) / 4;
        real a = 0, b = 0, c = 0, d = 0; /* four streams keep more of memory busy */
#pragma omp simd reduction(+ : a, b, c, d)
        for (int64_t i = 0; i < quarter; i++) {
            a += part[i];
            b += part[i + quarter];
            c += part[i + 2 * quarter];
            d += part[i + 3 * quarter];
        }
        total += a + b + c + d;
    }
    return total;
}

/* Seconds to read all weights once, while they are read over and over, as in generation. */
static double time_reading(const Parameters *parameters) {
    enum { PASSES = 16 };
    double start = omp_get_wtime();
    real total = 0;
    for (int i = 0; i < PASSES; i++) total += read_weights(parameters);
    double seconds = (omp_get_wtime() - start) / PASSES;
    if (total != total) fprintf(stderr, "bench: a weight is NaN\n"); /* so that the sum is needed */
    return seconds;
}

/* Seconds of the linear layers of one pass over T rows, and their FLOPs. */
static double time_linear_layers(const Model *model, int64_t T, real *x, real *y, double *flops) {
    double start = omp_get_wtime();
    *flops = 0;
    for (int64_t i = 0; i < model->config.num_layers; i++) {
        const Layer *layer = &model->layers[i];
        const Tensor *weights[] = {layer->qkv_proj, layer->output_proj, layer->w1, layer->w2};
        for (int k = 0; k < 4; k++) {
            int64_t out = weights[k]->shape[0], in = weights[k]->shape[1];
            matmul(T, out, in, 1, (MatmulOperand){x, in, false},
                   (MatmulOperand){weights[k]->data, in, true}, 0, y, out);
            *flops += 2 * (double)(T * out * in);
        }
    }
    return omp_get_wtime() - start;
}

static bool go_on(void *context, const GeneratedToken *token) {
    (void)context, (void)token;
    return true;
}

static GeneratorTimes time_generation(const Model *model, int64_t prompt, int64_t stories,
                                      int64_t tokens) {
    int32_t *ids = allocate((size_t)prompt, sizeof *ids);
    for (int64_t i = 0; i < prompt; i++) ids[i] = (int32_t)(i * 31 % model->config.vocab_size);
    GeneratorOptions options = {.stories = stories,
                                .max_tokens = tokens,
                                .sampler = {.temperature = 1, .top_p = 1, .repetition_penalty = 1},
                                .token = go_on};
    GeneratorTimes times = {0};
    Error error;
    if (!generate(model, ids, prompt, &options, &times, &error)) {
        fprintf(stderr, "bench: %s\n", error.message);
        exit(1);
    }
    free(ids);
    return times;
}

static int bench_shape(const BenchShape *shape, double seconds) {
    Model *model = bench_model(shape);
    if (!model) return 1;
    int64_t widest = 3 * shape->C > 2 * shape->F ? 3 * shape->C : 2 * shape->F;
    real *x = allocate_zeroed((size_t)(shape->T * widest), sizeof *x);
    real *y = allocate_zeroed((size_t)(shape->T * widest), sizeof *y);
    static double reading[MOST_ROUNDS], one[MOST_ROUNDS], eight[MOST_ROUNDS], prompt[MOST_ROUNDS],
        layers[MOST_ROUNDS];
    double flops = 0, start = omp_get_wtime();
    int rounds = 0;
    while (rounds < MOST_ROUNDS && (rounds < 5 || omp_get_wtime() - start < seconds)) {
        reading[rounds] = time_reading(&model->parameters);
        GeneratorTimes times = time_generation(model, 1, 1, TOKENS);
        one[rounds] = (double)times.tokens / times.seconds;
        times = time_generation(model, 1, STORIES, TOKENS);
        eight[rounds] = (double)times.tokens / times.seconds;
        layers[rounds] = time_linear_layers(model, shape->T, x, y, &flops);
        prompt[rounds] = time_generation(model, shape->T, 1, 1).prompt_seconds;
        rounds++;
    }
    double weights = (double)model_matmul_parameters(model) * sizeof(real);
    double bytes = (double)model->parameters.size * sizeof(real);
    double bandwidth = bytes / bench_median(reading, rounds);
    double single = bench_median(one, rounds), batch = bench_median(eight, rounds);
    double rate = flops / bench_median(layers, rounds), pass = bench_median(prompt, rounds);
    double attention = 2.0 * (double)(shape->L * shape->C * shape->T * (shape->T + 1));
    double pass_rate = (flops + attention + 2.0 * (double)(shape->vocab * shape->C)) / pass;
    printf("%s: kernel %s, %d threads, %d rounds\n", shape->name, parallel_blas_kernel(),
           parallel_threads(), rounds);
    printf("  one story      %8.0f tokens/s, %.1f GB/s of weights, memory %.1f GB/s, ratio %.3f\n",
           single, single * weights / 1e9, bandwidth / 1e9, single * weights / bandwidth);
    printf("  eight stories  %8.0f tokens/s, ratio to one %.2f\n", batch, batch / single);
    printf("  prompt         %8.0f tokens/s, %.1f GFLOP/s, linear layers alone %.1f, ratio %.3f\n",
           (double)shape->T / pass, pass_rate / 1e9, rate / 1e9, pass_rate / rate);
    free(x);
    free(y);
    model_free(model);
    return 0;
}

int bench_generation(int argc, char **argv) {
    double seconds = 10;
    if (argc > 2 && strcmp(argv[1], "--seconds") == 0) seconds = atof(argv[2]);
    return bench_shape(argc > 0 && strcmp(argv[0], "tiny") == 0 ? &bench_tiny : &bench_cs336,
                       seconds);
}
