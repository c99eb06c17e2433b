#include "commands/train/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "training/checkpoint.h"

/* Keys, or all keys below them, that cannot change any more: the seed has drawn the weights, the task
 * and the tokenizer say what the ids mean, the rest which numbers there are. */
static bool must_stay(const char *key) {
    static const char *const fixed[] = {"seed",  "data.task", "data.symbols",
                                        "model", "tokenizer", "training.optimizer.type"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        size_t length = strlen(fixed[i]);
        if (strncmp(key, fixed[i], length) == 0 && (key[length] == '.' || key[length] == '\0'))
            return true;
    }
    return false;
}

/* One key with another value (NULL: without one); false when it must stay. */
static bool changed(const char *key, const cJSON *old, const cJSON *now, const char *path,
                    Error *error) {
    char *was = old ? cJSON_PrintUnformatted(old) : string_copy("nothing");
    char *is = now ? cJSON_PrintUnformatted(now) : string_copy("nothing");
    bool allowed = !must_stay(key);
    if (allowed)
        print_line(stdout, "resuming with %s = %s (it was %s)", key, is, was);
    else
        error_set(error,
                  "%s: was trained with %s = %s, and the config now says %s; use the config of "
                  "that run, or start over with --fresh",
                  path, key, was, is);
    free(was);
    free(is);
    return allowed;
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
            same = changed(key, old, item, path, error);
        }
        free(key);
    }
    for (const cJSON *item = before->child; item && same; item = item->next) {
        if (json_get(now, item->string)) continue;
        char *key = string_format("%s%s", prefix, item->string);
        same = changed(key, item, NULL, path, error);
        free(key);
    }
    return same;
}

/* The files that the run began with, when the lists have them: others that have come since do not
 * take their place. */
static void keep_files(DataConfig *data, const DataConfig *before) {
    for (int64_t i = 0; before->train.count == 1 && i < data->train.count; i++) {
        const char *valid = data->valid.count ? data->valid.items[i] : NULL;
        const char *old = before->valid.count ? before->valid.items[0] : NULL;
        if (strcmp(data->train.items[i], before->train.items[0]) != 0) continue;
        if (valid && old ? strcmp(valid, old) != 0 : valid != old) continue;
        data_config_choose(data, i);
    }
}

/* What is left out of the config and was settled when the run began. */
static void keep_settled(TrainConfig *config, const TrainConfig *before) {
    ScheduleConfig *rate = &config->learning_rate;
    if (config->model.vocab_size == 0) config->model.vocab_size = before->model.vocab_size;
    if (rate->type == before->learning_rate.type && rate->cosine_left_out &&
        before->learning_rate.cosine_steps >= rate->warmup_steps)
        rate->cosine_steps = before->learning_rate.cosine_steps;
    keep_files(&config->data, &before->data);
}

/* Steps past the end of the cosine have its lowest rate, which may not be what a longer run is for. */
static void print_added_steps(const TrainConfig *config, const TrainConfig *before) {
    const ScheduleConfig *rate = &config->learning_rate;
    if (rate->type == SCHEDULE_COSINE && config->max_steps > before->max_steps &&
        config->max_steps > rate->cosine_steps &&
        rate->cosine_steps == before->learning_rate.cosine_steps)
        printf(
            "note: steps after %lld run at the lowest learning rate, %.3g; to stretch the cosine "
            "over all steps: --set training.learning_rate.cosine_steps=%lld\n",
            (long long)rate->cosine_steps, rate->min, (long long)config->max_steps);
}

/* A damaged checkpoint: the message also names the one before it, if there is one. */
static bool name_previous(const RunDirectory *run, Error *error) {
    const Error reason = *error;
    if (!file_exists(run->previous_checkpoint)) return false;
    return error_set(error, "%s; the one before it is %s: rename it to resume from it",
                     reason.message, run->previous_checkpoint);
}

bool resume_check(TrainConfig *config, const RunDirectory *run, Error *error) {
    char *before_text = checkpoint_config(run->checkpoint, error);
    if (!before_text) return name_previous(run, error);
    TrainConfig *before =
        train_config_parse(before_text, strlen(before_text), run->checkpoint, NULL, 0, error);
    if (!before) {
        free(before_text);
        return false;
    }
    keep_settled(config, before);
    char *now_text = train_config_to_json(config);
    cJSON *old = json_parse(before_text, strlen(before_text), run->checkpoint, error);
    cJSON *now = json_parse(now_text, strlen(now_text), "config", error);
    bool same = old && now && compare(old, now, "", run->checkpoint, error);
    cJSON_Delete(old);
    cJSON_Delete(now);
    if (same) print_added_steps(config, before);
    train_config_free(before);
    free(before_text);
    free(now_text);
    return same;
}
