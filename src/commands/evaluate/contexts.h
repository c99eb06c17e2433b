/* ./evaluate --context: what happens to the loss when a model sees more, or less, than it was trained
 * on, by length of the context and by position in it. */
#ifndef TINYLM_COMMANDS_EVALUATE_CONTEXTS_H
#define TINYLM_COMMANDS_EVALUATE_CONTEXTS_H

#include "commands/options.h"
#include "training/evaluation.h"

typedef struct ContextStudy {
    const Model *model;
    /* The sequences of T positions to evaluate on; called once per length. */
    EvaluationSource (*source)(void *context, int64_t T);
    void *context;
    const uint32_t *token_bytes; /* see EvaluationOptions */
    bool task;                   /* accuracy is what counts */
    const char *title, *folder;  /* of the picture; folder NULL: none */
} ContextStudy;

/* --set on a run: the model of the run's folder again, with a changed config, such as a scaling of its
 * positions that it was not trained with. A scaling without a factor gets longest/(trained length).
 * NULL on error: what the config's reader says, or weights of another shape. */
Model *changed_model(const char *run, const OptionList *overrides, int64_t longest, Error *error);

/* "128,256,512": the lengths, at least 1 each, to be freed. */
bool context_lengths_parse(const char *text, int64_t **lengths, int64_t *count, Error *error);

/* Evaluates every length, prints a table by length and one by position, and writes context.svg and
 * context.csv. Errors: those of evaluate (a length beyond a table's end among them). */
bool context_study(const ContextStudy *study, const int64_t *lengths, int64_t count, Error *error);

#endif
