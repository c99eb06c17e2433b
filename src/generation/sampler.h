/* From logits to the next token.                                                    [handout §6]
 *
 * In this order: repetition penalty, temperature, top-k, top-p, min-p, draw.
 *   repetition penalty r   logit / r where the logit is positive, logit · r where it is negative,
 *                          for ids that have occurred                            (Keskar et al. 2019)
 *   temperature t          p_i ∝ e^(logit_i / t); below 1e-5 the likeliest id is taken (greedy)
 *   top-k                  the k likeliest ids, exactly k of them; 0 or more than there are: all
 *   top-p                  of what is left, the smallest set of likeliest ids whose share reaches
 *                          p, at least one                                      (Holtzman et al. 2019)
 *   min-p                  of what is left, ids at least m times as likely as the likeliest one
 * Among equally likely ids the lower one comes first, everywhere. */
#ifndef TINYLM_GENERATION_SAMPLER_H
#define TINYLM_GENERATION_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/real.h"

typedef struct SamplerConfig {
    double temperature;        /* ≥ 0 */
    int64_t top_k;             /* ≥ 0; 0: off */
    double top_p;              /* (0, 1]; 1: off */
    double min_p;              /* [0, 1]; 0: off */
    double repetition_penalty; /* > 0; 1: off */
} SamplerConfig;

/* Temperature 1 and everything else off. */
SamplerConfig sampler_config_default(void);
/* Checks the ranges above; the error names the option. NaN is out of range. */
bool sampler_config_check(const SamplerConfig *config, Error *error);

/* An id that may be drawn, and its unnormalized probability. */
typedef struct Candidate {
    double weight;
    int32_t id;
} Candidate;

typedef struct Sampler {
    SamplerConfig config;
    int64_t vocab_size;
    real *logits;          /* (vocab_size) scratch */
    Candidate *candidates; /* (vocab_size) scratch: what sampler_candidates found */
} Sampler;

void sampler_init(Sampler *sampler, const SamplerConfig *config, int64_t vocab_size);
void sampler_free(Sampler *sampler);

/* Both arrays (vocab_size) of 0 and 1, or NULL. */
typedef struct SamplerMasks {
    const uint8_t *excluded; /* ids that are no token: never drawn */
    const uint8_t *occurred; /* ids the repetition penalty applies to */
} SamplerMasks;

/* The ids that survive all filters, in sampler->candidates, and how many there are; likeliest first
 * when top-k or top-p is on or the choice is greedy, else in order of ids. Logits of −infinity mean
 * "never". 0 on error: a NaN or +infinity among the logits, or no id that is possible. */
int64_t sampler_candidates(Sampler *sampler, const real *logits, SamplerMasks masks, Error *error);

/* The first i with u < (w_0 + … + w_i) / Σ w, for u in [0, 1); never one of weight 0, whatever
 * rounding does. At least one weight must be positive. */
int64_t sampler_draw(const Candidate *candidates, int64_t count, double u);

/* Both: the id for a random number u in [0, 1), or −1 on error. */
int32_t sampler_pick(Sampler *sampler, const real *logits, SamplerMasks masks, double u,
                     Error *error);

#endif
