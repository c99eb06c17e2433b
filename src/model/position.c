#include "model/position.h"

#include <stdlib.h>

const PositionScheme position_none = {0};

static const PositionScheme *const schemes[POSITION_TYPE_COUNT] = {
    [POSITION_NONE] = &position_none,
    [POSITION_ROPE] = &position_rope,
};

Position *position_create(const ModelConfig *config, Parameters *parameters, Error *error) {
    const PositionScheme *scheme = schemes[config->position.type];
    if (!scheme) {
        error_set(error, "model.position.type: this scheme cannot be built yet; use \"rope\" or \"none\"");
        return NULL;
    }
    if (scheme->check && !scheme->check(config, error)) return NULL;
    Position *position = allocate(1, sizeof *position);
    *position = (Position){.scheme = scheme,
                           .config = config,
                           .d_head = config->d_model / config->num_heads,
                           .hooks = allocate_zeroed((size_t)config->num_layers,
                                                    sizeof *position->hooks)};
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
    (void)config;
    return INT64_MAX;
}

bool position_prepare(Position *position, int64_t length, Error *error) {
    int64_t limit = position_limit(position->config);
    if (length > limit)
        return error_set(error,
                         "a sequence of %lld tokens is longer than the %lld positions the model has; "
                         "use a shorter one",
                         (long long)length, (long long)limit);
    if (length <= position->prepared) return true;
    if (position->scheme->prepare) position->scheme->prepare(position, length);
    position->prepared = length;
    return true;
}

Tensor *position_embed(const Position *position, Tape *tape, Tensor *x, int64_t first_position) {
    return position->scheme->embed ? position->scheme->embed(position, tape, x, first_position) : x;
}

const AttentionHooks *position_hooks(const Position *position, int64_t layer) {
    return &position->hooks[layer];
}

void position_free(Position *position) {
    if (!position) return;
    if (position->scheme->destroy) position->scheme->destroy(position);
    free(position->hooks);
    free(position);
}
