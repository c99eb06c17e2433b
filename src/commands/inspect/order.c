/* ./inspect order: does a model notice a permutation of its input? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "commands/inspect/inspect.h"
#include "commands/inspect/subject.h"
#include "tensor/elementwise.h"
#include "tensor/matmul.h"
#include "tensor/rmsnorm.h"

/* The first layer up to its attention. */
static void first_attention(const Model *model, Tape *tape, const int32_t *ids, int64_t T,
                            bool causal, real *to) {
    const ModelConfig *c = &model->config;
    const Layer *layer = &model->layers[0];
    AttentionOptions options = {.num_heads = c->num_heads,
                                .num_kv_heads = c->num_kv_heads,
                                .causal = causal,
                                .hooks = position_hooks(model->position, 0)};
    position_layer_tables(model->position, tape, 0, T, !causal, options.tables);
    Tensor *x = embedding(tape, model->token_embeddings, ids, 1, T);
    x = position_embed(model->position, tape, x, 0);
    if (c->norm == NORM_PRE) x = rmsnorm(tape, x, layer->ln1, c->norm_eps, false);
    Tensor *qkv = linear(tape, x, layer->qkv_proj, NULL);
    memcpy(to, attention(tape, qkv, &options)->data, (size_t)(T * c->d_model) * sizeof *to);
}

/* out (2, T, C): the outputs of the first attention, then those of the whole model. Row n is that of the
 * word at position n before the permutation, which moves it to places[n] (NULL: identity). */
static void compute(const InspectSubject *subject, const int64_t *places, bool causal, real *out) {
    const Model *model = subject->file.model;
    int64_t T = subject->count, C = model->config.d_model;
    int32_t *moved = allocate((size_t)T, sizeof *moved);
    real *rows = allocate((size_t)(2 * T * C), sizeof *rows);
    for (int64_t n = 0; n < T; n++) moved[places ? places[n] : n] = subject->ids[n];
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    first_attention(model, &tape, moved, T, causal, rows);
    tape_reset(&tape);
    ModelInput input = {.B = 1, .T = T, .ids = moved, .bidirectional = !causal};
    memcpy(rows + T * C, model_hidden(model, &tape, &input)->data, (size_t)(T * C) * sizeof *rows);
    tape_free(&tape);
    for (int64_t n = 0; n < 2 * T; n++)
        memcpy(out + n * C, rows + (n / T * T + (places ? places[n % T] : n % T)) * C,
               (size_t)C * sizeof *out);
    free(rows);
    free(moved);
}

/* Largest |a − b| over largest |b|. */
static double difference(const real *a, const real *b, int64_t count) {
    double largest = 0, size = 0;
    for (int64_t n = 0; n < count; n++) {
        largest = fmax(largest, fabs((double)(a[n] - b[n])));
        size = fmax(size, fabs((double)b[n]));
    }
    return size > 0 ? largest / size : 0;
}

/* How much the outputs change when words change places: [0] of attention, [1] of the model. */
static void measure(const InspectSubject *subject, const real *original, const int64_t *places,
                    bool causal, double result[2]) {
    int64_t count = subject->count * subject->file.model->config.d_model;
    real *changed = allocate((size_t)(2 * count), sizeof *changed);
    compute(subject, places, causal, changed);
    for (int i = 0; i < 2; i++)
        result[i] = difference(changed + i * count, original + i * count, count);
    free(changed);
}

static void print_row(const char *what, const double result[2]) {
    printf("  %s%*s %12.1e %12.1e\n", what, text_columns(what) < 42 ? 42 - text_columns(what) : 0,
           "", result[0], result[1]);
}

/* A random permutation other than the identity (if T > 1). */
static void shuffle(int64_t *places, int64_t T) {
    for (int64_t n = 0; n < T; n++) places[n] = n;
    bool moved = false;
    for (uint64_t seed = 1; !moved && T > 1; seed++)
        for (int64_t n = T - 1; n > 0; n--) {
            int64_t k = (int64_t)random_below(seed, RANDOM_TEST, (uint64_t)n, (uint64_t)n + 1);
            int64_t place = places[n];
            places[n] = places[k];
            places[k] = place;
            moved = moved || k != n;
        }
}

static void print_words(const char *what, const InspectSubject *subject, const int64_t *places) {
    printf("%s", what);
    for (int64_t m = 0; m < subject->count; m++)
        for (int64_t n = 0; n < subject->count; n++)
            if ((places ? places[n] : n) == m) printf(" %s", subject->labels[n]);
    putchar('\n');
}

/* Swaps each pair of words in turn, in a long text only neighbours. */
static void measure_swaps(const InspectSubject *subject, const real *original, int64_t *places,
                          double largest[2], int64_t pair[2]) {
    enum { SHORT = 24 };
    int64_t T = subject->count;
    for (int64_t n = 0; n < T; n++) places[n] = n;
    largest[0] = largest[1] = -1;
    for (int64_t a = 0; a < T; a++)
        for (int64_t b = a + 1; b < (T <= SHORT || a + 2 > T ? T : a + 2); b++) {
            double result[2];
            places[a] = b, places[b] = a;
            measure(subject, original, places, false, result);
            places[a] = a, places[b] = b;
            if (result[1] > largest[1]) pair[0] = a, pair[1] = b;
            for (int i = 0; i < 2; i++) largest[i] = fmax(largest[i], result[i]);
        }
}

static bool run(const InspectSubject *subject, Error *error) {
    if (subject->count < 2)
        return error_set(error, "one token has no order; give --text at least two words");
    int64_t T = subject->count, count = T * subject->file.model->config.d_model;
    real *original = allocate((size_t)(4 * count), sizeof *original);
    compute(subject, NULL, false, original);
    compute(subject, NULL, true, original + 2 * count); /* after those without the mask */
    int64_t *places = allocate((size_t)T, sizeof *places), pair[2] = {0, 0};
    double open[2], causal[2], swapped[2];
    shuffle(places, T);
    printf("positions: %s\n", position_type_name(subject->file.model->config.position.type));
    print_words("text:     ", subject, NULL);
    print_words("permuted: ", subject, places);
    measure(subject, original, places, false, open);
    measure(subject, original + 2 * count, places, true, causal);
    measure_swaps(subject, original, places, swapped, pair);
    printf("\nLargest change of a word's output, relative to the largest output:\n");
    printf("  %-42s %12s %12s\n", "", "attention", "whole model");
    print_row("permuted, causal mask off", open);
    print_row("permuted, causal mask on", causal);
    char *words = string_format("\"%s\" and \"%s\" swapped, mask off", subject->labels[pair[0]],
                                subject->labels[pair[1]]);
    print_row(words, swapped);
    free(words);
    printf("\n%s\n",
           open[1] < 1e-4
               ? "With the mask off each word gets the same output wherever it stands: to this "
                 "model a text is a set of words."
               : "With the mask off the outputs differ: this model knows where its words "
                 "stand.");
    free(original);
    free(places);
    return true;
}

int inspect_order(int argc, char **argv) {
    static const InspectCommand command = {
        .name = "inspect order",
        .summary =
            "Permutes the words of a text and measures what changes in their outputs: without\n"
            "positions and without the causal mask, nothing.",
        .example = "./inspect order runs/tiny --text \"the cat chases the mouse\"\n"
                   "./inspect order configs/tiny.json --set model.position.type=none",
        .text = true,
        .run = run,
    };
    return inspect_run(&command, argc, argv);
}
