/* ./inspect positions: pictures of how a model tells positions apart. */
#include "commands/inspect_positions.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "commands/inspect.h"

static bool draw(const PositionPictures *pictures, Error *error) {
    switch (pictures->model->config.position.type) {
    case POSITION_NONE:
        printf("the scheme is none: nothing tells positions apart but the causal mask\n");
        return true;
    case POSITION_SINUSOIDAL:
    case POSITION_SINUSOIDAL_LEARNED:
    case POSITION_ROPE:
        return inspect_position_rows(pictures, error) &&
               inspect_position_wavelengths(pictures, error);
    case POSITION_LEARNED:
    case POSITION_INDEX:
        return inspect_position_rows(pictures, error);
    case POSITION_SHAW:
        return inspect_position_vectors(pictures, error);
    default:
        return inspect_position_bias(pictures, error);
    }
}

/* As many positions as were trained, unless told otherwise, up to the end of a table. */
static bool choose_length(const ModelConfig *config, int64_t *length, Error *error) {
    int64_t limit = position_limit(config);
    if (*length == 0) *length = config->context_length < limit ? config->context_length : limit;
    if (*length <= limit) return true;
    return error_set(error, "--length %lld is more than the %lld positions that the table has",
                     (long long)*length, (long long)limit);
}

int inspect_positions(int argc, char **argv) {
    const char *path = NULL, *folder = NULL;
    int64_t length = 0;
    OptionList overrides = {0};
    const Option options[] = {
        ARGUMENT("RUN_OR_CONFIG", &path,
                 "a run, any other model, or a config for an untrained one"),
        OPTION_TEXT("--output", "DIR", &folder, "folder for the pictures (default: pictures)"),
        OPTION_WHOLE("--length", "N", &length, 0, 4096,
                     "positions shown (default: 0, the context length)"),
        OPTION_LIST("--set", "KEY=VALUE", &overrides, "change a value of the config (repeatable)"),
        OPTIONS_END,
    };
    const Program program = {
        "inspect positions",
        "Draws the position scheme of a model: its table, similarity and decay with distance,\n"
        "wavelengths, or biases. SVG pictures, and their numbers as CSV.",
        "./inspect positions runs/tiny --output pictures\n"
        "./inspect positions configs/tiny.json --set model.position.type=alibi",
        options};
    options_read(&program, argc, argv);
    if (!folder) folder = "pictures";

    InspectSubject subject = {0};
    Error error;
    char *title = NULL;
    bool done = inspect_open(&subject, path, &overrides, NULL, &error) &&
                choose_length(&subject.file.model->config, &length, &error) &&
                position_prepare(subject.file.model->position, length, &error) &&
                directory_create(folder, &error);
    if (done) {
        title = inspect_title(&subject, path);
        PositionPictures pictures = {subject.file.model, title, folder, subject.trained, length};
        done = draw(&pictures, &error);
    }
    free(title);
    inspect_close(&subject);
    option_list_free(&overrides);
    return done ? program_done("inspect positions") : program_failed("inspect positions", &error);
}
