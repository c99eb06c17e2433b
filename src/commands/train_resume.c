#include "commands/train_resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "training/checkpoint.h"

/* Keys whose change makes another model of it. */
static bool must_stay(const char *key) {
    static const char *const fixed[] = {"model.", "tokenizer.", "training.optimizer.type"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strncmp(key, fixed[i], strlen(fixed[i])) == 0) return true;
    return false;
}

/* Walks both trees, printing changed values; false at the first one that must stay. */
static bool compare(const cJSON *before, const cJSON *now, const char *prefix, const char *path,
                    Error *error) {
    bool same = true;
    for (const cJSON *item = now->child; item && same; item = item->next) {
        char *key = string_format("%s%s", prefix, item->string);
        const cJSON *old = json_get(before, item->string);
        if (cJSON_IsObject(item) && cJSON_IsObject(old)) {
            char *deeper = string_format("%s.", key);
            same = compare(old, item, deeper, path, error);
            free(deeper);
        } else if (!old || !cJSON_Compare(old, item, true)) {
            char *was = old ? cJSON_PrintUnformatted(old) : string_copy("not there");
            char *is = cJSON_PrintUnformatted(item);
            if (must_stay(key))
                same =
                    error_set(error,
                              "%s: was trained with %s = %s, and the config now says %s; use the "
                              "config of that run, or start over with --fresh",
                              path, key, was, is);
            else
                printf("resuming with %s = %s (it was %s)\n", key, is, was);
            free(was);
            free(is);
        }
        free(key);
    }
    return same;
}

/* A damaged checkpoint: the message goes on with the one before it, if that is there. */
static bool name_previous(const RunDirectory *run, Error *error) {
    const Error reason = *error;
    if (!file_exists(run->previous_checkpoint)) return false;
    return error_set(error, "%s; the one before it is %s: rename it to go on from there",
                     reason.message, run->previous_checkpoint);
}

bool resume_check(TrainConfig *config, const RunDirectory *run, bool resume, Error *error) {
    if (!resume || !file_exists(run->checkpoint)) return true;
    char *before_text = checkpoint_config(run->checkpoint, error);
    if (!before_text) return name_previous(run, error);
    TrainConfig *before =
        train_config_parse(before_text, strlen(before_text), run->checkpoint, NULL, 0, error);
    if (!before) {
        free(before_text);
        return false;
    }
    if (config->learning_rate.cosine_steps == config->max_steps &&
        before->learning_rate.cosine_steps == before->max_steps)
        config->learning_rate.cosine_steps = before->learning_rate.cosine_steps;
    char *now_text = train_config_to_json(config);
    cJSON *old = json_parse(before_text, strlen(before_text), run->checkpoint, error);
    cJSON *now = json_parse(now_text, strlen(now_text), "config", error);
    bool same = old && now && compare(old, now, "", run->checkpoint, error);
    cJSON_Delete(old);
    cJSON_Delete(now);
    train_config_free(before);
    free(before_text);
    free(now_text);
    return same;
}
