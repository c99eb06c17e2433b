/* What the position subcommands of ./inspect look at: the model of a run, or the untrained model that a
 * config describes, and a text as ids. */
#ifndef TINYLM_COMMANDS_INSPECT_SUBJECT_H
#define TINYLM_COMMANDS_INSPECT_SUBJECT_H

#include "commands/options.h"
#include "formats/model_file.h"

typedef struct InspectSubject {
    ModelFile file; /* file.model is the model in both cases */
    bool trained;   /* from a run or another model file */
    int64_t count;  /* ids of the text; 0 without one */
    int32_t *ids;   /* (count) */
    char **labels;  /* (count) what each stands for, to be shown */
} InspectSubject;

/* Opens a run or any other model, or a config (a file that ends in .json) with its overrides; `text`
 * may be NULL. A run's tokenizer cuts the text; without a tokenizer the text is a list of ids, and
 * for a config, whose model knows no words yet, every word is a token of its own, and so is every
 * Chinese, Japanese or Korean character. Prepares positions
 * for the text. Nothing to close on error. */
bool inspect_open(InspectSubject *subject, const char *path, const OptionList *overrides,
                  const char *text, Error *error);
void inspect_close(InspectSubject *subject);

/* "rope in tiny.json, untrained", for titles; to be freed. */
char *inspect_title(const InspectSubject *subject, const char *path);

/* Of a picture in a folder; valid until the fourth call from now. */
const char *inspect_path(const char *folder, const char *name);
/* Prints "FOLDER/NAME  what it shows". */
void inspect_wrote(const char *path, const char *what);

#endif
