/* Token files and the windows over them: the shortest files that hold a window, ids that do not fit,
 * files and models whose sizes do not fit in 32 bits. */
#include "formats_helpers.h"

#include <fcntl.h>

#include "base/parallel.h"
#include "formats/npy.h"
#include "generation_helpers.h"
#include "training/batches.h"
#include "training/corpus.h"
#include "training/evaluation.h"
#include "training/train_step.h"

enum { T = 16 };

/* ---- files ---- */

static void save_ids(const char *path, NpyType type, const uint32_t *ids, size_t count) {
    NpyWriter writer;
    Error error;
    assert_true(npy_writer_open(&writer, path, type, &error));
    assert_true(npy_writer_write(&writer, ids, count));
    assert_true(npy_writer_commit(&writer, &error));
}

/* The ids 0, 1, 2, … */
static const char *save_ascending(const char *name, int64_t count) {
    uint32_t ids[64];
    for (uint32_t i = 0; i < 64; i++) ids[i] = i;
    const char *path = scratch_path(name);
    save_ids(path, NPY_UINT16, ids, (size_t)count);
    return path;
}

/* Opens a file of ids as training data with a context of T; false with a message. */
static bool open_corpus(const char *path, int vocab_size, Error *error) {
    char *text =
        string_format("{\"data\": {\"train\": \"%s\", \"valid\": \"%s\"},"
                      " \"model\": {\"vocab_size\": %d, \"context_length\": %d, \"d_model\": 8,"
                      " \"num_layers\": 1, \"num_heads\": 2},"
                      " \"training\": {\"batch_size\": 1, \"max_steps\": 1}}",
                      path, path, vocab_size, T);
    TrainConfig *config = train_config_parse(text, strlen(text), "config", NULL, 0, error);
    if (!config) fail_msg("%s", error->message);
    Corpus corpus;
    bool opened = corpus_open(&corpus, config, &(CorpusOptions){.cache = scratch}, error);
    if (opened) corpus_close(&corpus);
    train_config_free(config);
    free(text);
    return opened;
}

/* The shared file of raw ids under the name of an .npy file, or NULL where there is none. */
static const char *shared_ids(const char *name) {
    char shared[64];
    snprintf(shared, sizeof shared, "cases/data/%s", name);
    const char *source = case_path(shared);
    if (!source) return NULL;
    size_t size;
    char *bytes = read_bytes(source, &size);
    uint32_t ids[256];
    assert_true(size / 2 <= 256);
    for (size_t i = 0; i < size / 2; i++)
        ids[i] = (uint8_t)bytes[2 * i] | (uint32_t)(uint8_t)bytes[2 * i + 1] << 8;
    free(bytes);
    const char *path = scratch_path("shared.npy");
    save_ids(path, NPY_UINT16, ids, size / 2);
    return path;
}

/* ---- windows ---- */

/* Draws windows from a file of n ids: each of the n − T starts comes about equally often, and a row
 * holds T ids from there and the T that follow them. */
static void check_windows(const char *path, int64_t n) {
    NpyArray ids;
    Error error;
    if (!npy_open(&ids, path, &error)) fail_msg("%s", error.message);
    assert_int_equal(ids.count, n);
    enum { ROWS = 4, DRAWS = 2000 };
    WindowSource source = {.ids = &ids, .seed = 3, .rows_per_step = ROWS, .T = T};
    BatchSource batches = window_source(&source);
    int64_t starts = n - T, hits[64] = {0};
    for (int64_t draw = 0; draw < DRAWS * starts; draw++) {
        int32_t inputs[T], targets[T];
        real weights[T];
        batches.fill(batches.context, draw / ROWS, draw % ROWS, inputs, targets, weights);
        int64_t start = window_start(3, draw / ROWS, draw % ROWS, ROWS, n, T);
        assert_in_range(start, 0, starts - 1);
        hits[start]++;
        for (int64_t t = 0; t < T; t++) {
            assert_int_equal(inputs[t], npy_get(&ids, start + t));
            assert_int_equal(targets[t], npy_get(&ids, start + t + 1));
            assert_true(weights[t] == 1);
        }
    }
    for (int64_t start = 0; start < starts; start++) assert_in_range(hits[start], 1600, 2400);
    npy_close(&ids);
}

CASES_TEST(every_window_is_drawn) {
    for (int64_t n = T + 1; n <= T + 5; n++) check_windows(save_ascending("ids.npy", n), n);
    const char *path = shared_ids("d01_17_ids.u16");
    if (path) check_windows(path, 17);
    if (path) check_windows(shared_ids("d01_18_ids.u16"), 18);
}

TEST(windows_do_not_depend_on_how_a_step_is_split) {
    for (int64_t step = 0; step < 20; step++)
        for (int64_t row = 0; row < 8; row++)
            for (int64_t other = 0; other < 20 * 8; other++) {
                bool same = other == step * 8 + row;
                int64_t a = window_start(3, step, row, 8, INT64_C(1) << 50, T);
                int64_t b = window_start(3, other / 8, other % 8, 8, INT64_C(1) << 50, T);
                assert_true((a == b) == same);
            }
    assert_true(window_start(3, 0, 0, 8, 1 << 30, T) != window_start(4, 0, 0, 8, 1 << 30, T));
}

CASES_TEST(a_file_too_short_is_refused) {
    Error error;
    for (int64_t n = 0; n <= T; n++) {
        assert_false(open_corpus(save_ascending("ids.npy", n), 100, &error));
        assert_non_null(strstr(error.message, "ids.npy"));
    }
    assert_true(open_corpus(save_ascending("ids.npy", T + 1), 100, &error));
    const char *path = shared_ids("d01_16_ids.u16");
    if (path) assert_false(open_corpus(path, 100, &error));
    if (path) assert_false(open_corpus(shared_ids("d02_empty.u16"), 100, &error));
    /* half an id at the end */
    size_t size;
    char *bytes = read_bytes(save_ascending("ids.npy", 40), &size);
    write_bytes(scratch_path("odd.npy"), bytes, size - 1);
    free(bytes);
    assert_false(open_corpus(scratch_path("odd.npy"), 100, &error));
}

/* Opens a file of n ids without a validation file; true when the last `held` are held out and the rest
 * is trained on. Nothing is in both. */
static void check_held_out(int64_t n, int64_t held) {
    uint32_t *ids = allocate((size_t)n, sizeof *ids);
    for (int64_t i = 0; i < n; i++) ids[i] = (uint32_t)i;
    const char *path = scratch_path("whole.npy");
    save_ids(path, NPY_UINT16, ids, (size_t)n);
    free(ids);
    char *text =
        string_format("{\"data\": {\"train\": \"%s\"},"
                      " \"model\": {\"vocab_size\": 65536, \"context_length\": %d, \"d_model\": 8,"
                      " \"num_layers\": 1, \"num_heads\": 2},"
                      " \"training\": {\"batch_size\": 1, \"max_steps\": 1}}",
                      path, T);
    Error error;
    TrainConfig *config = train_config_parse(text, strlen(text), "config", NULL, 0, &error);
    if (!config) fail_msg("%s", error.message);
    Corpus corpus;
    bool opened = corpus_open(&corpus, config, &(CorpusOptions){.cache = scratch}, &error);
    if (held == 0)
        assert_non_null(strstr(error.message, "too few for a training and a validation"));
    assert_true(opened == (held > 0));
    if (opened) {
        assert_int_equal(corpus.train.count, n - held);
        assert_int_equal(corpus.valid.count, held);
        assert_int_equal(npy_get(&corpus.train, n - held - 1), n - held - 1);
        assert_int_equal(npy_get(&corpus.valid, 0), n - held);
        assert_int_equal(npy_get(&corpus.valid, held - 1), n - 1);
        corpus_close(&corpus);
    }
    train_config_free(config);
    free(text);
}

TEST(the_last_ids_are_held_out) {
    check_held_out(5000, 50);         /* 1 % */
    check_held_out(1000, T + 1);      /* at least a window */
    check_held_out(2 * T + 2, T + 1); /* and one to train on */
    check_held_out(2 * T + 1, 0);
}

CASES_TEST(an_id_outside_of_the_vocabulary_is_named) {
    uint32_t ids[40] = {0};
    ids[33] = 100;
    save_ids(scratch_path("ids.npy"), NPY_UINT32, ids, 40);
    Error error;
    assert_true(open_corpus(scratch_path("ids.npy"), 101, &error));
    assert_false(open_corpus(scratch_path("ids.npy"), 100, &error));
    assert_non_null(strstr(error.message, "id 100 at position 33"));
    ids[39] = UINT32_MAX;
    save_ids(scratch_path("ids.npy"), NPY_UINT32, ids, 40);
    assert_false(open_corpus(scratch_path("ids.npy"), 101, &error));
    assert_non_null(strstr(error.message, "id 4294967295 at position 39"));
    const char *path = shared_ids("d04_id_out_of_range.u16");
    if (!path) return;
    assert_false(open_corpus(path, 257, &error));
    assert_non_null(strstr(error.message, "id 300 at position 60"));
}

TEST(ids_at_the_border_of_16_bits) {
    const uint32_t small[] = {0, 1, 65534, 65535}, large[] = {0, 65535, 65536, 131072, UINT32_MAX};
    NpyArray ids;
    NpyWriter writer;
    Error error;
    save_ids(scratch_path("small.npy"), NPY_UINT16, small, 4);
    assert_true(npy_open(&ids, scratch_path("small.npy"), &error));
    for (int64_t i = 0; i < 4; i++) assert_int_equal(npy_get(&ids, i), small[i]);
    npy_close(&ids);
    save_ids(scratch_path("large.npy"), NPY_UINT32, large, 5);
    assert_true(npy_open(&ids, scratch_path("large.npy"), &error));
    for (int64_t i = 0; i < 5; i++) assert_int_equal(npy_get(&ids, i), large[i]);
    npy_close(&ids);
    assert_true(npy_writer_open(&writer, scratch_path("refused.npy"), NPY_UINT16, &error));
    npy_writer_write(&writer, large, 5);
    assert_false(npy_writer_commit(&writer, &error));
    assert_non_null(strstr(error.message, "65536"));
}

/* ---- sizes beyond 32 bits ---- */

/* A file of `count` zeros of which the disk holds only the last few ids, 1, 2, … 5. */
static void save_sparse(const char *path, int64_t count) {
    char header[128] = "\x93NUMPY\x01\x00\x76\x00";
    int used = 10 + snprintf(header + 10, sizeof header - 10,
                             "{'descr': '<u2', 'fortran_order': False, 'shape': (%lld,), }",
                             (long long)count);
    memset(header + used, ' ', sizeof header - (size_t)used);
    header[127] = '\n';
    write_bytes(path, header, sizeof header);
    const uint16_t last[] = {1, 2, 3, 4, 5};
    int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    off_t place = (off_t)sizeof header + (off_t)(count - 5) * 2;
    assert_int_equal(pwrite(file, last, sizeof last, place), sizeof last);
    close(file);
}

static void check_big_file(int64_t count) {
    const char *path = scratch_path("big.npy");
    save_sparse(path, count);
    NpyArray ids;
    Error error;
    if (!npy_open(&ids, path, &error)) fail_msg("%s", error.message);
    assert_int_equal(ids.count, count);
    for (int64_t i = 0; i < 6; i++) assert_int_equal(npy_get(&ids, count - 6 + i), i);
    int64_t least = count, most = 0;
    for (int64_t row = 0; row < 10000; row++) {
        int64_t start = window_start(1, 7, row, 10000, count, T);
        assert_in_range(start, 0, count - T - 1);
        if (start < least) least = start;
        if (start > most) most = start;
    }
    assert_true(least < count / 100 && most > count - count / 100);
    EvaluationWindows windows = evaluation_windows_all(&ids, T, -1);
    assert_int_equal(windows.count, (count - 1 + T - 1) / T);
    windows = evaluation_windows_spread(&ids, T, 100, -1);
    assert_int_equal(windows.last_start, count - T - 1);
    npy_close(&ids);
    unlink(path);
}

TEST(files_of_more_than_two_and_four_gigabytes) {
    check_big_file(INT64_C(1100000000));
    check_big_file(INT64_C(2200000000));
}

/* A model of 12 billion values and a step of 64 × 1024 × 50257 logits, planned only. */
TEST(plans_of_large_models_do_not_wrap) {
    ModelConfig config = tiny_config();
    config.vocab_size = 50257;
    config.context_length = 1024;
    config.d_model = 5120;
    config.num_layers = 40;
    config.num_heads = config.num_kv_heads = 40;
    config.d_ff = 13824;
    Error error;
    Model *model = model_create(&config, true, &error);
    if (!model) fail_msg("%s", error.message);
    int64_t layer = 4 * INT64_C(5120) * 5120 + 3 * INT64_C(13824) * 5120 + 2 * INT64_C(5120);
    int64_t total = 40 * layer + 2 * INT64_C(50257) * 5120 + 5120;
    assert_int_equal(parameters_total(&model->parameters), total);
    OptimizerConfig optimizer = {.type = OPTIMIZER_ADAMW};
    TrainStepConfig step = {.optimizer = &optimizer, .rows = 64, .T = 1024, .separator = -1};
    TrainPlan plan = train_step_plan(model, &step, 2);
    /* weights, two moments and a gradient for each thread, up to a little padding */
    double bytes = 5.0 * (double)total * sizeof(real);
    assert_true((double)plan.parameter_bytes >= bytes &&
                (double)plan.parameter_bytes < 1.001 * bytes);
    assert_true(plan.activation_bytes > 0);
    double products = 6.0 * (40.0 * (double)(layer - 2 * 5120) + 50257.0 * 5120);
    assert_true(plan.flops_per_token > products && plan.flops_per_token < 1.2 * products);
    model_free(model);
}

/* ---- the cache ---- */

static void keep_notice(void *context, const char *line) {
    strncat(context, line, 4000 - strlen(context));
}

/* Opens a text with this cache: its ids must come out the same, and the notices must have `wanted`. */
static void check_cache(const char *cache, const char *wanted) {
    char *text =
        string_format("{\"data\": {\"train\": \"%s\"}, \"tokenizer\": {\"vocab_size\": 260},"
                      " \"model\": {\"context_length\": 4, \"d_model\": 8, \"num_layers\": 1,"
                      " \"num_heads\": 2}, \"training\": {\"batch_size\": 1, \"max_steps\": 1}}",
                      scratch_path("cached.txt"));
    Error error;
    char notices[4096] = "";
    TrainConfig *config = train_config_parse(text, strlen(text), "config", NULL, 0, &error);
    if (!config) fail_msg("%s", error.message);
    Corpus corpus;
    CorpusOptions options = {.cache = cache, .notice = keep_notice, .context = notices};
    if (!corpus_open(&corpus, config, &options, &error)) fail_msg("%s", error.message);
    assert_true(corpus.train.count > 100);
    assert_int_equal(npy_get(&corpus.train, 0), 'x');
    if (!strstr(notices, wanted)) fail_msg("\"%s\" lacks \"%s\"", notices, wanted);
    corpus_close(&corpus);
    train_config_free(config);
    free(text);
}

/* A cache that is damaged or is no folder is a warning, and the run goes on without it. */
TEST(a_bad_cache_is_a_warning) {
    char text[3000];
    for (size_t i = 0; i < sizeof text; i++) text[i] = "xyz xz "[i * i % 7];
    write_bytes(scratch_path("cached.txt"), text, sizeof text);
    write_bytes(scratch_path("no_folder"), "x", 1);
    check_cache(scratch_path("no_folder"), "warning: the cache is not used: ");
    check_cache(scratch_path("cache"), "encoding");
    check_cache(scratch_path("cache"), "");
    char *damage = string_format("for f in '%s'/*.npy '%s'/*/merges.txt; do echo >\"$f\"; done",
                                 scratch_path("cache"), scratch_path("cache"));
    assert_int_equal(system(damage), 0);
    free(damage);
    check_cache(scratch_path("cache"), "warning: the cache is not used: ");
}

int main(void) {
    parallel_start(0);
    return run_all_tests(make_scratch, remove_scratch);
}
