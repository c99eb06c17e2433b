/* Every gradient against finite differences, in double precision (make gradcheck).
 *
 * For each operation and for whole models in all variants, every element of every parameter tensor:
 *   numeric = (8 (L(θ + h) − L(θ − h)) − (L(θ + 2h) − L(θ − 2h))) / 12h,  h = 1e-3: error O(h⁴)
 *   error   = max |analytic − numeric| / max(|analytic|, |numeric|, 1e-3 · max|gradient|) < 1e-6
 * The gradients of the plain definitions must be the same up to 1e-9 of the largest. */
#include <stdio.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "base/random.h"
#include "model/transformer.h"
#include "tensor/elementwise.h"
#include "tensor/matmul.h"
#include "tensor/rmsnorm.h"

static const double STEP = 1e-3, LIMIT = 1e-6, PLAIN_LIMIT = 1e-9;

/* A function of the parameters: builds the tape and returns the output, whose weighted sum (fixed
 * random weights) is the loss; or, for whole models, runs the loss itself and returns NULL. */
typedef struct Case {
    const char *name;
    Parameters *parameters;
    Tensor *(*build)(struct Case *, Tape *);
    Tensor *tensors[4];
    const void *options;
    Model *model;
    bool recompute;
    double step; /* h; 0: STEP */
    double loss; /* of a NULL-returning build */
} Case;

static uint64_t drawn = 0;
static double draw(void) {
    return 2 * random_uniform(1, RANDOM_TEST, drawn++) - 1;
}

static double output_weight(int64_t i) {
    return 2 * random_uniform(2, RANDOM_TEST, (uint64_t)i) - 1;
}

/* The loss; with a recording tape the gradients too. */
static double evaluate(Case *c, Tape *tape) {
    tape_begin_gradients(tape);
    Tensor *output = c->build(c, tape);
    double loss = c->loss;
    if (output) {
        int64_t size = tensor_size(output);
        real *weights = allocate((size_t)size, sizeof *weights);
        loss = 0;
        for (int64_t i = 0; i < size; i++) {
            weights[i] = (real)output_weight(i);
            loss += output_weight(i) * (double)output->data[i];
        }
        if (tape->mode == TAPE_RECORD) tape_seed_gradient(tape, output, weights);
        free(weights);
    }
    if (tape->mode == TAPE_RECORD) {
        tape_backward(tape);
        tape_end_gradients(tape, c->parameters->tensors, c->parameters->count);
    }
    tape_reset(tape);
    return loss;
}

/* The gradients of all parameters; the caller frees them. */
static real *gradients_of(Case *c, bool plain) {
    Tape tape;
    tape_init(&tape, c->parameters->count, TAPE_RECORD);
    tape.plain = plain;
    tape.recompute = c->recompute;
    real *gradients = tape.gradients = allocate_zeroed((size_t)c->parameters->size, sizeof(real));
    evaluate(c, &tape);
    tape_free(&tape);
    return gradients;
}

static int check(Case *c) {
    Parameters *p = c->parameters;
    Tape numeric;
    tape_init(&numeric, p->count, TAPE_EVALUATE);
    real *fast = gradients_of(c, false), *plain = gradients_of(c, true);
    int failures = 0;
    double step = c->step > 0 ? c->step : STEP;
    for (int64_t k = 0; k < p->part_count; k++) {
        const Parameter *part = &p->parts[k];
        real *values = p->values + part->offset, *gradient = fast + part->offset;
        int64_t size = parameter_size(part);
        double largest = 0, worst = 0;
        for (int64_t i = 0; i < size; i++) largest = fmax(largest, fabs((double)gradient[i]));
        for (int64_t i = 0; i < size; i++) {
            real kept = values[i];
            double loss[4];
            for (int s = 0; s < 4; s++) {
                values[i] = kept + (real)(step * (double[]){1, -1, 2, -2}[s]);
                loss[s] = evaluate(c, &numeric);
            }
            values[i] = kept;
            double n = (8 * (loss[0] - loss[1]) - (loss[2] - loss[3])) / (12 * step);
            double a = (double)gradient[i];
            double scale = fmax(fmax(fabs(a), fabs(n)), fmax(1e-3 * largest, 1e-12));
            double error = fabs(a - n) / scale;
            if (!(error <= worst)) worst = error; /* a NaN counts as the worst */
        }
        double apart = 0;
        for (int64_t i = 0; i < size; i++)
            apart = fmax(apart, fabs((double)(plain[part->offset + i] - gradient[i])));
        bool passed = worst < LIMIT && largest > 0 && apart <= PLAIN_LIMIT * largest;
        failures += !passed;
        printf("%-34s %-34s %6lld  %.2e  %.1e  %s\n", c->name, part->name, (long long)size, largest,
               worst, passed ? "ok" : "FAILED");
    }
    free(fast);
    free(plain);
    tape_free(&numeric);
    return failures;
}

/* ---- operations ---- */

static const int32_t ids[6] = {3, 1, 4, 1, 5, 0}, targets[6] = {1, 4, 1, 5, 0, 2};

static Tensor *build_embedding(Case *c, Tape *t) {
    return embedding(t, c->tensors[0], ids, 2, 3);
}
static Tensor *build_linear(Case *c, Tape *t) {
    return linear(t, c->tensors[0], c->tensors[1], c->tensors[2]);
}
/* x appears twice, as input and as residual: its two gradients must add up. */
static Tensor *build_linear_twice(Case *c, Tape *t) {
    return linear(t, c->tensors[0], c->tensors[1], c->tensors[0]);
}
static Tensor *build_add(Case *c, Tape *t) {
    Tensor *twice = add(t, c->tensors[0], c->tensors[0]);
    return add(t, add(t, twice, c->tensors[1]), twice);
}
static Tensor *build_rmsnorm(Case *c, Tape *t) {
    Tensor *y = rmsnorm(t, c->tensors[0], c->tensors[1], 1e-5, true);
    return add(t, y, linear(t, y, c->tensors[2], c->tensors[0])); /* two readers of a transient */
}
static Tensor *build_swiglu(Case *c, Tape *t) {
    return swiglu(t, c->tensors[0]);
}
static Tensor *build_activation(Case *c, Tape *t) {
    return activation(t, c->tensors[0], *(const Activation *)c->options);
}
static Tensor *build_attention(Case *c, Tape *t) {
    return attention(t, c->tensors[0], c->options);
}
static Tensor *build_attention_with_tables(Case *c, Tape *t) {
    AttentionOptions options = *(const AttentionOptions *)c->options;
    memcpy(options.tables, c->tensors + 1, sizeof options.tables);
    return attention(t, c->tensors[0], &options);
}
static Tensor *build_head(Case *c, Tape *t) {
    static const real weights[6] = {1, 0, 2, 1, (real)0.5, 1};
    real losses[6];
    head_loss(t, c->tensors[0], c->tensors[1], &(HeadLoss){targets, weights, 0.2, losses, NULL});
    c->loss = 0;
    for (int i = 0; i < 6; i++) c->loss += 0.2 * (double)(weights[i] * losses[i]);
    return NULL;
}

/* Declares parameters of the given shapes as inputs, checks, frees. Shapes end with a 0. */
static int check_operation(const char *name, Tensor *(*build)(Case *, Tape *), const void *options,
                           const int64_t shapes[][4]) {
    static const char *const names[4] = {"input 1", "input 2", "input 3", "input 4"};
    Parameters p = {0};
    Case c = {.name = name, .parameters = &p, .build = build, .options = options};
    for (int i = 0; i < 4 && shapes[i][0]; i++) {
        int64_t rows = shapes[i][0] * (shapes[i][2] ? shapes[i][1] : 1);
        int64_t columns = shapes[i][2] ? shapes[i][2] : shapes[i][1];
        c.tensors[i] = parameters_declare_one(&p, names[i], rows, columns, INIT_ONES);
        if (shapes[i][2]) { /* (B, T, C) */
            c.tensors[i]->rank = 3;
            memcpy(c.tensors[i]->shape, shapes[i], 3 * sizeof(int64_t));
        }
    }
    Error error;
    if (!parameters_allocate(&p, &error)) return 1;
    for (int64_t i = 0; i < p.size; i++) p.values[i] = (real)draw();
    int failures = check(&c);
    parameters_free(&p);
    return failures;
}

/* Tables inside attention, over more rows than one block has: one layer's hooks of a scheme, with
 * the tables as inputs of the operation. */
static int check_tables(const char *name, const PositionConfig *scheme, bool causal,
                        const int64_t shapes[][4]) {
    ModelConfig config = {.context_length = 70,
                          .d_model = 4,
                          .num_layers = 1,
                          .num_heads = 2,
                          .num_kv_heads = 2,
                          .position = *scheme};
    Parameters parameters = {0};
    Error error;
    Position *position = position_create(&config, &parameters, &error);
    if (position) position_declare_layer(position, &parameters, 0);
    if (!position || !position_prepare(position, 70, &error)) {
        printf("%s: %s\n", name, error.message);
        return 1;
    }
    AttentionOptions options = {
        .num_heads = 2, .num_kv_heads = 2, .causal = causal, .hooks = position_hooks(position, 0)};
    int failures = check_operation(name, build_attention_with_tables, &options, shapes);
    position_free(position);
    parameters_free(&parameters);
    return failures;
}

static int check_all_tables(void) {
    const PositionConfig t5 = {.type = POSITION_T5, .buckets = 8, .max_distance = 40};
    const PositionConfig window = {.type = POSITION_WINDOW, .max_distance = 70};
    const PositionConfig shaw = {.type = POSITION_SHAW, .max_distance = 5, .values = true};
    const PositionConfig xl = {.type = POSITION_TRANSFORMER_XL};
    int failures = check_tables("t5, long", &t5, true, (int64_t[][4]){{1, 70, 12}, {8, 2}, {0}});
    failures += check_tables("window, long, no mask", &window, false,
                             (int64_t[][4]){{1, 70, 12}, {139, 2}, {0}});
    for (int causal = 0; causal < 2; causal++) {
        failures += check_tables(causal ? "shaw, long" : "shaw, long, no mask", &shaw, causal,
                                 (int64_t[][4]){{1, 70, 12}, {11, 2}, {11, 2}, {0}});
        failures += check_tables(
            causal ? "transformer_xl, long" : "transformer_xl, long, no mask", &xl, causal,
            (int64_t[][4]){{1, 70, 12}, {2, 2}, {2, 2}, {causal ? 70 : 139, 4}, {0}});
    }
    return failures;
}

static int check_operations(void) {
    static const int32_t starts[10] = {0, 0, 2, 2, 2, 0, 1, 1, 3, 4};
    static const Activation silu = ACTIVATION_SILU, relu = ACTIVATION_RELU, gelu = ACTIVATION_GELU;
    AttentionOptions causal = {.num_heads = 2, .num_kv_heads = 2, .causal = true};
    AttentionOptions grouped = {.num_heads = 4, .num_kv_heads = 2, .causal = true};
    AttentionOptions open = {.num_heads = 2, .num_kv_heads = 2};
    AttentionOptions documents = causal;
    documents.document_start = starts;
    int failures = 0;
    failures += check_operation("embedding", build_embedding, NULL, (int64_t[][4]){{6, 4}, {0}});
    failures += check_operation("linear", build_linear, NULL,
                                (int64_t[][4]){{2, 3, 5}, {4, 5}, {2, 3, 4}, {0}});
    failures += check_operation("linear, x also residual", build_linear_twice, NULL,
                                (int64_t[][4]){{2, 3, 5}, {5, 5}, {0}});
    failures += check_operation("add", build_add, NULL, (int64_t[][4]){{3, 5}, {3, 5}, {0}});
    failures +=
        check_operation("rmsnorm", build_rmsnorm, NULL, (int64_t[][4]){{3, 5}, {5}, {5, 5}, {0}});
    failures += check_operation("swiglu", build_swiglu, NULL, (int64_t[][4]){{3, 10}, {0}});
    failures += check_operation("silu", build_activation, &silu, (int64_t[][4]){{3, 5}, {0}});
    failures += check_operation("relu", build_activation, &relu, (int64_t[][4]){{3, 5}, {0}});
    failures += check_operation("gelu", build_activation, &gelu, (int64_t[][4]){{3, 5}, {0}});
    failures +=
        check_operation("attention", build_attention, &causal, (int64_t[][4]){{2, 70, 12}, {0}});
    failures += check_operation("attention, grouped", build_attention, &grouped,
                                (int64_t[][4]){{2, 5, 16}, {0}});
    failures += check_operation("attention, no mask", build_attention, &open,
                                (int64_t[][4]){{2, 5, 12}, {0}});
    failures += check_operation("attention, documents", build_attention, &documents,
                                (int64_t[][4]){{2, 5, 12}, {0}});
    failures +=
        check_operation("head and loss", build_head, NULL, (int64_t[][4]){{2, 3, 4}, {6, 4}, {0}});
    return failures;
}

/* ---- whole models ---- */

static Tensor *build_model(Case *c, Tape *t) {
    enum { B = 2, T = 6, N = B * T };
    static const int32_t x[N] = {1, 3, 5, 7, 9, 2, 4, 4, 4, 0, 10, 6};
    static const int32_t y[N] = {3, 5, 7, 9, 2, 1, 4, 4, 0, 10, 6, 8};
    static const int32_t starts[N] = {0, 0, 2, 2, 2, 5, 0, 0, 0, 3, 3, 3};
    real losses[N];
    ModelInput input = {.B = B, .T = T, .ids = x};
    if (c->model->config.document_mask) input.document_start = starts;
    model_loss(c->model, t, &input, &(HeadLoss){y, NULL, 1.0 / N, losses, NULL});
    c->loss = 0;
    for (int i = 0; i < N; i++) c->loss += (double)losses[i] / N;
    return NULL;
}

static int check_model(const char *name, const ModelConfig *config, bool recompute) {
    Error error;
    Model *model = model_create(config, false, &error);
    if (!model || !position_prepare(model->position, config->context_length, &error)) {
        printf("%s: %s\n", name, error.message);
        return 1;
    }
    model_initialize(model, 7);
    /* Biases and gains that start at 0 or 1 would hide mistakes. */
    for (int64_t i = 0; i < model->parameters.part_count; i++) {
        const Parameter *part = &model->parameters.parts[i];
        for (int64_t k = 0; k < parameter_size(part); k++)
            model->parameters.values[part->offset + k] += (real)(0.1 * draw());
    }
    Case c = {.name = name,
              .parameters = &model->parameters,
              .build = build_model,
              .model = model,
              .recompute = recompute,
              /* frequencies count times the position: they bend the loss more */
              .step = config->position.type == POSITION_SINUSOIDAL_LEARNED ? STEP / 5 : STEP};
    int failures = check(&c);
    model_free(model);
    return failures;
}

/* One model per scheme and option. */
static int check_positions(const ModelConfig *base) {
    static const struct {
        const char *name;
        PositionConfig position;
    } schemes[] = {
        {"sinusoidal", {.type = POSITION_SINUSOIDAL}},
        {"sinusoidal, concat", {.type = POSITION_SINUSOIDAL, .inject = INJECT_CONCAT}},
        {"sinusoidal, gate", {.type = POSITION_SINUSOIDAL, .inject = INJECT_GATE}},
        {"sinusoidal_learned", {.type = POSITION_SINUSOIDAL_LEARNED}},
        {"sinusoidal_learned, halves",
         {.type = POSITION_SINUSOIDAL_LEARNED, .layout = LAYOUT_HALF}},
        {"sinusoidal_learned, gate", {.type = POSITION_SINUSOIDAL_LEARNED, .inject = INJECT_GATE}},
        {"learned", {.type = POSITION_LEARNED}},
        {"learned, stretched", {.type = POSITION_LEARNED, .stretch = 9}},
        {"learned, concat", {.type = POSITION_LEARNED, .inject = INJECT_CONCAT}},
        {"learned, gate", {.type = POSITION_LEARNED, .inject = INJECT_GATE}},
        {"rope yarn",
         {.type = POSITION_ROPE,
          .scaling = {ROPE_SCALING_YARN, 4, 4, .beta_fast = 32, .beta_slow = 1}}},
        {"rope dynamic_ntk", {.type = POSITION_ROPE, .scaling = {ROPE_SCALING_DYNAMIC_NTK, 4, 4}}},
        {"t5", {.type = POSITION_T5, .buckets = 4, .max_distance = 5}},
        {"window", {.type = POSITION_WINDOW, .max_distance = 6}},
        {"shaw", {.type = POSITION_SHAW, .max_distance = 3, .values = true}},
        {"shaw, keys only", {.type = POSITION_SHAW, .max_distance = 3}},
        {"transformer_xl", {.type = POSITION_TRANSFORMER_XL}},
        {"alibi", {.type = POSITION_ALIBI}},
        {"index", {.type = POSITION_INDEX}},
    };
    int failures = 0;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        ModelConfig c = *base;
        c.position = schemes[i].position;
        c.position.base = 10000;
        c.position.fraction = 1;
        failures += check_model(schemes[i].name, &c, false);
    }
    /* recomputed, with a document mask, and with key heads that several query heads share */
    ModelConfig c = *base;
    c.num_kv_heads = 1;
    c.document_mask = true;
    c.position = (PositionConfig){.type = POSITION_SHAW, .max_distance = 2, .values = true};
    failures += check_model("shaw, grouped, recomputed", &c, true);
    c.position.type = POSITION_TRANSFORMER_XL;
    failures += check_model("transformer_xl, grouped, recomputed", &c, true);
    c.position = (PositionConfig){.type = POSITION_T5, .buckets = 4, .max_distance = 5};
    failures += check_model("t5, grouped, recomputed", &c, true);
    c.position = (PositionConfig){.type = POSITION_LEARNED, .inject = INJECT_CONCAT};
    failures += check_model("learned, concat, recomputed", &c, true);
    return failures;
}

static int check_models(void) {
    const ModelConfig base = {.vocab_size = 11,
                              .context_length = 6,
                              .d_model = 8,
                              .num_layers = 2,
                              .num_heads = 2,
                              .num_kv_heads = 2,
                              .d_ff = 12,
                              .norm = NORM_PRE,
                              .norm_eps = 1e-5,
                              .ffn = FFN_SWIGLU,
                              .position = {.type = POSITION_ROPE, .base = 10000, .fraction = 1}};
    int failures = check_model("model", &base, false);
    failures += check_model("model, recomputed", &base, true);
    ModelConfig c;
#define VARIANT(name, ...) c = base, __VA_ARGS__, failures += check_model("model, " name, &c, false)
    VARIANT("post-norm", c.norm = NORM_POST);
    failures += check_model("model, post-norm, recomputed", &c, true);
    VARIANT("no norm", c.norm = NORM_NONE);
    VARIANT("SiLU", c.ffn = FFN_SILU);
    VARIANT("ReLU", c.ffn = FFN_RELU);
    VARIANT("GELU", c.ffn = FFN_GELU);
    VARIANT("tied head", c.tie_embeddings = true);
    VARIANT("rope half", c.position.layout = LAYOUT_HALF);
    VARIANT("rope on values", c.position.rotate_values = true);
    VARIANT("rope on half of a head", c.position.fraction = 0.5);
    VARIANT("no positions", c.position.type = POSITION_NONE);
    failures += check_positions(&base);
    VARIANT("grouped heads", c.num_kv_heads = 1);
    VARIANT("document mask", c.document_mask = true);
#undef VARIANT
    return failures;
}

int main(void) {
    parallel_start(1);
    printf("%-34s %-34s %6s  %-8s  %-7s\n", "case", "parameter", "size", "max|g|", "error");
    int failures = check_operations() + check_all_tables() + check_models();
    printf("%s: %d tensors above %.0e\n", failures ? "FAILED" : "all gradients agree", failures,
           LIMIT);
    return failures != 0;
}
