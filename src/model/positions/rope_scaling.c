/* The frequencies of RoPE and the rules that stretch them to longer sequences. */
#include <math.h>

#include "model/position_tables.h"

bool position_rope_check(const PositionConfig *config, int64_t d_head, Error *error) {
    const RopeScaling *scaling = &config->scaling;
    int64_t rotated = position_rope_rotated(config, d_head);
    if (rotated < 2 || rotated > d_head || rotated % 2)
        return error_set(error,
                         "model.position.fraction: %g of a head of %lld elements rotates %lld; "
                         "it must be an even number from 2 to the head size",
                         config->fraction, (long long)d_head, (long long)rotated);
    if (!(config->base > 0) || isinf(config->base))
        return error_set(error, "model.position.theta: %g must be a positive number", config->base);
    if (scaling->type == ROPE_SCALING_NONE) return true;
    if (!(scaling->factor > 0) || isinf(scaling->factor))
        return error_set(error, "model.position.scaling.factor: %g must be a positive number",
                         scaling->factor);
    if ((scaling->type == ROPE_SCALING_NTK || scaling->type == ROPE_SCALING_DYNAMIC_NTK) &&
        rotated == 2)
        return error_set(error,
                         "model.position.scaling.type: the NTK rules need at least 4 rotated "
                         "elements, and this head has 2; use linear");
    if (scaling->type == ROPE_SCALING_YARN && !(config->base > 1))
        return error_set(error, "model.position.theta: %g must be above 1 for yarn", config->base);
    if (scaling->type == ROPE_SCALING_YARN &&
        !(scaling->beta_slow > 0 && scaling->beta_fast > scaling->beta_slow))
        return error_set(error,
                         "model.position.scaling.beta_slow: %g must be above 0 and below "
                         "beta_fast, which is %g",
                         scaling->beta_slow, scaling->beta_fast);
    if (scaling->type == ROPE_SCALING_LLAMA3 &&
        !(scaling->high_freq_factor > scaling->low_freq_factor))
        return error_set(error,
                         "model.position.scaling.high_freq_factor: %g must be above "
                         "low_freq_factor, which is %g",
                         scaling->high_freq_factor, scaling->low_freq_factor);
    return true;
}

int64_t position_rope_rotated(const PositionConfig *config, int64_t d_head) {
    return (int64_t)((double)d_head * config->fraction);
}

static double clip(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* The base that leaves the first frequency alone and divides the last one by `stretch`. */
static double ntk_base(double base, double stretch, int64_t d) {
    return base * pow(stretch, (double)d / (double)(d - 2));
}

/* The (fractional) index of the pair that turns `turns` times within `length` positions. */
static double yarn_index(double turns, double length, double base, int64_t d) {
    return (double)d * log(length / (turns * 2 * M_PI)) / (2 * log(base));
}

double position_yarn_magnitude(double factor) {
    return factor > 1 ? 0.1 * log(factor) + 1 : 1;
}

static void scale_yarn(const RopeScaling *scaling, double base, double original, int64_t d,
                       double *frequencies) {
    double low = floor(yarn_index(scaling->beta_fast, original, base, d));
    double high = ceil(yarn_index(scaling->beta_slow, original, base, d));
    low = fmax(low, 0);
    high = fmin(high, (double)(d - 1));
    /* A context so short that no pair turns once leaves no room for a ramp: it becomes a step. */
    if (high <= low) high = low + 0.001;
    for (int64_t i = 0; i < d / 2; i++) {
        double ramp = clip(((double)i - low) / (high - low), 0, 1);
        frequencies[i] = frequencies[i] * (1 - ramp) + frequencies[i] / scaling->factor * ramp;
    }
}

static void scale_llama3(const RopeScaling *scaling, double original, int64_t d,
                         double *frequencies) {
    double low = scaling->low_freq_factor, high = scaling->high_freq_factor;
    for (int64_t i = 0; i < d / 2; i++) {
        double turns = original * frequencies[i] / (2 * M_PI);
        double keep = clip((turns - low) / (high - low), 0, 1);
        frequencies[i] = (1 - keep) * frequencies[i] / scaling->factor + keep * frequencies[i];
    }
}

void position_rope_frequencies(const PositionConfig *config, int64_t d_head, int64_t context_length,
                               int64_t length, double *frequencies, double *magnitude) {
    const RopeScaling *scaling = &config->scaling;
    int64_t d = position_rope_rotated(config, d_head);
    double base = config->base, factor = scaling->factor;
    double original =
        (double)(scaling->original_context > 0 ? scaling->original_context : context_length);
    if (scaling->type == ROPE_SCALING_NTK) base = ntk_base(base, factor, d);
    /* Up to the original length the base must stay exactly as trained: pow(1, …) is exactly 1, but
     * factor·1 − (factor − 1) need not be. */
    if (scaling->type == ROPE_SCALING_DYNAMIC_NTK && (double)length > original)
        base = ntk_base(base, factor * (double)length / original - (factor - 1), d);
    position_sinusoidal_frequencies(d, base, LAYOUT_HALF, frequencies);

    *magnitude = 1;
    if (scaling->type == ROPE_SCALING_LINEAR) {
        for (int64_t i = 0; i < d / 2; i++) frequencies[i] /= factor;
    } else if (scaling->type == ROPE_SCALING_YARN) {
        scale_yarn(scaling, base, original, d, frequencies);
        *magnitude = scaling->attention_factor > 0 ? scaling->attention_factor
                                                   : position_yarn_magnitude(factor);
    } else if (scaling->type == ROPE_SCALING_LLAMA3) {
        scale_llama3(scaling, original, d, frequencies);
    }
}

void position_rope_pair(PositionLayout layout, int64_t rotated, int64_t i, int64_t *first,
                        int64_t *second) {
    *first = layout == LAYOUT_INTERLEAVED ? 2 * i : i;
    *second = layout == LAYOUT_INTERLEAVED ? 2 * i + 1 : i + rotated / 2;
}

int64_t position_rope_half_from_interleaved(int64_t row, int64_t rotated) {
    if (row >= rotated) return row;
    return row < rotated / 2 ? 2 * row : 2 * (row - rotated / 2) + 1;
}
