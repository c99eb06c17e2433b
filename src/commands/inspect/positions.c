/* ./inspect positions: pictures of how a model encodes positions. */
#include "commands/inspect/positions.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "commands/inspect/inspect.h"

/* The context length unless --length is given, up to the end of a table. */
static bool choose_length(InspectSubject *subject, Error *error) {
    const ModelConfig *config = &subject->file.model->config;
    int64_t limit = position_limit(config);
    if (subject->length == 0)
        subject->length = config->context_length < limit ? config->context_length : limit;
    if (subject->length > limit)
        return error_set(error, "--length %lld is more than the %lld positions that the table has",
                         (long long)subject->length, (long long)limit);
    return position_prepare(subject->file.model->position, subject->length, error);
}

static bool run(const InspectSubject *given, Error *error) {
    InspectSubject subject = *given;
    if (!choose_length(&subject, error)) return false;
    switch (subject.file.model->config.position.type) {
    case POSITION_NONE:
        printf("the scheme is none: only the causal mask distinguishes positions\n");
        return true;
    case POSITION_SINUSOIDAL:
    case POSITION_SINUSOIDAL_LEARNED:
    case POSITION_ROPE:
        return inspect_position_rows(&subject, error) &&
               inspect_position_wavelengths(&subject, error);
    case POSITION_LEARNED:
    case POSITION_INDEX:
        return inspect_position_rows(&subject, error);
    case POSITION_SHAW:
        return inspect_position_vectors(&subject, error);
    default:
        return inspect_position_bias(&subject, error);
    }
}

int inspect_positions(int argc, char **argv) {
    static const InspectCommand command = {
        .name = "inspect positions",
        .summary =
            "Draws the position scheme of a model: its table, similarity and decay with distance,\n"
            "wavelengths, or biases. SVG pictures, and their numbers as CSV.",
        .example = "./inspect positions runs/tiny --output pictures\n"
                   "./inspect positions configs/tiny.json --set model.position.type=alibi",
        .folder = true,
        .length = true,
        .run = run,
    };
    return inspect_run(&command, argc, argv);
}
