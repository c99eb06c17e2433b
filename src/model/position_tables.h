/* The arithmetic of the position schemes, without any tensor: which angle, which slope, which row
 * of which table. Everything is computed in double; whoever stores it as float rounds once, which
 * costs 3e-8 at any position. (An angle multiplied in float is off by 4.5e-3 at position 100,000.)
 *
 * Formulas and papers: src/model/POSITIONS.md. Notation: m, i, j are positions from 0 (i the
 * query's, j the key's), d the number of elements of the vector in question, θ_i the frequency of
 * its i-th pair in radians per position. */
#ifndef TINYLM_MODEL_POSITION_TABLES_H
#define TINYLM_MODEL_POSITION_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model_config.h"

/* ---- sinusoidal: a fixed vector per position (Vaswani et al. 2017, section 3.5) ---- */

/* How many frequencies a table of width d has: one per sine, d/2, and for an odd d one more when
 * interleaved (it ends with a sine whose cosine is missing). */
int64_t position_sinusoidal_count(int64_t d, PositionLayout layout);
/* θ_i = base^(−2i/d) for i < position_sinusoidal_count(d, layout). */
void position_sinusoidal_frequencies(int64_t d, double base, PositionLayout layout,
                                     double *frequencies);
/* The d elements of p_m. Interleaved: p[2i] = sin(mθ_i), p[2i+1] = cos(mθ_i). Concat (LAYOUT_HALF):
 * all sines, then all cosines, then a zero when d is odd. */
void position_sinusoidal_row(double m, int64_t d, PositionLayout layout, const double *frequencies,
                             double *row);

/* ---- learned: a trained table, stretched to more rows by interpolation ---- */

/* Row `row` of a table stretched from `rows` to `new_rows` rows, both ends kept, is
 * (1 − fraction)·table[low] + fraction·table[low + 1] with low + fraction =
 * row·(rows − 1)/(new_rows − 1). When fraction is 0, table[low + 1] may be past the end: leave it. */
typedef struct PositionBlend {
    int64_t low;
    double fraction; /* in [0, 1) */
} PositionBlend;
PositionBlend position_stretch(int64_t row, int64_t rows, int64_t new_rows);

/* ---- rope: the angles by which pairs of q and k turn (Su et al. 2021) ---- */

/* Refuses what has no meaning: an odd number of rotated elements or none at all, a base or a factor
 * that is not positive, yarn with base ≤ 1 or beta_slow ≤ 0, llama3 with high ≤ low, the two NTK
 * rules with two rotated elements. The message names the config key. */
bool position_rope_check(const PositionConfig *config, int64_t d_head, Error *error);
/* How many of a head's elements turn: the first int(d_head · fraction). */
int64_t position_rope_rotated(const PositionConfig *config, int64_t d_head);
/* The rotated/2 frequencies after scaling, with d = rotated, b = base, f = factor and L0 =
 * original_context (context_length where that is 0):
 *   none         θ_i = b^(−2i/d)
 *   linear       θ_i / f                                      (Chen et al. 2023, interpolation)
 *   ntk          b → b·f^(d/(d−2)): the last frequency is divided by f, the first kept
 *   dynamic_ntk  b → b·(f·L/L0 − (f−1))^(d/(d−2)) with L = max(length, L0)
 *   yarn         θ_i(1−r) + θ_i/f·r; the ramp r runs from 0 to 1 over the pairs that turn between
 *                beta_fast and beta_slow times within L0             (Peng et al. 2023)
 *   llama3       θ_i/f·(1−s) + θ_i·s; s runs from 0 to 1 over the pairs that turn between
 *                low_freq_factor and high_freq_factor times within L0
 * `magnitude` is the factor on cosine and sine: for yarn attention_factor, or where that is 0
 * position_yarn_magnitude(f); else 1.
 * `length` is the current sequence length; only dynamic_ntk looks at it. */
void position_rope_frequencies(const PositionConfig *config, int64_t d_head, int64_t context_length,
                               int64_t length, double *frequencies, double *magnitude);
/* 0.1·ln f + 1 for f > 1, else 1. */
double position_yarn_magnitude(double factor);
/* The two elements of a head that pair i < rotated/2 turns. */
void position_rope_pair(PositionLayout layout, int64_t rotated, int64_t i, int64_t *first,
                        int64_t *second);
/* The row of an interleaved W_q or W_k that becomes row `row` of the same head in half layout:
 * W_half[h·d_head + row] = W_interleaved[h·d_head + this]; for key/value heads too, never W_v, W_o. */
int64_t position_rope_half_from_interleaved(int64_t row, int64_t rotated);

/* ---- what is added to a score ---- */

/* ALiBi (Press et al. 2021): score + slope_h·(j − i), after the 1/√d. With n a power of two the
 * slopes are 2^(−8k/n), k = 1…n; otherwise those of the largest power of two below n, then every
 * second one of twice that power. Any heads ≥ 1. */
void position_alibi_slopes(int64_t heads, double *slopes);

/* T5 (Raffel et al. 2019), causal: the bucket of distance i − j; keys in the future share bucket 0.
 * Distances below e = buckets/2 have a bucket each; above, bucket e + ⌊(buckets − e)·
 * ln(distance/e)/ln(max_distance/e)⌋, and the last one from max_distance on. Borders are decided by
 * whole numbers, so that no rounding of a logarithm moves them. buckets ≥ 1. */
int64_t position_t5_bucket(int64_t distance, int64_t buckets, int64_t max_distance);

/* Swin's window in one dimension (Liu et al. 2021): row (i − j) + W − 1 of a table of 2W − 1 rows,
 * W = max_distance; −1 when the distance does not fit. */
int64_t position_window_row(int64_t i, int64_t j, int64_t max_distance);

/* Shaw et al. 2018: row clip(j − i, −K, K) + K of tables of 2K + 1 rows, K = max_distance. */
int64_t position_shaw_row(int64_t i, int64_t j, int64_t max_distance);

/* ---- how similarity falls with distance ---- */

/* ⟨p_m, p_{m+k}⟩ = Σ_i cos(kθ_i) of the sinusoidal table of even width d; d/2 at k = 0. */
double position_sinusoidal_product(double k, int64_t d, double base);
/* What that sum tends to for many pairs: d/2 · ∫₀¹ cos(k·base^(−t)) dt, to about 1e-9·d. */
double position_sinusoidal_integral(double k, int64_t d, double base);
/* RoFormer 3.4.3: (2/d)·Σ_{n=1}^{d/2} |Σ_{i<n} exp(√−1·kθ_i)|, which bounds how much of a rotated
 * score is left at distance k; (d/2 + 1)/2 at k = 0. */
double position_rope_decay_bound(double k, int64_t count, const double *frequencies);

#endif
