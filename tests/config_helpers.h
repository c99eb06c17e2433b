/* What the config tests share: a small config, and ways to expect that a text is accepted or refused. */
#ifndef TINYLM_TESTS_CONFIG_HELPERS_H
#define TINYLM_TESTS_CONFIG_HELPERS_H

#include "helpers.h"

#include <string.h>

#include "training/train_config.h"

/* The smallest config with a hole for more keys of each object. */
#define DATA     "\"data\": {\"train\": \"t.txt\"}"
#define MODEL    "\"context_length\": 16, \"d_model\": 32, \"num_layers\": 2, \"num_heads\": 4"
#define TRAINING "\"batch_size\": 2, \"max_steps\": 100"
#define CONFIG(root, model, training)                                                              \
    "{" DATA root ", \"model\": {" MODEL model "}, \"training\": {" TRAINING training "}}"
/* One that is complete. */
#define SMALL CONFIG(", \"tokenizer\": {\"vocab_size\": 300}", "", "")

static inline TrainConfig *parse_set(const char *text, const char *const *sets, int count,
                                     Error *error) {
    error->message[0] = '\0';
    return train_config_parse(text, strlen(text), "x.json", sets, count, error);
}

static inline TrainConfig *accept_set(const char *text, const char *const *sets, int count) {
    Error error;
    TrainConfig *config = parse_set(text, sets, count, &error);
    if (!config) fail_msg("refused: %s", error.message);
    return config;
}

static inline TrainConfig *accept(const char *text) {
    return accept_set(text, NULL, 0);
}

/* The message without the leading "x.json". */
static inline void refuse_set(const char *text, const char *set, const char *message) {
    Error error;
    TrainConfig *config = parse_set(text, &set, set != NULL, &error);
    if (config) fail_msg("accepted: %s", set ? set : text);
    assert_memory_equal(error.message, "x.json", 6);
    assert_string_equal(error.message + 6, message);
}

static inline void refuse(const char *text, const char *message) {
    refuse_set(text, NULL, message);
}

/* Writing and reading again must change nothing, down to the last byte. */
static inline void expect_round_trip(const TrainConfig *config) {
    char *text = train_config_to_json(config);
    TrainConfig *again = accept(text);
    char *text_again = train_config_to_json(again);
    assert_string_equal(text, text_again);
    assert_memory_equal(&config->model, &again->model, sizeof config->model);
    free(text);
    free(text_again);
    train_config_free(again);
}

#endif
