#include "training/train_config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum {
    LARGEST_FILE = 1 << 20, /* bytes of a config; anything larger is some other file */
    MOST_SPECIAL_TOKENS = 1000,
    BYTE_VALUES = 256,
};

/* ---- the keys ---- */

#define AT(field) offsetof(TrainConfig, field)
#define STEPS     "[0, 1e12]"
#define SEQUENCES "[1, 16777216]"

/* The order of each list is that of its enum. */
static const char *const task_names[] = {"none", "copy", "reverse", "sort", NULL};
static const char *const optimizer_names[] = {"adamw", "sgd", NULL};
static const char *const schedule_names[] = {"cosine", "constant", NULL};

static const Key file_keys[] = {
    {"train", KEY_PATHS, AT(data.train), NULL,
     .meaning =
         "a text, or .npy with token ids; of a list, the first that is there with its valid"},
    {"valid", KEY_PATHS_OR_NULL, AT(data.valid), "(held out)",
     .meaning = "the same; without it the last 1 % of the training ids are held out"},
    {NULL},
};
static const Key task_keys[] = {
    {"length", KEY_WHOLE, AT(data.task_length), "32", "[1, 1048576]",
     .meaning = "symbols of a sequence"},
    {"symbols", KEY_WHOLE, AT(data.task_symbols), "32", "[2, 65536]",
     .meaning = "how many there are"},
    {NULL},
};
static const Key *const data_variants[] = {file_keys, task_keys, task_keys, task_keys};
static const Key data_keys[] = {
    {"task", KEY_CHOICE, AT(data.task), "(none)", .meaning = "a built-in task in place of files",
     .choices = task_names, .variants = data_variants},
    {NULL},
};

static const Key tokenizer_keys[] = {
    {"load", KEY_TEXT, AT(tokenizer.load), "(none)",
     .meaning = "a folder with a trained tokenizer, in place of vocab_size"},
    {"vocab_size", KEY_WHOLE, AT(tokenizer.vocab_size), "(none)", "[256, 16777216]",
     .meaning = "special tokens, 256 bytes, and merges up to this number"},
    {"special_tokens", KEY_TEXTS, AT(tokenizer.special_tokens), "[]",
     .meaning = "the first one separates documents"},
    {NULL},
};

static const Key adamw_keys[] = {
    {"beta1", KEY_REAL, AT(optimizer.beta1), "0.9", "[0, 1)",
     .meaning = "decay of the first moment"},
    {"beta2", KEY_REAL, AT(optimizer.beta2), "0.95", "[0, 1)",
     .meaning = "decay of the second moment"},
    {"eps", KEY_REAL, AT(optimizer.eps), "1e-8", "[1e-30, 1]",
     .meaning = "added to its square root"},
    {"weight_decay", KEY_REAL, AT(optimizer.weight_decay), "0.1", "[0, 1e6]",
     .meaning = "times the learning rate"},
    {NULL},
};
static const Key sgd_keys[] = {
    {"momentum", KEY_REAL, AT(optimizer.momentum), "0", "[0, 1)",
     .meaning = "decay of past gradients"},
    {NULL},
};
static const Key *const optimizer_variants[] = {adamw_keys, sgd_keys};
static const Key optimizer_keys[] = {
    {"type", KEY_CHOICE, AT(optimizer.type), "adamw", .meaning = "the update rule",
     .choices = optimizer_names, .variants = optimizer_variants},
    {NULL},
};

static bool derive_min(void *config) {
    ScheduleConfig *rate = &((TrainConfig *)config)->learning_rate;
    rate->min = rate->max / 10;
    return true;
}

/* A run that is cut short to fewer steps than its warm-up stays in the warm-up. */
static bool derive_cosine_steps(void *config) {
    TrainConfig *c = config;
    ScheduleConfig *rate = &c->learning_rate;
    rate->cosine_left_out = true;
    rate->cosine_steps = c->max_steps > rate->warmup_steps ? c->max_steps : rate->warmup_steps;
    return true;
}

#define MAX_RATE                                                                                   \
    { "max", KEY_REAL, AT(learning_rate.max), "1e-3", "[0, 1e6]", .meaning = "after the warm-up" }
#define WARMUP                                                                                     \
    {                                                                                              \
        "warmup_steps", KEY_WHOLE, AT(learning_rate.warmup_steps), "0", STEPS,                     \
            .meaning = "steps of linear growth from 0"                                             \
    }
static const Key cosine_keys[] = {
    MAX_RATE,
    {"min", KEY_REAL, AT(learning_rate.min), "max/10", "[0, 1e6]", .meaning = "after cosine_steps",
     .derive = derive_min},
    WARMUP,
    {"cosine_steps", KEY_WHOLE, AT(learning_rate.cosine_steps), "max_steps", STEPS,
     .meaning = "step at which min is reached", .derive = derive_cosine_steps},
    {NULL},
};
static const Key constant_keys[] = {
    MAX_RATE,
    WARMUP,
    {NULL},
};
static const Key *const schedule_variants[] = {cosine_keys, constant_keys};
static const Key learning_rate_keys[] = {
    {"schedule", KEY_CHOICE, AT(learning_rate.type), "cosine", .meaning = "shape after warm-up",
     .choices = schedule_names, .variants = schedule_variants},
    {NULL},
};

static const Key training_keys[] = {
    {"batch_size", KEY_WHOLE, AT(batch_size), NULL, SEQUENCES,
     .meaning = "sequences of context_length tokens"},
    {"gradient_accumulation", KEY_WHOLE, AT(gradient_accumulation), "1", SEQUENCES,
     .meaning = "a step takes batch_size times this many sequences"},
    {"max_steps", KEY_WHOLE, AT(max_steps), NULL, STEPS, .meaning = "optimizer steps"},
    {"grad_clip", KEY_REAL, AT(grad_clip), "1", "[0, 1e30]",
     .meaning = "largest norm of the gradient; 0: off"},
    {"optimizer", KEY_OBJECT, 0, "{}", .keys = optimizer_keys},
    {"learning_rate", KEY_OBJECT, 0, "{}", .keys = learning_rate_keys},
    {"log_every", KEY_WHOLE, AT(log_every), "10", "[1, 1e12]",
     .meaning = "steps between rows of the log"},
    {"eval_every", KEY_WHOLE, AT(eval_every), "100", STEPS,
     .meaning = "steps between validations; 0: never"},
    {"eval_batches", KEY_WHOLE, AT(eval_batches), "20", SEQUENCES,
     .meaning = "batches of a validation"},
    {"checkpoint_every", KEY_WHOLE, AT(checkpoint_every), "200", STEPS,
     .meaning = "steps between checkpoints; 0: only at the end"},
    {"sample_every", KEY_WHOLE, AT(sample_every), "500", STEPS,
     .meaning = "steps between samples; 0: never"},
    {"keep_every", KEY_WHOLE, AT(keep_every), "0", STEPS,
     .meaning = "steps between models kept in checkpoints/; 0: none"},
    {"recompute", KEY_BOOL, AT(recompute), "false",
     .meaning = "activation checkpointing: less memory, more compute"},
    {NULL},
};

static const Key train_keys[] = {
    {"name", KEY_TEXT, AT(name), "(file name)", .meaning = "the run's folder is runs/NAME"},
    {"seed", KEY_WHOLE, AT(seed), "1337", "[0, 9007199254740991]",
     .meaning = "of initial weights, windows and samples"},
    {"data", KEY_OBJECT, 0, NULL, .keys = data_keys},
    {"tokenizer", KEY_OBJECT, AT(tokenizer.present), "(none)", .keys = tokenizer_keys},
    {"model", KEY_OBJECT, AT(model), NULL, .keys = model_keys},
    {"training", KEY_OBJECT, 0, NULL, .keys = training_keys},
    {NULL},
};

const char *task_name(TaskType task) {
    return task_names[task];
}
const char *optimizer_name(OptimizerType type) {
    return optimizer_names[type];
}
const char *schedule_name(ScheduleType type) {
    return schedule_names[type];
}

int64_t task_separator(const DataConfig *data) {
    return data->task_symbols;
}
int64_t task_padding(const DataConfig *data) {
    return data->task_symbols + 1;
}

static void choose(TextList *list, int64_t index) {
    if (list->count == 0) return;
    char *kept = list->items[index];
    list->items[index] = NULL;
    for (int64_t i = 0; i < list->count; i++) free(list->items[i]);
    list->items[0] = kept;
    list->count = 1;
}

void data_config_choose(DataConfig *data, int64_t index) {
    choose(&data->train, index);
    choose(&data->valid, index);
}

/* ---- conditions between keys ---- */

/* A run's name is a folder under runs/, so it must be one. */
static bool name_is_usable(const char *name) {
    if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127) return false;
    return *name && strlen(name) <= 200;
}

/* "configs/tiny.json" → "tiny" */
static char *name_from_file(const char *file) {
    char *name = string_copy(path_name(file));
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".json") == 0) name[length - 5] = '\0';
    if (name_is_usable(name) && strcmp(name, "-") != 0) return name; /* "-": standard input */
    free(name);
    return string_copy("run");
}

static bool check_name(TrainConfig *config, KeysReader *reader) {
    if (!config->name) config->name = name_from_file(reader->file);
    return name_is_usable(config->name) ||
           keys_error(
               reader, "name",
               "name is \"%.100s\"; it must be usable as the name of a folder: no '/', no control characters, not \".\" or \"..\", at most 200 bytes",
               config->name);
}

static bool check_data(const DataConfig *data, KeysReader *reader) {
    if (data->valid.count == 0 || data->valid.count == data->train.count) return true;
    return keys_error(reader, "data.valid",
                      "data.valid has %" PRId64 " entries and data.train has %" PRId64
                      "; they are pairs (null stands for no file)",
                      data->valid.count, data->train.count);
}

static bool check_special_tokens(const TextList *tokens, KeysReader *reader) {
    if (tokens->count > MOST_SPECIAL_TOKENS)
        return keys_error(reader, "tokenizer.special_tokens",
                          "tokenizer.special_tokens has %" PRId64 " tokens; at most %d are allowed",
                          tokens->count, MOST_SPECIAL_TOKENS);
    for (int64_t i = 0; i < tokens->count; i++)
        for (int64_t j = 0; j < i; j++)
            if (strcmp(tokens->items[i], tokens->items[j]) == 0)
                return keys_error(reader, "tokenizer.special_tokens",
                                  "tokenizer.special_tokens has \"%.100s\" twice; each token once",
                                  tokens->items[i]);
    return true;
}

static bool check_tokenizer(const TokenizerConfig *tokenizer, KeysReader *reader) {
    static const char path[] = "tokenizer.vocab_size";
    if (!tokenizer->present) return true;
    if (!check_special_tokens(&tokenizer->special_tokens, reader)) return false;
    int64_t given = tokenizer->vocab_size;
    int64_t smallest = BYTE_VALUES + tokenizer->special_tokens.count;
    if (tokenizer->load && given)
        return keys_error(reader, path, "%s does not go with tokenizer.load; leave one of them out",
                          path);
    if (tokenizer->load || given >= smallest) return true;
    if (!given) return keys_error(reader, path, "%s is missing; it has no default", path);
    return keys_error(reader, path,
                      "%s is %" PRId64 "; it must be at least %" PRId64
                      ", the 256 bytes and the special tokens",
                      path, given, smallest);
}

static bool check_learning_rate(const ScheduleConfig *rate, KeysReader *reader) {
    if (rate->type != SCHEDULE_COSINE) return true;
    if (rate->min > rate->max)
        return keys_error(reader, "training.learning_rate.min",
                          "training.learning_rate.min is %g; it must not be above max (%g)",
                          rate->min, rate->max);
    if (rate->warmup_steps > rate->cosine_steps)
        return keys_error(reader, "training.learning_rate.warmup_steps",
                          "training.learning_rate.warmup_steps is %" PRId64
                          "; it must not be above cosine_steps (%" PRId64 ")",
                          rate->warmup_steps, rate->cosine_steps);
    return true;
}

/* Sets the vocabulary of a task, or checks the size given against it. How many tokens a tokenizer has is
 * known when it is there. */
static bool resolve_vocabulary(TrainConfig *config, KeysReader *reader) {
    int64_t given = config->model.vocab_size, needed = 0;
    if (config->data.task != TASK_NONE) {
        if (config->tokenizer.present)
            return keys_error(reader, "tokenizer",
                              "tokenizer does not go with data.task; leave one of them out");
        needed = task_padding(&config->data) + 1;
    } else if (!config->tokenizer.present && given == 0) {
        return keys_error(reader, "model.vocab_size",
                          "model.vocab_size is missing; without a tokenizer it must be given");
    }
    if (given > 0 && given < needed)
        return keys_error(reader, "model.vocab_size",
                          "model.vocab_size is %" PRId64 "; it must be at least %" PRId64
                          " (data.symbols, the separator and the padding)",
                          given, needed);
    if (given == 0) config->model.vocab_size = needed;
    return true;
}

static bool check_task(const TrainConfig *config, KeysReader *reader) {
    if (config->data.task != TASK_NONE &&
        2 * config->data.task_length > config->model.context_length)
        return keys_error(reader, "data.length",
                          "data.length is %" PRId64
                          "; twice that must fit into model.context_length (%" PRId64 ")",
                          config->data.task_length, config->model.context_length);
    if (config->model.document_mask && config->tokenizer.special_tokens.count == 0)
        return keys_error(
            reader, "model.document_mask",
            "model.document_mask is true; it needs tokenizer.special_tokens, the first of which stands between the documents");
    return true;
}

/* Rows and tokens are counted in 63 bits through the whole run. */
static bool check_amount(const TrainConfig *config, KeysReader *reader) {
    int64_t tokens;
    if (__builtin_mul_overflow(config->batch_size, config->gradient_accumulation, &tokens) ||
        __builtin_mul_overflow(tokens, config->model.context_length, &tokens) ||
        __builtin_mul_overflow(tokens, config->max_steps, &tokens))
        return keys_error(
            reader, "training.max_steps",
            "training.batch_size, gradient_accumulation, max_steps and model.context_length multiply to more than 2^63 tokens; make one of them smaller");
    return true;
}

/* ---- the whole ---- */

static TrainConfig *config_from_tree(cJSON *tree, const char *file, const char *const *overrides,
                                     int override_count, Error *error) {
    for (int i = 0; i < override_count; i++)
        if (!keys_override(tree, overrides[i], file, error)) return NULL;
    KeysReader reader = {file, error, overrides, override_count, train_keys, false};
    TrainConfig *config = allocate_zeroed(1, sizeof *config);
    if (keys_read(&reader, train_keys, "", tree, config) && check_name(config, &reader) &&
        check_data(&config->data, &reader) && check_tokenizer(&config->tokenizer, &reader) &&
        check_learning_rate(&config->learning_rate, &reader) &&
        model_config_check(&config->model, &reader) && resolve_vocabulary(config, &reader) &&
        check_task(config, &reader) && check_amount(config, &reader))
        return config;
    train_config_free(config);
    return NULL;
}

TrainConfig *train_config_read(const char *path, const char *const *overrides, int override_count,
                               Error *error) {
    cJSON *tree = json_read(path, LARGEST_FILE, error);
    if (!tree) return NULL;
    TrainConfig *config = config_from_tree(tree, path, overrides, override_count, error);
    cJSON_Delete(tree);
    return config;
}

TrainConfig *train_config_parse(const char *text, size_t length, const char *name,
                                const char *const *overrides, int override_count, Error *error) {
    cJSON *tree = json_parse(text, length, name, error);
    if (!tree) return NULL;
    TrainConfig *config = config_from_tree(tree, name, overrides, override_count, error);
    cJSON_Delete(tree);
    return config;
}

void train_config_free(TrainConfig *config) {
    if (!config) return;
    keys_free(train_keys, config);
    free(config);
}

char *train_config_to_json(const TrainConfig *config) {
    return json_finish(keys_write(train_keys, config), 3);
}

void train_config_print_keys(FILE *stream) {
    keys_print(stream, train_keys, "");
}
