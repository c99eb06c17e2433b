/* What ./inspect positions, rope, order and scores examine: the model of a run or an untrained model from a
 * config, and a text as ids. */
#ifndef TINYLM_COMMANDS_INSPECT_SUBJECT_H
#define TINYLM_COMMANDS_INSPECT_SUBJECT_H

#include "commands/options.h"
#include "formats/model_file.h"

typedef struct InspectSubject {
    ModelFile file;     /* file.model is the model, of a run or of a config */
    bool trained;       /* from a run or another model file */
    char *title;        /* "rope in tiny.json, untrained" */
    const char *folder; /* for pictures */
    int64_t length;     /* positions shown; 0: the context length */
    int64_t count;      /* ids of the text; 0 if there is none */
    int32_t *ids;       /* (count) */
    char **labels;      /* (count) the text of each id, printable */
} InspectSubject;

/* A subcommand: its help, its options, and its function. */
typedef struct InspectCommand {
    const char *name, *summary, *example;
    bool text, folder, length; /* whether it has --text, --output, --length */
    bool (*run)(const InspectSubject *subject, Error *error);
} InspectCommand;

/* Reads the command line, opens a run or any other model, or a config (a file that ends in .json) with
 * its overrides, and runs the command. The text is encoded by the run's tokenizer, or is a list of ids if
 * there is none; for a config, every distinct word is a token, and so is every Chinese, Japanese or Korean
 * character. Positions are prepared for the text. Returns the exit status. */
int inspect_run(const InspectCommand *command, int argc, char **argv);

#endif
