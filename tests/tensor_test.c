/* The fast operations against their plain twins, the numbers at the edges, and the tape's memory. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers.h"

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "model/transformer.h"
#include "tensor/attention.h"
#include "tensor/packed_product.h"
#include "tensor/cross_entropy.h"
#include "tensor/elementwise.h"
#include "tensor/plain/plain.h"
#include "tensor/rmsnorm.h"

static uint64_t drawn = 0;
static double draw(void) {
    return 2 * random_uniform(3, RANDOM_TEST, drawn++) - 1;
}

static real *random_values(int64_t count) {
    real *values = allocate((size_t)count, sizeof *values);
    for (int64_t i = 0; i < count; i++) values[i] = (real)draw();
    return values;
}

/* Largest difference relative to the largest magnitude (at least 0.1: values come from sums of
 * products of numbers around 1, whose rounding does not shrink with the sum). */
static void assert_close(const real *a, const real *b, int64_t count, double tolerance) {
    double largest = 0.1, difference = 0;
    for (int64_t i = 0; i < count; i++) {
        assert_false(isnan(a[i]));
        largest = fmax(largest, fabs((double)b[i]));
        difference = fmax(difference, fabs((double)a[i] - (double)b[i]));
    }
    if (difference > tolerance * largest) fail_msg("differs by %g of %g", difference, largest);
}

/* ---- products ---- */

/* The definition. */
static real element(MatmulOperand x, int64_t row, int64_t column) {
    return x.data[x.transposed ? column * x.stride + row : row * x.stride + column];
}

static void plain_matmul(int64_t m, int64_t n, int64_t k, real alpha, MatmulOperand a,
                         MatmulOperand b, real beta, real *c, int64_t ldc) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += (double)element(a, i, l) * (double)element(b, l, j);
            real *to = &c[i * ldc + j];
            *to = (real)((double)alpha * sum) + (beta == 0 ? 0 : beta * *to);
        }
}

static void test_matmul_by_hand(void **state) {
    (void)state;
    const real a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2};
    real c[3];
    matmul(3, 1, 2, 1, (MatmulOperand){a, 2, false}, (MatmulOperand){b, 1, false}, 0, c, 1);
    assert_true(c[0] == 5 && c[1] == 11 && c[2] == 17);
}

/* All transpositions, strides wider than the matrix, sizes around the split, a beta of 0 over NaN. */
static void test_matmul_random(void **state) {
    (void)state;
    for (int round = 0; round < 400; round++) {
        int64_t limit = round < 300 ? 20 : 150;
        int64_t m = 1 + (int64_t)((draw() + 1) / 2 * (double)limit);
        int64_t n = 1 + (int64_t)((draw() + 1) / 2 * (double)limit);
        int64_t k = 1 + (int64_t)((draw() + 1) / 2 * (double)limit);
        if (round % 5 == 0) m = 1;
        bool ta = round & 1, tb = round & 2;
        real beta = round % 3 == 0 ? 0 : (round % 3 == 1 ? 1 : (real)-0.5);
        int64_t lda = (ta ? m : k) + round % 4, ldb = (tb ? k : n) + round % 3, ldc = n + round % 5;
        real *a = random_values((ta ? k : m) * lda), *b = random_values((tb ? n : k) * ldb);
        real *c = random_values(m * ldc), *d = allocate((size_t)(m * ldc), sizeof *d);
        memcpy(d, c, (size_t)(m * ldc) * sizeof *d);
        if (beta == 0)
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) c[i * ldc + j] = d[i * ldc + j] = (real)NAN;
        MatmulOperand A = {a, lda, ta}, B = {b, ldb, tb};
        matmul(m, n, k, (real)0.7, A, B, beta, c, ldc);
        plain_matmul(m, n, k, (real)0.7, A, B, beta, d, ldc);
        assert_close(c, d, m * ldc, 1e-5); /* the padding between rows must be untouched too */
        free(a);
        free(b);
        free(c);
        free(d);
    }
}

/* Against the plain product: rows beside whole tiles, columns that end within a vector, both ways to
 * lay out B, a beta of 0 over NaN; nothing outside of C is touched. */
static void test_panel_product(void **state) {
    (void)state;
    for (int round = 0; round < 300; round++) {
        int64_t m = 1 + (int64_t)((draw() + 1) / 2 * 40), n = 1 + (int64_t)((draw() + 1) / 2 * 100);
        int64_t k = 1 + (int64_t)((draw() + 1) / 2 * 50);
        bool ta = round & 1, packed = round & 2;
        real beta = round % 3 == 0 ? 0 : (round % 3 == 1 ? 1 : (real)-0.5);
        int64_t lda = (ta ? m : k) + round % 4, ldb = packed ? k : n, ldc = n + round % 5;
        real *a = random_values((ta ? k : m) * lda);
        /* What follows the last row is read and must not matter. */
        int64_t size = (packed ? n : k) * ldb;
        real *b = random_values(size + LANES);
        for (int64_t i = 0; !packed && i < LANES; i++) b[size + i] = (real)NAN;
        real *c = random_values(m * ldc), *d = allocate((size_t)(m * ldc), sizeof *d);
        for (int64_t i = 0; beta == 0 && i < m; i++)
            for (int64_t j = 0; j < n; j++) c[i * ldc + j] = (real)NAN;
        memcpy(d, c, (size_t)(m * ldc) * sizeof *d);
        real *panels = packed ? allocate((size_t)packed_size(n, k), sizeof *panels) : NULL;
        PackedMatrix B = packed ? pack_transposed(n, k, b, panels) : (PackedMatrix){b, ldb, PANEL};
        MatmulOperand A = {a, lda, ta}, plain_B = {b, ldb, packed};
        packed_product(m, n, k, (real)0.7, A, B, beta, c, ldc);
        plain_matmul(m, n, k, (real)0.7, A, plain_B, beta, d, ldc);
        for (int64_t i = 0; i < m; i++) {
            assert_close(c + i * ldc, d + i * ldc, n, 1e-5);
            assert_memory_equal(c + i * ldc + n, d + i * ldc + n, (size_t)(ldc - n) * sizeof *c);
        }
        free(a);
        free(b);
        free(c);
        free(d);
        free(panels);
    }
}

static void test_sums_and_maxima(void **state) {
    (void)state;
    for (int64_t n = 0; n < 70; n++) {
        real *a = random_values(n + 1), *b = random_values(n + 1), largest = -HUGE_VALF;
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += (double)a[i] * (double)b[i];
            if (a[i] > largest) largest = a[i];
        }
        assert_true(fabs((double)real_dot(n, a, b) - sum) < 1e-5);
        assert_true(real_max(n, a) == largest);
        if (n > 1) {
            a[n / 2] = (real)NAN;
            assert_false(isnan(real_max(n, a)));
            assert_true(isnan(real_dot(n, a, b)));
        }
        free(a);
        free(b);
    }
}

/* ---- row operations ---- */

static void test_exp(void **state) {
    (void)state;
    double worst = 0;
    for (double x = -87; x < 88.5; x += 0.001)
        worst = fmax(worst, fabs((double)real_exp((real)x) / exp((double)(real)x) - 1));
    assert_true(worst < 3e-7);
    assert_true(real_exp(0) == 1);
    assert_true(real_exp((real)-1000) == 0);
    assert_true(real_exp(-HUGE_VALF) == 0);
    assert_true(isinf(real_exp((real)1000)));
    assert_true(isnan(real_exp((real)NAN)));
#ifndef REAL_IS_double
    /* whatever the low bits of a NaN hold: 2^n is put together from bits */
    const uint32_t nans[] = {0x7FC00000, 0x7FC00001, 0xFFC00001,
                             0x7F800001, 0x7FC000FF, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        real x;
        memcpy(&x, &nans[i], sizeof x);
        assert_true(isnan(real_exp(x)));
    }
#endif
}

/* Values and slopes of the activations over their whole range, by numbers worked out elsewhere and
 * against their twins. */
static void test_activations(void **state) {
    (void)state;
    static const struct {
        Activation function;
        double x, y, slope;
    } rows[] = {
        {ACTIVATION_GELU, 1, 0.8413447460685429, 1.0833154705876864},
        {ACTIVATION_GELU, -2, -0.0455002638963584, -0.0852318010781970},
        {ACTIVATION_GELU, 0.5, 0.345731230635, 0.8674951246640},
        {ACTIVATION_SILU, 2, 1.7615941559557649, 1.0907842487848955},
        {ACTIVATION_SILU, -1, -0.2689414213699951, 0.0723294881285125},
        {ACTIVATION_RELU, 3, 3, 1},
        {ACTIVATION_RELU, -3, 0, 0},
    };
    enum { N = 2000 };
    Parameters p = {0};
    Tensor *x = parameters_declare_one(&p, "x", 1, N, INIT_ONES);
    Error error;
    assert_true(parameters_allocate(&p, &error));
    real ones[N], y[2][N], slopes[2][N];
    for (int i = 0; i < N; i++) ones[i] = 1;
    for (int f = 0; f < 3; f++) {
        for (int i = 0; i < N; i++) x->data[i] = (real)(i * 0.02 - 20);
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) x->data[r] = (real)rows[r].x;
        for (int plain = 0; plain < 2; plain++) {
            Tape tape;
            tape_init(&tape, p.count, TAPE_RECORD);
            tape.plain = plain;
            tape.gradients = slopes[plain];
            tape_begin_gradients(&tape);
            Tensor *out = activation(&tape, x, (Activation)f);
            memcpy(y[plain], out->data, sizeof y[plain]);
            tape_seed_gradient(&tape, out, ones);
            tape_backward(&tape);
            tape_free(&tape);
        }
        assert_close(y[0], y[1], N, 2e-7);
        assert_close(slopes[0], slopes[1], N, 1e-6);
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            if (rows[r].function != (Activation)f) continue;
            assert_true(fabs((double)y[0][r] - rows[r].y) < 1e-6);
            assert_true(fabs((double)slopes[0][r] - rows[r].slope) < 1e-6);
        }
    }
    parameters_free(&p);
}

static Tensor *fake_parameter(Parameters *p, const char *name, int64_t rows, int64_t columns) {
    return parameters_declare_one(p, name, rows, columns, INIT_ONES);
}

/* The same small network, once fast and once plain: values and all gradients must agree. */
static void run_network(Parameters *p, Tensor *const *w, bool plain, bool recompute,
                        real *gradients, real *output) {
    static const int32_t ids[6] = {0, 3, 2, 2, 1, 4};
    Tape tape;
    tape_init(&tape, p->count, TAPE_RECORD);
    tape.plain = plain;
    tape.recompute = recompute;
    tape.gradients = gradients;
    tape_begin_gradients(&tape);
    Tensor *x = embedding(&tape, w[0], ids, 2, 3);
    TapeCheckpoint checkpoint = tape_checkpoint_begin(&tape, x);
    Tensor *y = rmsnorm(&tape, x, w[1], 1e-5, true);
    Tensor *hidden = linear(&tape, y, w[2], NULL);
    x = tape_checkpoint_end(&tape, &checkpoint, linear(&tape, swiglu(&tape, hidden), w[3], x));
    for (int f = 0; f < 3; f++) {
        Tensor *h = activation(&tape, linear(&tape, x, w[4], NULL), (Activation)f);
        x = add(&tape, x, linear(&tape, h, w[3], NULL));
    }
    real *ones = random_values(tensor_size(x));
    for (int64_t i = 0; i < tensor_size(x); i++) ones[i] = (real)cos((double)i);
    tape_seed_gradient(&tape, x, ones);
    memcpy(output, x->data, (size_t)tensor_size(x) * sizeof(real));
    tape_backward(&tape);
    tape_end_gradients(&tape, p->tensors, p->count);
    tape_free(&tape);
    free(ones);
}

static void test_network_plain_and_recomputed(void **state) {
    (void)state;
    enum { C = 24, F = 33 };
    Parameters p = {0};
    Tensor *w[5] = {fake_parameter(&p, "embedding", 5, C), fake_parameter(&p, "gain", C, 0),
                    fake_parameter(&p, "w13", 2 * F, C), fake_parameter(&p, "w2", C, F),
                    fake_parameter(&p, "w1", F, C)};
    Error error;
    assert_true(parameters_allocate(&p, &error));
    for (int64_t i = 0; i < p.size; i++) p.values[i] = (real)draw();
    real *fast = allocate_zeroed((size_t)p.size, sizeof(real)),
         *plain = allocate_zeroed((size_t)p.size, sizeof(real)),
         *again = allocate_zeroed((size_t)p.size, sizeof(real));
    real y[3][6 * C];
    run_network(&p, w, false, false, fast, y[0]);
    run_network(&p, w, true, false, plain, y[1]);
    run_network(&p, w, false, true, again, y[2]);
    assert_close(y[0], y[1], 6 * C, 1e-5);
    assert_close(fast, plain, p.size, 5e-5); /* it grows ten thousandfold on the way back */
    /* Recomputing in backward gives the very same bits. */
    assert_memory_equal(y[0], y[2], sizeof y[0]);
    assert_memory_equal(fast, again, (size_t)p.size * sizeof(real));
    free(fast);
    free(plain);
    free(again);
    parameters_free(&p);
}

/* A transient that nothing reads, and one that is the output of a checkpoint: in every mode the memory is
 * steady and the bits are the same. */
static void test_transients_of_a_checkpoint(void **state) {
    (void)state;
    enum { C = 24, N = 6 * C };
    static const int32_t ids[6] = {0, 3, 2, 2, 1, 4};
    Parameters p = {0};
    Tensor *table = fake_parameter(&p, "embedding", 5, C), *gain = fake_parameter(&p, "gain", C, 0),
           *w = fake_parameter(&p, "w", C, C);
    Error error;
    assert_true(parameters_allocate(&p, &error));
    for (int64_t i = 0; i < p.size; i++) p.values[i] = (real)draw();
    real *gradients = allocate_zeroed((size_t)p.size, sizeof(real)),
         *expected = allocate_zeroed((size_t)p.size, sizeof(real)), output[N], ones[N];
    for (int i = 0; i < N; i++) ones[i] = (real)cos(i);
    for (int kind = 0; kind < 3; kind++) { /* keeping all, recomputing, evaluating */
        Tape tape;
        tape_init(&tape, p.count, kind < 2 ? TAPE_RECORD : TAPE_EVALUATE);
        tape.recompute = kind == 1;
        tape.gradients = gradients;
        size_t first = 0;
        for (int pass = 0; pass < 4; pass++) {
            tape_begin_gradients(&tape);
            Tensor *x = embedding(&tape, table, ids, 2, 3);
            for (int layer = 0; layer < 3; layer++) {
                TapeCheckpoint checkpoint = tape_checkpoint_begin(&tape, x);
                rmsnorm(&tape, x, gain, 1e-5, true); /* unread */
                Tensor *h = linear(&tape, rmsnorm(&tape, x, gain, 1e-5, true), w, x);
                x = tape_checkpoint_end(&tape, &checkpoint, rmsnorm(&tape, h, gain, 1e-5, true));
            }
            x = linear(&tape, x, w, NULL);
            if (kind + pass == 0) memcpy(output, x->data, sizeof output);
            assert_memory_equal(output, x->data, sizeof output);
            if (kind < 2) {
                tape_seed_gradient(&tape, x, ones);
                tape_backward(&tape);
                tape_end_gradients(&tape, p.tensors, p.count);
                if (kind + pass == 0) memcpy(expected, gradients, (size_t)p.size * sizeof(real));
                assert_memory_equal(expected, gradients, (size_t)p.size * sizeof(real));
            }
            for (int64_t i = 0; i < tape.pooled_count; i++) /* held once each */
                for (int64_t k = 0; k < i; k++)
                    assert_ptr_not_equal(tape.pooled[i]->data, tape.pooled[k]->data);
            tape_reset(&tape);
            if (pass == 0) first = tape_peak_bytes(&tape);
            assert_int_equal(tape_peak_bytes(&tape), first);
        }
        tape_free(&tape);
    }
    free(gradients);
    free(expected);
    parameters_free(&p);
}

/* ---- attention ---- */

static void check_attention(int64_t B, int64_t T, int64_t H, int64_t G, int64_t D, bool causal,
                            bool documents) {
    int64_t width = (H + 2 * G) * D;
    Parameters p = {0};
    Tensor *qkv = fake_parameter(&p, "qkv", B * T, width);
    qkv->rank = 3, qkv->shape[0] = B, qkv->shape[1] = T, qkv->shape[2] = width;
    Error error;
    assert_true(parameters_allocate(&p, &error));
    for (int64_t i = 0; i < p.size; i++) p.values[i] = (real)(3 * draw());
    int32_t *starts = allocate_zeroed((size_t)(B * T), sizeof *starts);
    for (int64_t i = 0; documents && i < B * T; i++) /* of other lengths in each sequence */
        starts[i] = (int32_t)(i % T / (3 + i / T) * (3 + i / T));
    int64_t sizes[3] = {B * T * H * D, p.size, B * H * T * T}; /* output, gradient, weights */
    real *dout = random_values(sizes[0]), *values[2][3];
    for (int plain = 0; plain < 2; plain++) {
        real **v = values[plain];
        for (int i = 0; i < 3; i++) v[i] = allocate_zeroed((size_t)sizes[i], sizeof(real));
        Tape tape;
        tape_init(&tape, p.count, TAPE_RECORD);
        tape.plain = plain;
        tape.gradients = v[1];
        AttentionOptions options = {.num_heads = H,
                                    .num_kv_heads = G,
                                    .causal = causal,
                                    .document_start = documents ? starts : NULL,
                                    .weights = v[2]};
        tape_begin_gradients(&tape);
        Tensor *out = attention(&tape, qkv, &options);
        tape_seed_gradient(&tape, out, dout);
        memcpy(v[0], out->data, (size_t)sizes[0] * sizeof(real));
        tape_backward(&tape);
        tape_free(&tape);
    }
    for (int i = 0; i < 3; i++) {
        assert_close(values[0][i], values[1][i], sizes[i], i == 1 ? 2e-5 : 1e-5);
        free(values[0][i]);
        free(values[1][i]);
    }
    free(dout);
    free(starts);
    parameters_free(&p);
}

static void test_attention(void **state) {
    (void)state;
    check_attention(2, 7, 2, 2, 8, true, false);
    check_attention(1, 1, 1, 1, 2, true, false);
    check_attention(2, 64, 2, 1, 4, true, false);
    check_attention(1, 65, 4, 2, 6, true, false);
    check_attention(1, 200, 2, 2, 16, true, false);
    check_attention(1, 70, 2, 2, 8, false, false);
    check_attention(1, 100, 2, 1, 32, true, true);
    check_attention(2, 37, 3, 3, 48, true, false);
    check_attention(1, 50, 2, 2, 64, false, true);
    check_attention(1, 16, 1, 1, 128, true, false);
    check_attention(2, 90, 4, 2, 24, true, true);
    check_attention(1, 45, 1, 1, 41, true, false);
    check_attention(2, 70, 2, 2, 8, true, true);
}

static int64_t draw_whole(int64_t low, int64_t high) {
    return low + (int64_t)((draw() + 1) / 2 * (double)(high - low + 1));
}

/* Heads of any size, odd ones and 1 among them, and lengths on both sides of blocks and vectors. */
static void test_attention_of_random_shapes(void **state) {
    (void)state;
    for (int round = 0; round < 150; round++) {
        int64_t B = draw_whole(1, 3), G = draw_whole(1, 3), H = G * draw_whole(1, 3);
        check_attention(B, draw_whole(1, 40), H, G, draw_whole(1, 35), round % 4 != 0, round % 2);
    }
}

/* A row that may attend to nothing at all gets zeros, not NaN. */
static void test_attention_nothing_allowed(void **state) {
    (void)state;
    enum { T = 3, D = 2 };
    real qkv[T * 3 * D], weights[T * T];
    for (int i = 0; i < T * 3 * D; i++) qkv[i] = (real)draw();
    int32_t starts[T] = {0, 2, 2}; /* row 1 would have to look into the future */
    Tensor x = tensor_constant("qkv", qkv, 3, (int64_t[]){1, T, 3 * D});
    Tape tape;
    tape_init(&tape, 0, TAPE_EVALUATE);
    AttentionOptions options = {.num_heads = 1,
                                .num_kv_heads = 1,
                                .causal = true,
                                .document_start = starts,
                                .weights = weights};
    Tensor *out = attention(&tape, &x, &options);
    for (int d = 0; d < D; d++) assert_true(out->data[D + d] == 0);
    assert_true(out->data[0] == qkv[2 * D]);
    tape_free(&tape);
}

/* ---- loss ---- */

static void test_cross_entropy_edges(void **state) {
    (void)state;
    static const struct {
        real logits[3];
        int32_t target;
        double loss;
    } rows[] = {{{1000, 0, -1000}, 0, 0},
                {{1000, 0, -1000}, 2, 2000},
                {{5, 5, 5}, 1, 1.0986122886681098},
                {{10001, 10000, 9999}, 1, 1.4076059644443804},
                {{(real)88.8, (real)88.8, -HUGE_VALF}, 0, 0.6931471805599453},
                {{-10000, -10002, -20000}, 0, 0.1269280110429726}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        real fast[3], plain[3];
        memcpy(fast, rows[i].logits, sizeof fast);
        memcpy(plain, rows[i].logits, sizeof plain);
        double loss = (double)cross_entropy_row(fast, 3, rows[i].target, (real)0.5);
        plain_cross_entropy_row(plain, 3, rows[i].target, (real)0.5);
        assert_true(fabs(loss - rows[i].loss) <= 1e-5 * fmax(1, rows[i].loss));
        assert_true(loss >= 0);
        assert_close(fast, plain, 3, 1e-5);
    }
    real one[1] = {-3};
    assert_true(cross_entropy_row(one, 1, 0, 1) == 0);
    assert_true(one[0] == 0);
}

/* More rows than a chunk of logits has, weights and a gradient that is there already: loss and gradients
 * as the formula says. */
static void test_head_over_chunks(void **state) {
    (void)state;
    enum { N = 2500, C = 3, V = 7 };
    Parameters p = {0};
    Tensor *x = fake_parameter(&p, "x", N, C), *w = fake_parameter(&p, "head", V, C);
    Error error;
    assert_true(parameters_allocate(&p, &error));
    for (int64_t i = 0; i < p.size; i++) p.values[i] = (real)draw();
    real *weights = random_values(N), *losses = allocate(N, sizeof *losses);
    int32_t *targets = allocate(N, sizeof *targets);
    for (int i = 0; i < N; i++) targets[i] = i * 5 % V, weights[i] = i % 4 ? weights[i] + 1 : 0;
    Tape tape;
    tape_init(&tape, p.count, TAPE_RECORD);
    tape.gradients = allocate_zeroed((size_t)p.size, sizeof(real));
    tape_begin_gradients(&tape);
    for (int pass = 0; pass < 2; pass++) {
        head_loss(&tape, x, w, &(HeadLoss){targets, weights, 0.25, losses, NULL});
        tape_backward(&tape);
        tape_reset(&tape);
    }
    real *expected = allocate_zeroed((size_t)p.size, sizeof(real));
    for (int n = 0; n < N; n++) {
        double z[V], sum = 0;
        for (int j = 0; j < V; j++) {
            z[j] = 0;
            for (int c = 0; c < C; c++)
                z[j] += (double)x->data[n * C + c] * (double)w->data[j * C + c];
            sum += exp(z[j]);
        }
        assert_true(fabs((double)losses[n] - (log(sum) - z[targets[n]])) < 1e-5);
        for (int j = 0; j < V; j++)
            for (int c = 0; c < C; c++) {
                double dz = 0.5 * (double)weights[n] * (exp(z[j]) / sum - (j == targets[n]));
                expected[x->offset + n * C + c] += (real)(dz * (double)w->data[j * C + c]);
                expected[w->offset + j * C + c] += (real)(dz * (double)x->data[n * C + c]);
            }
    }
    assert_close(tape.gradients + x->offset, expected + x->offset, N * C, 1e-5);
    assert_close(tape.gradients + w->offset, expected + w->offset, V * C, 1e-4);
    void *all[] = {weights, losses, targets, tape.gradients, expected};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    tape_free(&tape);
    parameters_free(&p);
}

/* Of equal logits the first one is the prediction, wherever they stand in a long row. With one column
 * that is 1 the weights are the logits. */
static void test_predictions(void **state) {
    (void)state;
    enum { MOST = 1000 };
    static const int64_t sizes[] = {1, 2, 7, 255, 256, 257, 511, 512, 513, MOST};
    real one = 1, logits[MOST], loss;
    int32_t target = 0, prediction;
    HeadLoss head = {&target, NULL, 1, &loss, &prediction};
    Tape tape;
    tape_init(&tape, 0, TAPE_EVALUATE);
    Tensor x = tensor_constant("x", &one, 2, (int64_t[]){1, 1});
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t V = sizes[i];
        for (int64_t first = 0; first < V; first += V < 300 ? 1 : 13) {
            for (int64_t j = 0; j < V; j++) logits[j] = (real)draw() - 10;
            for (int64_t j = first; j < V; j += 1 + (j * 7) % 260) logits[j] = 9;
            Tensor weight = tensor_constant("head", logits, 2, (int64_t[]){V, 1});
            head_loss(&tape, &x, &weight, &head);
            tape_reset(&tape);
            assert_int_equal(prediction, first);
        }
    }
    for (int j = 0; j < MOST; j++) logits[j] = -HUGE_VALF;
    logits[700] = -1000;
    logits[3] = logits[999] = NAN; /* passed over */
    Tensor weight = tensor_constant("head", logits, 2, (int64_t[]){MOST, 1});
    head_loss(&tape, &x, &weight, &head);
    assert_int_equal(prediction, 700);
    tape_free(&tape);
}

/* ---- memory ---- */

/* What cannot be had is named in bytes. */
static void test_out_of_memory(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip_because("the address sanitizer ends the program itself");
#endif
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        Arena arena = {0};
        dup2(ends[1], STDERR_FILENO);
        arena_take(&arena, (size_t)1 << 62);
        _exit(0);
    }
    close(ends[1]);
    char text[200] = "";
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_string_equal(text, "tinylm: out of memory (1 elements of 4611686018427387904 bytes)\n");
}

static Model *small_model(void) {
    ModelConfig config = {.vocab_size = 50,
                          .context_length = 16,
                          .d_model = 32,
                          .num_layers = 3,
                          .num_heads = 4,
                          .num_kv_heads = 2,
                          .d_ff = 64,
                          .norm_eps = 1e-5,
                          .position = {.type = POSITION_ROPE, .base = 10000, .fraction = 1}};
    Error error;
    Model *model = model_create(&config, false, &error);
    assert_non_null(model);
    model_initialize(model, 5);
    assert_true(position_prepare(model->position, 16, &error));
    return model;
}

/* Tables that end too early are not read past their end. */
static void test_positions_not_prepared(void **state) {
    (void)state;
    Model *model = small_model();
    model->position->prepared = 15;
    int32_t ids[16] = {0};
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork(); /* without threads: OpenMP does not work there */
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        parallel_set_share(1);
        model_hidden(model, &tape, &(ModelInput){.B = 1, .T = 16, .ids = ids});
        _exit(0);
    }
    close(ends[1]);
    char text[500] = "";
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "position_prepare has not been called"));
    tape_free(&tape);
    model_free(model);
}

/* After the first step a step takes no memory; a plan predicts what the first one takes. */
static void test_memory_is_steady_and_predicted(void **state) {
    (void)state;
    for (int recompute = 0; recompute < 2; recompute++) {
        Model *model = small_model();
        int32_t ids[32], targets[32];
        real losses[32];
        for (int i = 0; i < 32; i++) ids[i] = i, targets[i] = i + 1;
        ModelInput input = {.B = 2, .T = 16, .ids = ids};
        HeadLoss loss = {targets, NULL, 1.0 / 32, losses, NULL};
        Tape plan, tape;
        tape_init(&plan, model->parameters.count, TAPE_PLAN);
        tape_init(&tape, model->parameters.count, TAPE_RECORD);
        tape.gradients = allocate_zeroed((size_t)model->parameters.size, sizeof(real));
        plan.recompute = tape.recompute = recompute;
        model_loss(model, &plan, &input, &loss);
        tape_backward(&plan);
        size_t first = 0;
        for (int step = 0; step < 3; step++) {
            tape_begin_gradients(&tape);
            model_loss(model, &tape, &input, &loss);
            tape_backward(&tape);
            tape_reset(&tape);
            if (step == 0) first = tape_peak_bytes(&tape);
            assert_int_equal(tape_peak_bytes(&tape), first);
        }
        assert_int_equal(tape_peak_bytes(&plan), first);
        free(tape.gradients);
        tape_free(&tape);
        tape_free(&plan);
        model_free(model);
    }
}

/* Keeping nothing: with `recompute` the activations of a deep model take less. */
static void test_recompute_takes_less(void **state) {
    (void)state;
    size_t bytes[2];
    for (int recompute = 0; recompute < 2; recompute++) {
        Model *model = small_model();
        int32_t ids[16] = {0};
        Tape tape;
        tape_init(&tape, model->parameters.count, TAPE_PLAN);
        tape.recompute = recompute;
        model_loss(model, &tape, &(ModelInput){.B = 1, .T = 16, .ids = ids}, &(HeadLoss){0});
        tape_backward(&tape);
        bytes[recompute] = tape_peak_bytes(&tape);
        tape_free(&tape);
        model_free(model);
    }
    assert_true(bytes[1] < bytes[0] * 3 / 4);
}

/* A parameter is announced once, when its last contribution has been added. */
static void count_final(void *context, const Tensor *parameter) {
    ((int *)context)[parameter->parameter]++;
}

static void test_final_gradients_are_announced(void **state) {
    (void)state;
    Model *model = small_model();
    int32_t ids[16] = {0}, targets[16] = {0};
    real losses[16];
    int counts[64] = {0};
    Tape tape;
    tape_init(&tape, model->parameters.count, TAPE_RECORD);
    tape.gradients = allocate_zeroed((size_t)model->parameters.size, sizeof(real));
    tape.on_final = count_final;
    tape.on_final_context = counts;
    for (int pass = 0; pass < 2; pass++) {
        tape.last_pass = pass == 1;
        model_loss(model, &tape, &(ModelInput){.B = 1, .T = 16, .ids = ids},
                   &(HeadLoss){targets, NULL, 1, losses, NULL});
        tape_backward(&tape);
        tape_reset(&tape);
    }
    for (int64_t i = 0; i < model->parameters.count; i++) assert_int_equal(counts[i], 1);
    free(tape.gradients);
    tape_free(&tape);
    model_free(model);
}

/* What an earlier step left in the buffer counts for nothing: the first writer overwrites, later ones
 * add, and a parameter that nobody used gets zeros. */
static void test_gradients_begin_anew(void **state) {
    (void)state;
    enum { C = 5 };
    Parameters p = {0};
    Tensor *x = fake_parameter(&p, "x", 2, C), *unused = fake_parameter(&p, "unused", C, 0);
    Error error;
    assert_true(parameters_allocate(&p, &error));
    Tape tape;
    tape_init(&tape, p.count, TAPE_RECORD);
    tape.gradients = allocate_zeroed((size_t)p.size, sizeof(real));
    for (int64_t i = 0; i < p.size; i++) tape.gradients[i] = 9;
    tape_begin_gradients(&tape);
    real ones[2 * C];
    for (int i = 0; i < 2 * C; i++) ones[i] = 1;
    for (int pass = 0; pass < 2; pass++) {
        tape_seed_gradient(&tape, add(&tape, x, x), ones);
        tape_backward(&tape);
        tape_reset(&tape);
    }
    tape_end_gradients(&tape, p.tensors, p.count);
    for (int i = 0; i < 2 * C; i++) assert_true(tape.gradients[x->offset + i] == 4);
    for (int i = 0; i < C; i++) assert_true(tape.gradients[unused->offset + i] == 0);
    free(tape.gradients);
    tape_free(&tape);
    parameters_free(&p);
}

int main(void) {
    parallel_start(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_by_hand),
        cmocka_unit_test(test_matmul_random),
        cmocka_unit_test(test_panel_product),
        cmocka_unit_test(test_sums_and_maxima),
        cmocka_unit_test(test_exp),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_network_plain_and_recomputed),
        cmocka_unit_test(test_transients_of_a_checkpoint),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_of_random_shapes),
        cmocka_unit_test(test_attention_nothing_allowed),
        cmocka_unit_test(test_cross_entropy_edges),
        cmocka_unit_test(test_head_over_chunks),
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_gradients_begin_anew),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_positions_not_prepared),
        cmocka_unit_test(test_memory_is_steady_and_predicted),
        cmocka_unit_test(test_recompute_takes_less),
        cmocka_unit_test(test_final_gradients_are_announced),
    };
    return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
