#include "generation/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/vector_math.h"

/* Below this temperature the likeliest id is taken: a quotient by it could overflow. */
static const double GREEDY_BELOW = 1e-5;
/* Shares are compared with p up to this, which is what a logit's rounding to float leaves of
 * them. */
static const double SHARE_ROUNDING = 1e-6;

SamplerConfig sampler_config_default(void) {
    return (SamplerConfig){.temperature = 1, .top_p = 1, .repetition_penalty = 1};
}

bool sampler_config_check(const SamplerConfig *config, Error *error) {
    if (!(config->temperature >= 0) || isinf(config->temperature))
        return error_set(error, "the temperature %g must be a number from 0 on; 0 is greedy",
                         config->temperature);
    if (config->top_k < 0)
        return error_set(error, "top-k %lld must not be negative; 0 turns it off",
                         (long long)config->top_k);
    if (!(config->top_p > 0 && config->top_p <= 1))
        return error_set(error, "top-p %g must be above 0 and at most 1; 1 turns it off",
                         config->top_p);
    if (!(config->min_p >= 0 && config->min_p <= 1))
        return error_set(error, "min-p %g must be between 0 and 1; 0 turns it off", config->min_p);
    if (!(config->repetition_penalty > 0) || isinf(config->repetition_penalty))
        return error_set(error, "the repetition penalty %g must be above 0; 1 turns it off",
                         config->repetition_penalty);
    return true;
}

void sampler_init(Sampler *sampler, const SamplerConfig *config, int64_t vocab_size) {
    *sampler = (Sampler){.config = *config, .vocab_size = vocab_size};
    sampler->logits = allocate((size_t)vocab_size, sizeof *sampler->logits);
    sampler->candidates = allocate((size_t)vocab_size, sizeof *sampler->candidates);
}

void sampler_free(Sampler *sampler) {
    free(sampler->logits);
    free(sampler->candidates);
    *sampler = (Sampler){0};
}

/* ---- a heap with the likeliest candidate on top ---- */

static bool before(Candidate a, Candidate b) {
    return a.weight > b.weight || (a.weight == b.weight && a.id < b.id);
}

static void sift_down(Candidate *heap, int64_t count, int64_t at) {
    Candidate moved = heap[at];
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(heap[child + 1], heap[child])) child++;
        if (!before(heap[child], moved)) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void swap(Candidate *a, Candidate *b) {
    Candidate kept = *a;
    *a = *b;
    *b = kept;
}

/* Brings the `wanted` likeliest candidates to the front, in order, or fewer: as soon as their
 * weights reach `enough`. Returns how many. The heap shrinks from its end, where the popped ones
 * gather. */
static int64_t select_likeliest(Candidate *candidates, int64_t count, int64_t wanted,
                                double enough) {
    for (int64_t i = count / 2 - 1; i >= 0; i--) sift_down(candidates, count, i);
    double sum = 0;
    int64_t popped = 0;
    while (popped < wanted && popped < count) {
        int64_t last = count - 1 - popped++;
        sum += candidates[0].weight;
        swap(&candidates[0], &candidates[last]);
        sift_down(candidates, last, 0);
        if (sum >= enough) break;
    }
    for (int64_t i = 0; i < count / 2; i++) swap(&candidates[i], &candidates[count - 1 - i]);
    return popped;
}

/* ---- the filters ---- */

static real penalized(real logit, double penalty) {
    double changed = logit > 0 ? (double)logit / penalty : (double)logit * penalty;
    return (real)fmax(fmin(changed, 1e38), -1e38);
}

/* The error for logits that leave nothing to choose from. */
static int32_t refuse(const Sampler *sampler, Error *error) {
    for (int64_t i = 0; i < sampler->vocab_size; i++) {
        if (sampler->logits[i] < HUGE_VALF) continue;
        error_set(error,
                  "the logit of token %lld is not a finite number; the model's weights are damaged",
                  (long long)i);
        return -1;
    }
    error_set(error, "no token is possible: all logits are -infinity");
    return -1;
}

/* Copies the logits with the penalty and the exclusions applied; returns the likeliest id, −1 on
 * error. */
static int32_t adjust_logits(Sampler *sampler, const real *logits, SamplerMasks masks,
                             Error *error) {
    real *out = sampler->logits;
    int64_t V = sampler->vocab_size;
    double penalty = sampler->config.repetition_penalty;
    memcpy(out, logits, (size_t)V * sizeof *out);
    for (int64_t i = 0; masks.excluded && i < V; i++)
        out[i] = masks.excluded[i] ? -HUGE_VALF : out[i];
    for (int64_t i = 0; masks.occurred && penalty != 1 && i < V; i++)
        if (masks.occurred[i] && out[i] > -HUGE_VALF && out[i] < HUGE_VALF)
            out[i] = penalized(out[i], penalty);
    real largest = real_max(V, out);
    int bad = 0; /* NaN or +infinity */
#pragma omp simd reduction(+ : bad)
    for (int64_t i = 0; i < V; i++) bad += !(out[i] < HUGE_VALF);
    if (bad || largest == -HUGE_VALF) return refuse(sampler, error);
    int32_t best = 0;
    while (out[best] != largest) best++;
    return best;
}

/* The adjusted numbers of at least `least` that are more than −infinity, in order of ids. */
static int64_t gather(Sampler *sampler, real least) {
    int64_t count = 0;
    for (int64_t i = 0; i < sampler->vocab_size; i++)
        if (sampler->logits[i] >= least && sampler->logits[i] > -HUGE_VALF)
            sampler->candidates[count++] = (Candidate){(double)sampler->logits[i], (int32_t)i};
    return count;
}

/* 1 / temperature, not so small that it vanishes. */
static double inverse_temperature(const Sampler *sampler) {
    return fmax(1 / sampler->config.temperature, 1e-30);
}

/* The k likeliest, of which only these few need an exponential. */
static int64_t top_k_candidates(Sampler *sampler, real largest) {
    int64_t count = gather(sampler, -HUGE_VALF);
    count = select_likeliest(sampler->candidates, count, sampler->config.top_k, HUGE_VAL);
    for (int64_t i = 0; i < count; i++) {
        double *weight = &sampler->candidates[i].weight;
        *weight = exp((*weight - (double)largest) * inverse_temperature(sampler));
    }
    return count;
}

/* All, or with top-p those that reach the share p. */
static int64_t all_candidates(Sampler *sampler, real largest) {
    real *weights = sampler->logits, inverse = (real)inverse_temperature(sampler);
    int64_t V = sampler->vocab_size;
    double p = sampler->config.top_p, sum = 0;
#pragma omp simd
    for (int64_t i = 0; i < V; i++) weights[i] = real_exp((weights[i] - largest) * inverse);
    if (p == 1) return gather(sampler, 0);
    for (int64_t i = 0; i < V; i++) sum += (double)weights[i];
    /* What is below (1 − p) / V of the whole is together below 1 − p, so it is never needed. */
    int64_t count = gather(sampler, (real)((1 - p) * sum / (double)V));
    return select_likeliest(sampler->candidates, count, count, (p - SHARE_ROUNDING) * sum);
}

/* Of candidates in order, the first few that reach the share p of all. */
static int64_t reach_share(const Candidate *candidates, int64_t count, double p) {
    double all = 0, sum = 0;
    for (int64_t i = 0; i < count; i++) all += candidates[i].weight;
    int64_t kept = 0;
    while (kept < count) {
        sum += candidates[kept++].weight;
        if (sum >= (p - SHARE_ROUNDING) * all) break;
    }
    return kept;
}

int64_t sampler_candidates(Sampler *sampler, const real *logits, SamplerMasks masks, Error *error) {
    const SamplerConfig *config = &sampler->config;
    Candidate *candidates = sampler->candidates;
    int32_t best = adjust_logits(sampler, logits, masks, error);
    if (best < 0) return 0;
    if (config->temperature < GREEDY_BELOW) {
        candidates[0] = (Candidate){1, best};
        return 1;
    }
    real largest = sampler->logits[best];
    int64_t count;
    if (config->top_k > 0 && config->top_k < sampler->vocab_size) {
        count = top_k_candidates(sampler, largest);
        if (config->top_p < 1) count = reach_share(candidates, count, config->top_p);
    } else {
        count = all_candidates(sampler, largest);
    }
    /* The likeliest candidate has the weight 1. */
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (candidates[i].weight >= config->min_p) candidates[kept++] = candidates[i];
    return kept;
}

int64_t sampler_draw(const Candidate *candidates, int64_t count, double u) {
    double all = 0, sum = 0;
#pragma omp simd reduction(+ : all)
    for (int64_t i = 0; i < count; i++) all += candidates[i].weight;
    int64_t last = 0;
    for (int64_t i = 0; i < count; i++) {
        if (candidates[i].weight <= 0) continue;
        sum += candidates[i].weight;
        last = i;
        if (u * all < sum) break;
    }
    return last;
}

int32_t sampler_pick(Sampler *sampler, const real *logits, SamplerMasks masks, double u,
                     Error *error) {
    int64_t count = sampler_candidates(sampler, logits, masks, error);
    if (count == 0) return -1;
    return sampler->candidates[sampler_draw(sampler->candidates, count, u)].id;
}
