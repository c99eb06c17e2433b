/* What the subcommands of ./inspect about positions look at: the model of a run, or the untrained model
 * that a config describes, and a text as ids. */
#ifndef TINYLM_COMMANDS_INSPECT_SUBJECT_H
#define TINYLM_COMMANDS_INSPECT_SUBJECT_H

#include "commands/options.h"
#include "formats/model_file.h"

typedef struct InspectSubject {
    ModelFile file;     /* file.model is the model, of a run or of a config */
    bool trained;       /* from a run or another model file */
    char *title;        /* "rope in tiny.json, untrained" */
    const char *folder; /* for pictures */
    int64_t length;     /* positions shown; 0: as many as were trained */
    int64_t count;      /* ids of the text; 0 without one */
    int32_t *ids;       /* (count) */
    char **labels;      /* (count) what each stands for, to be shown */
} InspectSubject;

/* A subcommand: its help, the options it has, and what it does. */
typedef struct InspectCommand {
    const char *name, *summary, *example;
    bool text, folder, length; /* whether it has --text, --output, --length */
    bool (*run)(const InspectSubject *subject, Error *error);
} InspectCommand;

/* Reads the command line, opens a run or any other model, or a config (a file that ends in .json) with
 * its overrides, and runs the command. A run's tokenizer cuts the text; without a tokenizer the text is a
 * list of ids, and for a config, whose model knows no words yet, every word is a token of its own, and so
 * is every Chinese, Japanese or Korean character. Positions are prepared for the text. Returns the exit
 * status. */
int inspect_run(const InspectCommand *command, int argc, char **argv);

#endif
