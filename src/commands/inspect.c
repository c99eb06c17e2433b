/* ./inspect SUBCOMMAND: looks inside models. Each subcommand is a file of its own. */
#include "commands/inspect/inspect.h"
#include "commands/options.h"

int main(int argc, char **argv) {
    static const Subcommand subcommands[] = {
        {"model", "formats, hyperparameters and tensors of a model file", inspect_model},
        {"positions", "pictures of the position scheme: table, decay, biases", inspect_positions},
        {"rope", "what rotating queries and keys does, checked and measured", inspect_rope},
        {"order", "does the model notice when words change places?", inspect_order},
        {"scores", "pictures of who attends to whom, and why", inspect_scores},
        {"chart", "bars from a table of numbers", inspect_chart},
        {NULL, NULL, NULL},
    };
    return options_run_subcommand("inspect", "Looks inside models.", subcommands, argc, argv);
}
