#include "commands/train/start.h"

#include <stdlib.h>

#include "base/file.h"
#include "formats/model_weights.h"

/* Refuses a run folder whose tokenizer is not this one. */
static bool same_tokenizer(const Tokenizer *tokenizer, const char *run, Error *error) {
    char *folder = path_join(run, "tokenizer");
    bool same = true;
    if (tokenizer && directory_exists(folder)) {
        Tokenizer *theirs = tokenizer_load(folder, error);
        same = theirs != NULL;
        if (theirs && tokenizer_fingerprint(theirs) != tokenizer_fingerprint(tokenizer))
            same = error_set(error,
                             "%s: was trained with another tokenizer than this config makes; take "
                             "that one with --set 'tokenizer={\"load\": \"%s\"}'",
                             run, folder);
        tokenizer_free(theirs);
    }
    free(folder);
    return same;
}

bool start_from_run(Model *model, const Tokenizer *tokenizer, const char *run, Error *error) {
    if (!directory_exists(run)) return model_weights_load_fitted(model, run, error);
    if (!same_tokenizer(tokenizer, run, error)) return false;
    char *weights = path_join(run, "model.safetensors");
    bool loaded = model_weights_load_fitted(model, weights, error);
    free(weights);
    return loaded;
}
