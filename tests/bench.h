/* The parts of the benchmark program (make bench). */
#ifndef TINYLM_TESTS_BENCH_H
#define TINYLM_TESTS_BENCH_H

#include "model/transformer.h"

/* A model to measure, and the batch it is trained with. */
typedef struct BenchShape {
    const char *name;
    int64_t vocab, T, C, L, H, F, batch;
} BenchShape;
extern const BenchShape bench_tiny, bench_cs336;

/* Random weights; NULL after a message. Free with model_free. */
Model *bench_model(const BenchShape *shape);

/* Sorts the values and returns their median. */
double bench_median(double *values, int count);

/* tiny|cs336 [--seconds S] [--context T] [--batch B] [--layers L] [--vocab V] */
int bench_train(int argc, char **argv);

/* FILE MEGABYTES */
int bench_shuffle(int argc, char **argv);
/* FILE [VOCAB_SIZE] */
int bench_tokenizer(int argc, char **argv);

/* tiny|cs336 [--seconds S] */
int bench_generation(int argc, char **argv);

#endif
