/* ./inspect SUBCOMMAND: looks inside models. Each subcommand is a file of its own. */
#include "commands/inspect.h"
#include "commands/options.h"

int main(int argc, char **argv) {
    static const Subcommand subcommands[] = {
        {"model", "formats, hyperparameters and tensors of a model file", inspect_model},
        {NULL, NULL, NULL},
    };
    return options_run_subcommand("inspect", "Looks inside models.", subcommands, argc, argv);
}
