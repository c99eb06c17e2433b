/* Autoregressive generation from a prompt.                                          [handout §6]
 *
 * The prompt goes through the model in one pass (a very long one in blocks of positions); each further
 * token is a pass of one position, in which attention reads the keys and values of earlier positions
 * from a cache. Several samples ("stories") of one prompt form a batch: reading the weights, which
 * limits the speed, is shared by all of them.
 *
 * The model attends to at most context_length = L tokens. A sequence of n ≤ L tokens is seen whole.
 * When a token would be the (L + 1)th of the window, the window keeps its last ⌊L/2⌋ tokens, at
 * positions from 0 on, and takes the new one; so it always begins at
 *   0 for n ≤ L, else at ⌈(n − L) / s⌉ · s with s = L − ⌊L/2⌋,
 * which depends on n alone: neither the blocks of the prompt nor the cache change
 * the result. With dynamic_ntk all tokens of a window are rotated by the frequencies of its present
 * length, as in evaluate and in one forward pass of transformers; past the original context each
 * further token therefore recomputes the window. (transformers' generate() with its cache leaves
 * the older keys as they were rotated; with use_cache=False it agrees.) */
#ifndef TINYLM_GENERATION_GENERATOR_H
#define TINYLM_GENERATION_GENERATOR_H

#include "generation/sampler.h"
#include "model/transformer.h"

/* First token that the model sees of a sequence of n ≥ 1, when it can see L at a time. */
int64_t generator_window(int64_t n, int64_t L);

typedef struct GeneratedToken {
    int64_t story; /* 0 … stories − 1 */
    int64_t index; /* 0 for the first one after the prompt */
    int32_t id;
    const real *logits; /* (vocab_size) what it was drawn from, valid during the call */
} GeneratedToken;

typedef struct GeneratorOptions {
    int64_t stories;    /* ≥ 1 */
    int64_t max_tokens; /* ≥ 0, of each story */
    /* Token n of story i (counted with the prompt) is drawn with the random number
     * (seed, RANDOM_SAMPLING, (i << 32) + n), so that a story does not depend on its neighbours. */
    uint64_t seed;
    SamplerConfig sampler;
    const uint8_t *excluded; /* (vocab_size) 1 for ids that are no token; or NULL */
    int64_t separator;       /* id between documents, for models with document_mask; −1: none */
    /* Called with each token, story by story; returning false ends that story. */
    bool (*token)(void *context, const GeneratedToken *token);
    void *context;
    /* Called between two tokens; returning true ends everything. May be NULL. */
    bool (*interrupted)(void *context);

    int64_t block; /* most positions of the prompt in one pass; 0: 512 */
    bool no_cache; /* recompute the whole window for each token: the definition, for the tests */
} GeneratorOptions;

/* The first token of a story comes with the prompt; `tokens` counts the others, of all stories. */
typedef struct GeneratorTimes {
    int64_t prompt_tokens, tokens;
    double prompt_seconds, seconds;
} GeneratorTimes;

/* The errors that generate finds before its first token: an empty prompt, an id outside of the
 * vocabulary, settings out of range. */
bool generate_check(const Model *model, const int32_t *prompt, int64_t count,
                    const GeneratorOptions *options, Error *error);

/* Continues `prompt` (count ≥ 1 ids). `times` may be NULL. Errors: those of generate_check; logits
 * that are not finite. */
bool generate(const Model *model, const int32_t *prompt, int64_t count,
              const GeneratorOptions *options, GeneratorTimes *times, Error *error);

#endif
