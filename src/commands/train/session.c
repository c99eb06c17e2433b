#include "commands/train/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "commands/train/resume.h"

/* ---- config and run directory ---- */

/* The name of a run on a text of one's own: the file's, without its ending. */
static char *name_of_text(const char *path) {
    char *name = string_copy(path_name(path)), *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = '\0';
    return name;
}

bool session_read_config(Session *s, Error *error) {
    const TrainArguments *a = &s->arguments;
    /* --text FILE is short for two overrides; those of the user come after and win. */
    char *data = NULL, *name = NULL;
    int count = 0;
    const char **overrides = allocate((size_t)a->overrides.count + 2, sizeof *overrides);
    if (a->text) {
        char *base = name_of_text(a->text);
        char *quoted = json_finish(cJSON_CreateString(a->text), 0);
        char *title = json_finish(cJSON_CreateString(base), 0);
        overrides[count++] = data = string_format("data={\"train\": %s}", quoted);
        overrides[count++] = name = string_format("name=%s", title);
        free(base);
        free(quoted);
        free(title);
    }
    for (int i = 0; i < a->overrides.count; i++) overrides[count++] = a->overrides.items[i];
    char *config_path = a->config ? string_copy(a->config) : path_join(a->run, "config.json");
    s->config = train_config_read(config_path, overrides, count, error);
    free(config_path);
    free(overrides);
    free(data);
    free(name);
    return s->config != NULL;
}

bool session_open_run(Session *s, Error *error) {
    const TrainArguments *a = &s->arguments;
    char *path = a->run ? string_copy(a->run) : path_join("runs", s->config->name);
    s->run = run_directory_names(path);
    free(path);
    bool trained = file_exists(s->run.checkpoint);
    bool has_model = trained || file_exists(s->run.model);
    s->resuming = trained && a->resume;
    s->made_folder = !directory_exists(s->run.path);
    if (a->resume && s->made_folder)
        return error_set(error,
                         "%s: no such folder to resume; check --run, or leave out --resume to "
                         "start a run there",
                         s->run.path);
    if (trained && !a->resume && !a->fresh)
        return error_set(
            error,
            "%s: already holds a trained run; continue it with --resume, start over with "
            "--fresh, or name another folder with --run",
            s->run.path);
    if (has_model && !trained && !a->fresh)
        return error_set(error,
                         "%s: holds a model but no checkpoint to resume from; name another folder "
                         "with --run (and start from this model with --init-from %s), or start "
                         "over with --fresh",
                         s->run.path, s->run.path);
    if (!trained && a->resume)
        print_line(stdout, "%s: has no checkpoint to resume yet; this starts with step 1",
                   s->run.path);
    if (trained && a->resume && a->init_from)
        print_line(stdout, "%s: has a checkpoint to resume; --init-from %s is not used",
                   s->run.path, a->init_from);
    return run_directory_lock(&s->run, error) &&
           (!s->resuming || resume_check(s->config, &s->run, error));
}

bool session_write_run(Session *s, Error *error) {
    if (s->arguments.fresh && !run_directory_clear(&s->run, error)) return false;
    s->config_json = train_config_to_json(s->config);
    return run_directory_note_start(&s->run, error) &&
           file_write(s->run.config, s->config_json, strlen(s->config_json), error) &&
           (!s->corpus.tokenizer || tokenizer_save(s->corpus.tokenizer, s->run.tokenizer, error));
}

/* ---- data and memory ---- */

static void print_notice(void *context, const char *line) {
    (void)context;
    print_line(stdout, "%s", line);
    fflush(stdout);
}

bool session_is_task(const Session *s) {
    return s->config->data.task != TASK_NONE;
}

bool session_open_data(Session *s, Error *error) {
    if (session_is_task(s)) {
        s->corpus.separator = -1;
        return !s->config->model.document_mask ||
               error_set(error,
                         "model.document_mask does not go with data.task: the answer would not see "
                         "the question; leave one of them out");
    }
    file_remove_stale("data/cache");
    CorpusOptions options = {.cache = "data/cache",
                             .run_tokenizer = s->resuming ? s->run.tokenizer : NULL,
                             .notice = print_notice};
    if (!corpus_open(&s->corpus, s->config, &options, error)) {
        bool there =
            s->config->data.train.count == 1 && file_exists(s->config->data.train.items[0]);
        return s->resuming && !there ? run_directory_name_start(&s->run, error) : false;
    }
    if (s->config->model.document_mask && s->corpus.separator < 0)
        return error_set(
            error, "model.document_mask is true, but there is no separator between documents; "
                   "give tokenizer.special_tokens");
    return true;
}

bool session_check_memory(const Session *s, const TrainerSetup *setup, Error *error) {
    Model *dry = model_create(&s->config->model, true, error);
    if (!dry) return false;
    TrainStepConfig config = trainer_step_config(setup);
    TrainPlan plan = train_step_plan(dry, &config, parallel_threads());
    model_free(dry);
    double needed = (double)plan.parameter_bytes + (double)plan.activation_bytes + plan.batch_bytes;
    double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double container = (double)cgroup_memory(""), there = fmin(machine, container);
    printf("memory: %.0f MB for weights, moments and gradients, %.0f MB for activations\n",
           (double)plan.parameter_bytes / 1e6, (double)plan.activation_bytes / 1e6);
    return needed <= there ||
           error_set(error,
                     "this training needs %.1f GB of memory and the %s has %.1f GB; make "
                     "training.batch_size, model.context_length or the model smaller, or set "
                     "training.recompute=true",
                     needed / 1e9, container < machine ? "container" : "machine", there / 1e9);
}

uint64_t session_data_fingerprint(const Session *s) {
    const NpyArray *const arrays[] = {&s->corpus.train, &s->corpus.valid};
    uint64_t hash = 0;
    for (int k = 0; k < 2; k++)
        hash = hash_bytes(hash, arrays[k]->data,
                          (size_t)arrays[k]->count * (arrays[k]->type == NPY_UINT16 ? 2 : 4));
    return s->corpus.train.count ? hash : 0;
}
