#include "model/position.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const PositionScheme nothing = {0};

static const PositionScheme *const schemes[POSITION_TYPE_COUNT] = {
    [POSITION_NONE] = &nothing,
    [POSITION_SINUSOIDAL] = &position_absolute,
    [POSITION_SINUSOIDAL_LEARNED] = &position_absolute,
    [POSITION_LEARNED] = &position_absolute,
    [POSITION_ROPE] = &position_rope,
    [POSITION_T5] = &position_relative_bias,
    [POSITION_WINDOW] = &position_relative_bias,
    [POSITION_SHAW] = &position_shaw,
    [POSITION_TRANSFORMER_XL] = &position_transformer_xl,
    [POSITION_ALIBI] = &position_relative_bias,
    [POSITION_INDEX] = &position_absolute,
};

/* Tables are declared with sizes that are products of these; none of them may wrap. */
static bool check_sizes(const ModelConfig *c, Error *error) {
    int64_t longest = c->context_length, size;
    if (c->position.stretch > longest) longest = c->position.stretch;
    if (c->position.max_distance > longest) longest = c->position.max_distance;
    if (c->position.buckets > longest) longest = c->position.buckets;
    if (longest <= INT32_MAX / 4 && !__builtin_mul_overflow(longest, 2 * c->d_model, &size) &&
        !__builtin_mul_overflow(size, c->num_layers + 1, &size) && size < INT64_MAX / 64)
        return true;
    return error_set(error, "the position tables would be too large; make context_length, "
                            "model.position.max_distance, buckets or stretch smaller");
}

Position *position_create(const ModelConfig *config, Parameters *parameters, Error *error) {
    const PositionScheme *scheme = schemes[config->position.type];
    if (!check_sizes(config, error)) return NULL;
    if (scheme->check && !scheme->check(config, error)) return NULL;
    Position *position = allocate(1, sizeof *position);
    *position =
        (Position){.scheme = scheme,
                   .config = config,
                   .d_head = config->d_model / config->num_heads,
                   .layers = allocate_zeroed((size_t)config->num_layers, sizeof *position->layers)};
    position_declare_layer(position, parameters, -1);
    return position;
}

void position_declare_layer(Position *position, Parameters *parameters, int64_t layer) {
    if (position->scheme->declare) position->scheme->declare(position, parameters, layer);
}

void position_initialize(Position *position) {
    if (position->scheme->initialize) position->scheme->initialize(position);
}

int64_t position_limit(const ModelConfig *config) {
    const PositionConfig *c = &config->position;
    if (c->type == POSITION_LEARNED) return c->stretch ? c->stretch : config->context_length;
    if (c->type == POSITION_WINDOW) return c->max_distance;
    return INT64_MAX;
}

static bool too_long(const ModelConfig *config, int64_t length, Error *error) {
    long long n = (long long)length, limit = (long long)position_limit(config);
    if (config->position.type == POSITION_LEARNED)
        return error_set(error,
                         "%lld tokens do not fit: the learned position table ends at %lld; use at "
                         "most %lld, or stretch the table with --set model.position.stretch=%lld",
                         n, limit, limit, n);
    return error_set(error,
                     "%lld tokens do not fit: the window table ends at distance %lld; use at most "
                     "%lld, or train with model.position.max_distance %lld",
                     n, limit - 1, limit, n);
}

/* Frequencies that depend on the length of the sequence. */
static bool follows_length(const PositionConfig *c) {
    return c->type == POSITION_ROPE && c->scaling.type == ROPE_SCALING_DYNAMIC_NTK;
}

bool position_changes_past(const ModelConfig *config, int64_t length) {
    int64_t original = config->position.scaling.original_context;
    if (original == 0) original = config->context_length;
    return follows_length(&config->position) && length > original;
}

bool position_prepare(Position *position, int64_t length, Error *error) {
    if (length > position_limit(position->config)) return too_long(position->config, length, error);
    if (length <= position->prepared && !follows_length(&position->config->position)) return true;
    if (position->scheme->prepare) position->scheme->prepare(position, length);
    if (length > position->prepared) position->prepared = length;
    return true;
}

/* A caller that has not prepared the tables for so many positions would read past their end. */
static void require(const Position *position, const Tape *tape, int64_t length) {
    assert((tape->mode == TAPE_PLAN || position->prepared >= length) &&
           "position_prepare has not been called for this length");
}

Tensor *position_embed(const Position *position, Tape *tape, Tensor *x, int64_t first_position) {
    require(position, tape, first_position + x->shape[1]);
    return position->scheme->embed ? position->scheme->embed(position, tape, x, first_position) : x;
}

const AttentionHooks *position_hooks(const Position *position, int64_t layer) {
    return &position->layers[layer].hooks;
}

void position_layer_tables(const Position *position, Tape *tape, int64_t layer, int64_t keys,
                           bool bidirectional, Tensor *tables[3]) {
    require(position, tape, keys);
    memcpy(tables, position->layers[layer].tables, sizeof position->layers[layer].tables);
    if (position->scheme->layer_tables)
        position->scheme->layer_tables(position, tape, layer, keys, bidirectional, tables);
}

void position_free(Position *position) {
    if (!position) return;
    if (position->scheme->destroy) position->scheme->destroy(position);
    free(position->layers);
    free(position);
}
