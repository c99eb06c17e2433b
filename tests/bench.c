/* build/bench train|generate|tokenizer|shuffle …: see bench.h. Option --threads N comes first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "bench.h"

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
