/* What surrounds a training: reading the config, opening run directory and data, and what is refused. */
#ifndef TINYLM_COMMANDS_TRAIN_SESSION_H
#define TINYLM_COMMANDS_TRAIN_SESSION_H

#include "commands/options.h"
#include "training/corpus.h"
#include "training/task.h"
#include "training/trainer.h"

typedef struct TrainArguments {
    const char *config, *run, *text, *init_from;
    OptionList overrides;
    bool resume, fresh, plain, help_config;
    int64_t threads;
} TrainArguments;

/* Everything a run needs, in the order in which it is made. */
typedef struct Session {
    TrainArguments arguments;
    TrainConfig *config;
    RunDirectory run;
    bool made_folder; /* the run's folder was not there before */
    bool resuming;    /* from a checkpoint that is there */
    Corpus corpus;
    Model *model;
    char *config_json;
    WindowSource windows;
    EvaluationWindows validation;
    TaskSource task; /* in place of corpus, windows and validation when the config names a task */
} Session;

/* Each returns false with an error. In this order: */

/* The config, with --text and --set applied. */
bool session_read_config(Session *session, Error *error);
/* Locks the run directory. Refuses one that holds a model, unless --resume or --fresh is given, and to
 * resume with a config that cannot continue its checkpoint. */
bool session_open_run(Session *session, Error *error);
/* Tokenizer and ids, made or found in the cache; nothing for a task. */
bool session_open_data(Session *session, Error *error);
/* Refuses a model that cannot fit, before its memory is allocated. */
bool session_check_memory(const Session *session, const TrainerSetup *setup, Error *error);
/* config.json and tokenizer/. Only now, when everything that can be refused has been and --init-from
 * has been read, --fresh removes an earlier run. */
bool session_write_run(Session *session, Error *error);

bool session_is_task(const Session *session);
/* Of the training and validation ids; 0 for a task. */
uint64_t session_data_fingerprint(const Session *session);

#endif
