/* Generation: the same ids with and without a cache, for any cut of the prompt, alone or in a
 * batch. */
#include "generation_helpers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "generation/generator.h"

enum { MOST = 64, STORIES = 5, V = 40 };

/* What a run of generate told, by story. */
typedef struct Told {
    int32_t ids[STORIES][MOST];
    real logits[MOST][V]; /* of story 0 */
    int64_t count[STORIES];
    int64_t ends[STORIES];   /* a story ends with this many tokens; 0: it does not */
    int64_t interrupt_after; /* tokens of story 0; 0: never */
} Told;

static bool take(void *context, const GeneratedToken *token) {
    Told *told = context;
    assert_true(token->story >= 0 && token->story < STORIES && token->index < MOST);
    assert_int_equal(token->index, told->count[token->story]);
    told->ids[token->story][token->index] = token->id;
    told->count[token->story]++;
    if (token->story == 0) memcpy(told->logits[token->index], token->logits, V * sizeof(real));
    return told->count[token->story] != told->ends[token->story];
}

static bool interrupted(void *context) {
    const Told *told = context;
    return told->interrupt_after > 0 && told->count[0] >= told->interrupt_after;
}

static GeneratorOptions options_for(Told *told, int64_t max_tokens) {
    *told = (Told){0};
    return (GeneratorOptions){.stories = 1,
                              .max_tokens = max_tokens,
                              .sampler = {.top_p = 1, .repetition_penalty = 1}, /* greedy */
                              .separator = 3,
                              .token = take,
                              .context = told,
                              .interrupted = interrupted};
}

static void run(const Model *model, const int32_t *prompt, int64_t count,
                const GeneratorOptions *options) {
    Error error;
    if (!generate(model, prompt, count, options, NULL, &error)) fail_msg("%s", error.message);
}

static void draw_prompt(int32_t *prompt, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        prompt[i] = (int32_t)random_below(9, RANDOM_TEST, (uint64_t)i, V);
}

static void the_window_follows_its_rule(void **state) {
    (void)state;
    for (int64_t L = 1; L < 20; L++) {
        int64_t begin = 0; /* as if tokens came one by one */
        for (int64_t n = 1; n < 200; n++) {
            if (n - begin > L) begin = n - 1 - L / 2;
            assert_int_equal(generator_window(n, L), begin);
        }
    }
}

static void assert_same(const Told *a, const Told *b, int64_t count) {
    assert_int_equal(a->count[0], count);
    assert_int_equal(b->count[0], count);
    assert_memory_equal(a->ids[0], b->ids[0], (size_t)count * sizeof a->ids[0][0]);
    for (int64_t i = 0; i < count; i++)
        for (int64_t v = 0; v < V; v++)
            assert_true(fabs((double)(a->logits[i][v] - b->logits[i][v])) < 1e-4);
}

/* Prompts of 1, T − 1, T, T + 1 and many tokens; the prompt whole, one by one, and in blocks of
 * 3. */
static void assert_cache_changes_nothing(const ModelConfig *config) {
    Model *model = tiny_model(config);
    static Told whole, other;
    int32_t prompt[1000];
    draw_prompt(prompt, 1000);
    int64_t T = config->context_length;
    const int64_t lengths[] = {1, T - 1, T, T + 1, 1000};
    for (int k = 0; k < 5; k++) {
        GeneratorOptions options = options_for(&whole, 40);
        if (lengths[k] < 1) continue;
        run(model, prompt, lengths[k], &options);
        options = options_for(&other, 40);
        options.no_cache = true;
        run(model, prompt, lengths[k], &options);
        assert_same(&whole, &other, 40);
        for (int64_t block = 1; block <= 3; block += 2) {
            options = options_for(&other, 40);
            options.block = block;
            run(model, prompt, lengths[k], &options);
            assert_same(&whole, &other, 40);
        }
    }
    model_free(model);
}

static void the_cache_changes_nothing(void **state) {
    (void)state;
    const ModelConfig base = tiny_config();
    ModelConfig config = base;
    assert_cache_changes_nothing(&config);
    config.num_kv_heads = 1, config.position.layout = LAYOUT_HALF;
    assert_cache_changes_nothing(&config);
    config = base, config.norm = NORM_POST, config.tie_embeddings = true, config.ffn = FFN_GELU;
    assert_cache_changes_nothing(&config);
    config = base, config.norm = NORM_NONE, config.position.type = POSITION_NONE;
    assert_cache_changes_nothing(&config);
    config = base,
    config.position.scaling =
        (RopeScaling){.type = ROPE_SCALING_DYNAMIC_NTK, .factor = 4, .original_context = 16};
    assert_cache_changes_nothing(&config);
    config = base, config.document_mask = true;
    assert_cache_changes_nothing(&config);
    config = base, config.context_length = 1;
    assert_cache_changes_nothing(&config);
    config = base, config.context_length = 3;
    assert_cache_changes_nothing(&config);
}

static void whatever_the_positions(void **state) {
    (void)state;
    for (int type = 0; type < POSITION_TYPE_COUNT; type++) {
        ModelConfig config = tiny_config();
        config.position.type = (PositionType)type;
        config.position.buckets = 8;
        config.position.max_distance = config.context_length;
        config.position.values = true;
        assert_cache_changes_nothing(&config);
    }
}

/* Logits after the last of `count` ids, from one pass over all of them by a model of its own. */
static void logits_of_one_pass(const ModelConfig *config, const int32_t *ids, int64_t count,
                               real out[V]) {
    Model *model = tiny_model(config);
    Error error;
    Tape tape;
    assert_true(position_prepare(model->position, count, &error));
    tape_init(&tape, model->parameters.count, TAPE_EVALUATE);
    ModelInput input = {.B = 1, .T = count, .ids = ids};
    Tensor *logits = model_logits(model, &tape, model_hidden(model, &tape, &input));
    memcpy(out, logits->data + (count - 1) * V, V * sizeof(real));
    tape_free(&tape);
    model_free(model);
}

/* With dynamic_ntk each token is drawn from the logits of one pass over the text so far, below and
 * above the original context. */
static void dynamic_frequencies_are_those_of_the_text_so_far(void **state) {
    (void)state;
    ModelConfig config = tiny_config();
    config.context_length = 40;
    config.position.scaling =
        (RopeScaling){.type = ROPE_SCALING_DYNAMIC_NTK, .factor = 4, .original_context = 16};
    Model *model = tiny_model(&config);
    static Told told;
    int32_t ids[40];
    draw_prompt(ids, 10);
    GeneratorOptions options = options_for(&told, 30);
    options.block = 3;
    run(model, ids, 10, &options);
    memcpy(ids + 10, told.ids[0], 30 * sizeof *ids);
    double change = 0;
    for (int64_t n = 10; n < 40; n++) {
        real wanted[V], plain[V];
        logits_of_one_pass(&config, ids, n, wanted);
        for (int v = 0; v < V; v++)
            assert_true(fabs((double)(told.logits[n - 10][v] - wanted[v])) < 2e-4);
        ModelConfig unscaled = config;
        unscaled.position.scaling = (RopeScaling){0};
        logits_of_one_pass(&unscaled, ids, n, plain);
        for (int v = 0; v < V; v++) change = fmax(change, fabs((double)(plain[v] - wanted[v])));
        if (n <= 16) assert_true(change == 0);
    }
    assert_true(change > 0.01);
    model_free(model);
}

/* With a document mask a token sees nothing from before the last separator: the ids after it are
 * those that follow when the prompt begins there. */
static void documents_do_not_see_each_other(void **state) {
    (void)state;
    ModelConfig config = tiny_config();
    config.document_mask = true;
    Model *model = tiny_model(&config);
    static Told whole, part;
    int32_t prompt[20];
    draw_prompt(prompt, 20);
    for (int64_t i = 0; i < 20; i++) prompt[i] += prompt[i] == 3; /* but for one separator */
    prompt[11] = 3;
    GeneratorOptions options = options_for(&whole, 6);
    run(model, prompt, 20, &options);
    options = options_for(&part, 6);
    run(model, prompt + 12, 8, &options);
    assert_same(&whole, &part, 6);
    options = options_for(&part, 6);
    options.separator = -1;
    run(model, prompt, 20, &options);
    double difference = 0;
    for (int v = 0; v < V; v++)
        difference += fabs((double)(whole.logits[0][v] - part.logits[0][v]));
    assert_true(difference > 0.01);
    model_free(model);
}

/* The ids of a story depend on its number and the seed, not on who else is in the batch and when
 * the others end. */
static void a_batch_tells_what_single_stories_tell(void **state) {
    (void)state;
    const ModelConfig config = tiny_config();
    Model *model = tiny_model(&config);
    static Told all, one, again;
    int32_t prompt[20];
    draw_prompt(prompt, 20);
    GeneratorOptions options = options_for(&all, 50);
    options.stories = STORIES;
    options.sampler.temperature = 1;
    options.seed = 11;
    run(model, prompt, 20, &options);
    for (int64_t k = 0; k < STORIES; k++) {
        options = options_for(&one, 50);
        options.stories = STORIES;
        options.sampler.temperature = 1;
        options.seed = 11;
        for (int64_t j = 0; j < STORIES; j++) one.ends[j] = j == k ? 0 : 1;
        run(model, prompt, 20, &options);
        assert_int_equal(one.count[k], 50);
        assert_int_equal(one.count[(k + 1) % STORIES], 1);
        assert_memory_equal(all.ids[k], one.ids[k], 50 * sizeof all.ids[0][0]);
        for (int64_t j = 0; j < k; j++)
            assert_memory_not_equal(all.ids[k], all.ids[j], 50 * sizeof all.ids[0][0]);
    }
    /* Places in the batch move up while the caches differ; the window moves after 12 tokens. */
    for (uint64_t round = 0; round < 20; round++) {
        options = options_for(&one, 50);
        options.stories = STORIES;
        options.sampler.temperature = 1;
        options.seed = 11;
        for (uint64_t j = 0; j < STORIES; j++)
            one.ends[j] = 1 + (int64_t)random_below(round, RANDOM_TEST, j, 18);
        run(model, prompt, 20, &options);
        for (int64_t j = 0; j < STORIES; j++) {
            assert_int_equal(one.count[j], one.ends[j]);
            assert_memory_equal(all.ids[j], one.ids[j], (size_t)one.ends[j] * sizeof all.ids[0][0]);
        }
    }
    options = options_for(&again, 50);
    options.sampler.temperature = 1;
    options.seed = 11;
    run(model, prompt, 20, &options); /* a batch of one is story 0 */
    assert_memory_equal(all.ids[0], again.ids[0], 50 * sizeof all.ids[0][0]);
    options.seed = 12;
    again = (Told){0};
    run(model, prompt, 20, &options);
    assert_memory_not_equal(all.ids[0], again.ids[0], 50 * sizeof all.ids[0][0]);
    model_free(model);
}

/* Rows that stand for no token have by far the largest logits. */
static void padded_rows_are_never_drawn(void **state) {
    (void)state;
    const ModelConfig config = tiny_config();
    Model *model = tiny_model(&config);
    uint8_t excluded[V] = {0};
    int64_t C = config.d_model;
    for (int64_t i = 30; i < V; i++) {
        excluded[i] = 1;
        for (int64_t c = 0; c < C; c++) model->lm_head->data[i * C + c] *= 1000;
    }
    static Told told;
    for (int temperature = 0; temperature < 3; temperature++) {
        GeneratorOptions options = options_for(&told, MOST);
        options.stories = STORIES;
        options.sampler.temperature = temperature;
        options.excluded = excluded;
        run(model, (int32_t[]){1, 2, 3}, 3, &options);
        for (int64_t s = 0; s < STORIES; s++)
            for (int64_t i = 0; i < MOST; i++) assert_in_range(told.ids[s][i], 0, 29);
    }
    model_free(model);
}

static void any_number_of_tokens_can_be_asked_for(void **state) {
    (void)state;
    const ModelConfig config = tiny_config();
    Model *model = tiny_model(&config);
    static Told told;
    GeneratorOptions options = options_for(&told, 0);
    run(model, (int32_t[]){5}, 1, &options);
    assert_int_equal(told.count[0], 0);
    options = options_for(&told, 1);
    GeneratorTimes times;
    Error error;
    assert_true(generate(model, (int32_t[]){5}, 1, &options, &times, &error));
    assert_int_equal(told.count[0], 1);
    assert_int_equal(times.prompt_tokens, 1);
    assert_int_equal(times.tokens, 0);
    options = options_for(&told, MOST);
    told.interrupt_after = 7;
    run(model, (int32_t[]){5}, 1, &options);
    assert_int_equal(told.count[0], 7);
    model_free(model);
}

static void assert_refused(const Model *model, const int32_t *prompt, int64_t count,
                           const GeneratorOptions *options, const char *part) {
    Error error = {""};
    assert_false(generate(model, prompt, count, options, NULL, &error));
    if (!strstr(error.message, part)) fail_msg("'%s' does not say '%s'", error.message, part);
}

static void what_cannot_be_done_is_refused(void **state) {
    (void)state;
    const ModelConfig config = tiny_config();
    Model *model = tiny_model(&config);
    static Told told;
    GeneratorOptions options = options_for(&told, 5);
    assert_refused(model, (int32_t[]){1}, 0, &options, "prompt is empty");
    assert_refused(model, (int32_t[]){1, V}, 2, &options, "id 40 of the prompt");
    assert_refused(model, (int32_t[]){-1}, 1, &options, "id -1 of the prompt");
    options.sampler.top_k = -1;
    assert_refused(model, (int32_t[]){1}, 1, &options, "top-k -1");
    options = options_for(&told, 5);
    model->lm_head->data[7 * config.d_model] = NAN;
    assert_refused(model, (int32_t[]){1}, 1, &options, "token 7");
    model_free(model);
}

int main(void) {
    parallel_start(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_follows_its_rule),
        cmocka_unit_test(the_cache_changes_nothing),
        cmocka_unit_test(whatever_the_positions),
        cmocka_unit_test(dynamic_frequencies_are_those_of_the_text_so_far),
        cmocka_unit_test(documents_do_not_see_each_other),
        cmocka_unit_test(a_batch_tells_what_single_stories_tell),
        cmocka_unit_test(padded_rows_are_never_drawn),
        cmocka_unit_test(any_number_of_tokens_can_be_asked_for),
        cmocka_unit_test(what_cannot_be_done_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
