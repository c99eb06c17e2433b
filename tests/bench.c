/* build/bench train|generate|tokenizer|shuffle …: see bench.h. Option --threads N comes first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "bench.h"

const BenchShape bench_tiny = {"tiny", 4096, 256, 128, 4, 4, 384, 32};
const BenchShape bench_cs336 = {"cs336", 10000, 256, 512, 4, 16, 1344, 32};

Model *bench_model(const BenchShape *shape) {
    ModelConfig config = {.vocab_size = shape->vocab,
                          .context_length = shape->T,
                          .d_model = shape->C,
                          .num_layers = shape->L,
                          .num_heads = shape->H,
                          .num_kv_heads = shape->H,
                          .d_ff = shape->F,
                          .norm_eps = 1e-5,
                          .position = {.type = POSITION_ROPE, .base = 10000, .fraction = 1}};
    Error error;
    Model *model = model_create(&config, false, &error);
    if (model)
        model_initialize(model, 1);
    else
        fprintf(stderr, "bench: %s\n", error.message);
    return model;
}

int main(int argc, char **argv) {
    int threads = 0;
    if (argc > 2 && strcmp(argv[1], "--threads") == 0) {
        threads = atoi(argv[2]);
        argc -= 2;
        argv += 2;
    }
    parallel_start(threads);
    if (argc > 1 && strcmp(argv[1], "train") == 0) return bench_train(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "generate") == 0) return bench_generation(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "shuffle") == 0) return bench_shuffle(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "tokenizer") == 0) return bench_tokenizer(argc - 2, argv + 2);
    fprintf(stderr, "usage: bench [--threads N] train|generate [tiny|cs336] [--seconds S] …\n"
                    "       bench [--threads N] tokenizer FILE [VOCAB_SIZE]\n"
                    "       bench shuffle FILE MEGABYTES\n");
    return 2;
}
