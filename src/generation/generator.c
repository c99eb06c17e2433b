#include "generation/generator.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { DEFAULT_BLOCK = 512 };

/* One sample of the batch. */
typedef struct Story {
    int64_t number;
    int32_t *ids; /* prompt and what follows */
    uint8_t *occurred;
    Sampler sampler;
    int32_t next; /* the id just drawn */
    bool failed, ended;
    Error error;
} Story;

typedef struct Generator {
    const Model *model;
    const GeneratorOptions *options;
    Tape tape;
    Story
        *stories; /* the first `active` ones are unfinished; story i is sequence i of the caches */
    int64_t active;
    int64_t length; /* tokens of each active story */
    int64_t window; /* where the window begins */
    int64_t cached; /* tokens up to here are in the caches */
    KeyValueCache *caches;
    bool shared;     /* before the first token all stories are the same: one row for all */
    int32_t *input;  /* (active, positions of a pass) */
    int32_t *starts; /* the same for document_mask, else NULL */
    real *last;      /* (active, d_model) hidden states of the last position */
} Generator;

int64_t generator_window(int64_t n, int64_t L) {
    int64_t step = L - L / 2;
    return n <= L ? 0 : (n - L + step - 1) / step * step;
}

/* ---- the caches ---- */

/* Copies the cached keys and values of one sequence to another. */
static void copy_cache(const Generator *g, int64_t from, int64_t to) {
    const ModelConfig *c = &g->model->config;
    int64_t D = c->d_model / c->num_heads, filled = g->caches[0].length * D;
    for (int64_t layer = 0; layer < c->num_layers; layer++) {
        const KeyValueCache *cache = &g->caches[layer];
        for (int64_t head = 0; head < c->num_kv_heads; head++) {
            int64_t source = (from * c->num_kv_heads + head) * cache->capacity * D;
            int64_t target = (to * c->num_kv_heads + head) * cache->capacity * D;
            memcpy(cache->k + target, cache->k + source, (size_t)filled * sizeof(real));
            memcpy(cache->v + target, cache->v + source, (size_t)filled * sizeof(real));
        }
    }
}

/* ---- logits ---- */

/* Where the document of each position in [begin, end) begins, counted from the window's
 * beginning. */
static void find_starts(const Generator *g, const int32_t *ids, int64_t begin, int64_t end,
                        int32_t *starts) {
    int64_t start = begin;
    while (start > g->window && ids[start - 1] != g->options->separator) start--;
    for (int64_t t = begin; t < end; t++) {
        starts[t - begin] = (int32_t)(start - g->window);
        if (ids[t] == g->options->separator) start = t + 1;
    }
}

/* Runs positions [begin, end) of the first `rows` stories; returns their hidden states. */
static Tensor *run_pass(Generator *g, int64_t rows, int64_t begin, int64_t end) {
    int64_t T = end - begin;
    for (int64_t i = 0; i < rows; i++) {
        const int32_t *ids = g->stories[i].ids;
        memcpy(g->input + i * T, ids + begin, (size_t)T * sizeof *g->input);
        if (g->starts) find_starts(g, ids, begin, end, g->starts + i * T);
    }
    tape_reset(&g->tape);
    ModelInput input = {
        .B = rows, .T = T, .ids = g->input, .document_start = g->starts, .caches = g->caches};
    Tensor *hidden = model_hidden(g->model, &g->tape, &input);
    if (g->caches) model_advance_caches(g->model, g->caches, T);
    return hidden;
}

/* Logits (rows, vocab_size) after the last token of each active story, with one row for all of them
 * while they are alike. They live until the next call. NULL on error. */
static const real *next_logits(Generator *g, Error *error) {
    int64_t rows = g->shared ? 1 : g->active, C = g->model->config.d_model;
    int64_t window = generator_window(g->length, g->model->config.context_length);
    int64_t seen = g->length - window;
    if (!position_prepare(g->model->position, seen, error)) return NULL;
    if (window != g->window || !g->caches || position_changes_past(&g->model->config, seen)) {
        g->window = g->cached = window;
        for (int64_t i = 0; g->caches && i < g->model->config.num_layers; i++)
            g->caches[i].length = 0;
    }
    int64_t block = g->options->block ? g->options->block : DEFAULT_BLOCK;
    if (!g->caches) block = g->length;
    Tensor *hidden = NULL;
    int64_t T = 0;
    for (int64_t begin = g->cached; begin < g->length; begin += T) {
        T = g->length - begin < block ? g->length - begin : block;
        hidden = run_pass(g, rows, begin, begin + T);
    }
    g->cached = g->length;
    for (int64_t i = 0; i < rows; i++)
        memcpy(g->last + i * C, hidden->data + ((i + 1) * T - 1) * C, (size_t)C * sizeof(real));
    Tensor *last = tape_constant(&g->tape, "last", g->last, 2, (int64_t[]){rows, C});
    return model_logits(g->model, &g->tape, last)->data;
}

/* ---- stories ---- */

static void draw(Generator *g, Story *story, const real *logits) {
    SamplerMasks masks = {.excluded = g->options->excluded, .occurred = story->occurred};
    uint64_t index = ((uint64_t)story->number << 32) + (uint64_t)g->length;
    double u = random_uniform(g->options->seed, RANDOM_SAMPLING, index);
    story->next = sampler_pick(&story->sampler, logits, masks, u, &story->error);
    story->failed = story->next < 0;
}

/* Takes the stories that have ended out of the batch; those after them move up. */
static void close_ranks(Generator *g) {
    int64_t kept = 0;
    for (int64_t i = 0; i < g->active; i++) {
        if (g->stories[i].ended) continue;
        if (kept != i) {
            Story moved = g->stories[kept];
            g->stories[kept] = g->stories[i];
            g->stories[i] = moved;
            if (g->caches) copy_cache(g, i, kept);
        }
        kept++;
    }
    g->active = kept;
}

/* Draws the next token of each active story and hands them out. */
static bool extend(Generator *g, const real *logits, int64_t index, Error *error) {
    const GeneratorOptions *options = g->options;
    int64_t stride = g->shared ? 0 : g->model->config.vocab_size;
    bool worth_a_team = g->active * g->model->config.vocab_size > 1 << 13;
#pragma omp parallel for schedule(static, 1) if (worth_a_team)
    for (int64_t i = 0; i < g->active; i++) draw(g, &g->stories[i], logits + i * stride);
    for (int64_t i = 0; i < g->active; i++) {
        Story *story = &g->stories[i];
        if (story->failed) return error_set(error, "%s", story->error.message);
        story->ids[g->length] = story->next;
        story->occurred[story->next] = 1;
    }
    for (int64_t i = 0; i < g->active; i++) {
        Story *story = &g->stories[i];
        GeneratedToken token = {story->number, index, story->next, logits + i * stride};
        story->ended = !options->token(options->context, &token);
    }
    for (int64_t i = 1; g->shared && g->caches && i < g->active; i++) copy_cache(g, 0, i);
    close_ranks(g);
    g->shared = false;
    g->length++;
    return true;
}

/* ---- all of it ---- */

bool generate_check(const Model *model, const int32_t *prompt, int64_t count,
                    const GeneratorOptions *options, Error *error) {
    if (count < 1)
        return error_set(error,
                         "the prompt is empty, and there is no token to begin with; give one");
    for (int64_t i = 0; i < count; i++)
        if (prompt[i] < 0 || prompt[i] >= model->config.vocab_size)
            return error_set(error,
                             "id %lld of the prompt is not in the model's vocabulary of %lld",
                             (long long)prompt[i], (long long)model->config.vocab_size);
    return sampler_config_check(&options->sampler, error) &&
           position_prepare(model->position, model->config.context_length, error);
}

static void begin_stories(Generator *g, const int32_t *prompt, int64_t count) {
    const GeneratorOptions *options = g->options;
    const ModelConfig *c = &g->model->config;
    int64_t n = options->stories, most = count + options->max_tokens;
    g->stories = allocate_zeroed((size_t)n, sizeof *g->stories);
    for (int64_t i = 0; i < n; i++) {
        Story *story = &g->stories[i];
        story->number = i;
        story->ids = allocate((size_t)most, sizeof *story->ids);
        memcpy(story->ids, prompt, (size_t)count * sizeof *prompt);
        story->occurred = allocate_zeroed((size_t)c->vocab_size, 1);
        for (int64_t k = 0; k < count; k++) story->occurred[prompt[k]] = 1;
        sampler_init(&story->sampler, &options->sampler, c->vocab_size);
    }
    int64_t longest = most < c->context_length ? most : c->context_length;
    g->input = allocate((size_t)(n * longest), sizeof *g->input);
    if (c->document_mask) g->starts = allocate((size_t)(n * longest), sizeof *g->starts);
    g->last = allocate((size_t)(n * c->d_model), sizeof *g->last);
    if (!options->no_cache) g->caches = model_create_caches(g->model, n, longest);
    g->window = -1;
    g->shared = true;
    g->active = n;
    g->length = count;
}

static void end_stories(Generator *g) {
    for (int64_t i = 0; i < g->options->stories; i++) {
        free(g->stories[i].ids);
        free(g->stories[i].occurred);
        sampler_free(&g->stories[i].sampler);
    }
    free(g->stories);
    free(g->input);
    free(g->starts);
    free(g->last);
    model_free_caches(g->caches);
}

bool generate(const Model *model, const int32_t *prompt, int64_t count,
              const GeneratorOptions *options, GeneratorTimes *times, Error *error) {
    GeneratorTimes ignored;
    if (!times) times = &ignored;
    *times = (GeneratorTimes){0};
    if (!generate_check(model, prompt, count, options, error)) return false;
    Generator g = {.model = model, .options = options};
    tape_init(&g.tape, model->parameters.count, TAPE_EVALUATE);
    begin_stories(&g, prompt, count);
    int64_t L = model->config.context_length;
    times->prompt_tokens = count - generator_window(count, L);
    double start = omp_get_wtime();
    bool fine = true;
    for (int64_t i = 0; fine && i < options->max_tokens && g.active > 0; i++) {
        if (options->interrupted && options->interrupted(options->context)) break;
        const real *logits = next_logits(&g, error);
        if (i == 0) times->prompt_seconds = omp_get_wtime() - start;
        if (i > 0) times->tokens += g.active;
        fine = logits && extend(&g, logits, i, error);
    }
    times->seconds = omp_get_wtime() - start - times->prompt_seconds;
    end_stories(&g);
    tape_free(&g.tape);
    return fine;
}
