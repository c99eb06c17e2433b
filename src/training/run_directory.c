#define _GNU_SOURCE /* flock */
#include "training/run_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "training/run_log.h"

enum { CONFIG_LIMIT = 1 << 20 };

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

RunDirectory run_directory_names(const char *path) {
    return (RunDirectory){
        .path = string_copy(path),
        .config = path_join(path, "config.json"),
        .tokenizer = path_join(path, "tokenizer"),
        .log = path_join(path, "log.csv"),
        .model = path_join(path, "model.safetensors"),
        .best = path_join(path, "best.safetensors"),
        .checkpoint = path_join(path, "checkpoint.safetensors"),
        .previous_checkpoint = path_join(path, "checkpoint.previous.safetensors"),
        .checkpoints = path_join(path, "checkpoints"),
        .samples = path_join(path, "samples.txt"),
        .loss_chart = path_join(path, "loss.svg"),
        .started_in = path_join(path, "started_in.txt"),
        .lock = -1,
    };
}

bool run_directory_lock(RunDirectory *run, Error *error) {
    if (!directory_create(run->path, error)) return false;
    run->lock = open(run->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->lock < 0)
        return error_set(error, "%s: cannot be opened: %s", run->path, strerror(errno));
    /* EWOULDBLOCK alone: on a file system without locks, continue without */
    if (flock(run->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
        file_remove_stale(run->path);
        file_remove_stale(run->tokenizer);
        file_remove_stale(run->checkpoints);
        return true;
    }
    return error_set(error,
                     "%s: another process is training in this run; wait for it, or name another "
                     "folder with --run",
                     run->path);
}

void run_directory_free(RunDirectory *run) {
    if (run->lock >= 0) close(run->lock);
    char *names[] = {run->path,        run->config,  run->tokenizer,  run->log,
                     run->model,       run->best,    run->checkpoint, run->previous_checkpoint,
                     run->checkpoints, run->samples, run->loss_chart, run->started_in};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) free(names[i]);
    *run = (RunDirectory){.lock = -1};
}

bool run_directory_note_start(const RunDirectory *run, Error *error) {
    char *folder = realpath(".", NULL);
    bool noted = !folder || file_write(run->started_in, folder, strlen(folder), error);
    free(folder);
    return noted;
}

bool run_directory_name_start(const RunDirectory *run, Error *error) {
    const Error reason = *error;
    Error ignored;
    size_t size;
    char *then = file_read(run->started_in, 1 << 16, &size, &ignored), *now = realpath(".", NULL);
    if (then && now && strcmp(then, now) != 0)
        error_set(error, "%s; the run was started in %s, where its data paths begin",
                  reason.message, then);
    free(then);
    free(now);
    return false;
}

static bool remove_file(const char *path, Error *error) {
    return unlink(path) == 0 || errno == ENOENT ||
           error_set(error, "%s: cannot be removed: %s", path, strerror(errno));
}

/* A folder that only the run puts files into, with these. */
static bool remove_folder(const char *path, Error *error) {
    if (unlink(path) == 0) return true; /* a link: what is behind it may be another run's */
    DIR *directory = opendir(path);
    bool removed = true;
    for (struct dirent *entry; directory && removed && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        char *file = path_join(path, entry->d_name);
        removed = !file_exists(file) || remove_file(file, error);
        free(file);
    }
    if (directory) closedir(directory);
    rmdir(path); /* unless somebody else put something there */
    return removed;
}

bool run_directory_clear(const RunDirectory *run, Error *error) {
    const char *const files[] = {
        run->checkpoint, run->previous_checkpoint, run->best,      run->model, run->log,
        run->samples,    run->loss_chart,          run->started_in};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!remove_file(files[i], error)) return false;
    return remove_folder(run->checkpoints, error) && remove_folder(run->tokenizer, error);
}

/* Seconds of the last change of the run's newest weights, or -1 when it has none. */
static double run_time(const char *path) {
    RunDirectory run = run_directory_names(path);
    double newest = -1;
    const char *const files[] = {run.model, run.checkpoint};
    for (int i = 0; i < 2; i++) {
        struct stat status;
        if (stat(files[i], &status) != 0) continue;
        double time = (double)status.st_mtim.tv_sec + 1e-9 * (double)status.st_mtim.tv_nsec;
        if (time > newest) newest = time;
    }
    run_directory_free(&run);
    return newest;
}

/* What the log says against a model, or NULL; to be freed. A run without a log is ./convert's. */
static char *untrained_because(const RunDirectory *run) {
    RunLogRow last;
    cJSON *config = file_exists(run->log) ? json_read(run->config, CONFIG_LIMIT, NULL) : NULL;
    char *why = NULL;
    if (config && run_log_last(run->log, &last)) {
        const cJSON *rate = json_get(json_get(config, "training"), "learning_rate");
        const cJSON *warmup = json_get(rate, "warmup_steps");
        const cJSON *vocab_size = json_get(json_get(config, "model"), "vocab_size");
        double guessing = cJSON_IsNumber(vocab_size) ? log(vocab_size->valuedouble) : HUGE_VAL;
        if (last.step == 0 || (cJSON_IsNumber(warmup) && (double)last.step < warmup->valuedouble))
            why = string_format("stopped after step %lld, before the end of its warm-up",
                                (long long)last.step);
        else if (!(last.train_loss < guessing))
            why = string_format("has a loss of %.2f, no better than guessing (%.2f)",
                                last.train_loss, guessing);
    }
    cJSON_Delete(config);
    return why;
}

/* Why no useful model can be read from there (with `text`, no tokenizer), or NULL; to be freed. */
static char *unusable_because(const char *path, bool text) {
    RunDirectory run = run_directory_names(path);
    bool complete = file_exists(run.model) && file_exists(run.config) &&
                    (!text || directory_exists(run.tokenizer));
    char *why = complete ? untrained_because(&run) : string_copy("has no model or no tokenizer");
    run_directory_free(&run);
    return why;
}

char *run_directory_newest(const char *runs, bool text, char **skipped, Error *error) {
    DIR *directory = opendir(runs);
    char *best = NULL;
    double best_time = -1, skipped_time = -1;
    *skipped = NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        char *path = path_join(runs, entry->d_name), *why = unusable_because(path, text);
        double time = run_time(path), *newest_time = why ? &skipped_time : &best_time;
        char **newest = why ? skipped : &best;
        char *found = why ? string_format("%s %s", path, why) : string_copy(path);
        /* of equal times the first by name, so that the answer does not depend on the disk */
        if (time > *newest_time ||
            (time == *newest_time && *newest && strcmp(found, *newest) < 0)) {
            char *older = *newest;
            *newest = found;
            *newest_time = time;
            found = older;
        }
        free(found);
        free(path);
        free(why);
    }
    if (directory) closedir(directory);
    if (!best)
        error_set(
            error,
            "%s: no trained run there%s%s%s; train one (./train configs/tiny.json) or name one "
            "with --run",
            runs, *skipped ? " (" : "", *skipped ? *skipped : "", *skipped ? ")" : "");
    if (skipped_time < best_time || !best) {
        free(*skipped);
        *skipped = NULL;
    }
    return best;
}
