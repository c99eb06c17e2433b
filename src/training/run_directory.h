/* The folder of a run and the names of what is in it (see the README). */
#ifndef TINYLM_TRAINING_RUN_DIRECTORY_H
#define TINYLM_TRAINING_RUN_DIRECTORY_H

#include "base/error.h"

typedef struct RunDirectory {
    char *path;
    char *config;     /* config.json: every default written out */
    char *tokenizer;  /* tokenizer/ */
    char *log;        /* log.csv */
    char *model;      /* model.safetensors: newest weights */
    char *best;       /* best.safetensors: lowest validation loss */
    char *checkpoint; /* checkpoint.safetensors, and the one before it */
    char *previous_checkpoint;
    char *checkpoints; /* checkpoints/: intermediate models of keep_every */
    char *samples;     /* samples.txt */
    char *loss_chart;  /* loss.svg */
    char *started_in;  /* started_in.txt: the folder to which relative data paths belong */
    int lock;          /* descriptor that holds the lock, or -1 */
} RunDirectory;

/* The names only; nothing is created. */
RunDirectory run_directory_names(const char *path);
/* Creates the folder and locks it for this process. The lock is the kernel's (flock on the folder
 * itself): it leaves nothing behind and ends with the process, however it ends. Temporary files that
 * an earlier process left there are removed. Error: another process trains there. */
bool run_directory_lock(RunDirectory *run, Error *error);
/* Removes what an earlier run left, the checkpoint first: a stop half-way leaves nothing to resume. */
bool run_directory_clear(const RunDirectory *run, Error *error);

/* Writes the current folder into started_in.txt. */
bool run_directory_note_start(const RunDirectory *run, Error *error);
/* Adds to an error about a missing data file in which other folder the run was started; false. */
bool run_directory_name_start(const RunDirectory *run, Error *error);

void run_directory_free(RunDirectory *run); /* unlocks */

/* The newest run (by the time of its model or checkpoint) under a folder that has a trained model and,
 * with `text`, a tokenizer; NULL with an error when there is none. A run whose log.csv ends before its
 * warm-up does, or with a loss no better than guessing (ln vocab_size), counts as not trained. When a
 * run that is newer still was passed over, `skipped` gets a line that says which and why, else NULL.
 * The caller frees both. */
char *run_directory_newest(const char *runs, bool text, char **skipped, Error *error);

#endif
