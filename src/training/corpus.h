/* From text files to token ids: the tokenizer of a run, and its training and validation ids as mapped
 * arrays. Both are cached in a folder, under names that contain hashes of the text and of the code that
 * made them, so that a second run starts at once and a changed text or tokenizer never gets the old ids.
 * If the cache is damaged or cannot be written, a notice says so and the work is repeated. */
#ifndef TINYLM_TRAINING_CORPUS_H
#define TINYLM_TRAINING_CORPUS_H

#include "formats/npy.h"
#include "tokenizer/tokenizer.h"
#include "training/train_config.h"

typedef struct Corpus {
    Tokenizer *tokenizer;    /* NULL if the data are ids and no tokenizer is named */
    NpyArray train, valid;   /* views of the files below */
    NpyArray files[2];       /* the maps: training and validation (count 0: held out of training) */
    uint32_t *memory[2];     /* the ids of files[i] if they could not be cached, else NULL */
    int64_t choice, choices; /* index of the chosen files in the data lists; their length */
    const char *train_path, *valid_path; /* as in the config; valid NULL if held out */
    uint32_t *token_bytes; /* [vocab_size] bytes of each token; NULL without tokenizer */
    uint64_t train_hash;   /* of the training text's content; 0: not read yet */
    int64_t separator;     /* id of the first special token, between documents; −1: none */
} Corpus;

/* Called with a line of progress ("training a tokenizer …"). */
typedef void (*CorpusNotice)(void *context, const char *line);

typedef struct CorpusOptions {
    const char *cache;         /* folder for encoded texts and tokenizers: "data/cache" */
    const char *run_tokenizer; /* folder of the tokenizer of the run to resume, or NULL */
    CorpusNotice notice;       /* may be NULL */
    void *context;
} CorpusOptions;

/* Chooses the files (the first index at which both lists have one), trains or loads the tokenizer,
 * encodes, maps. Leaves only the chosen files in config->data, and sets config->model.vocab_size if
 * it was left out. Without validation data the last 1 % of the training ids are held out. Errors: no such
 * file, a text too short for a window, ids outside of the vocabulary, and those of reading. */
bool corpus_open(Corpus *corpus, TrainConfig *config, const CorpusOptions *options, Error *error);
void corpus_close(Corpus *corpus);

#endif
