#include "training/train_config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/key_rows.h"

enum {
    LARGEST_FILE = 1 << 20, /* bytes of a config; anything larger is some other file */
    MOST_SPECIAL_TOKENS = 1000,
    BYTE_VALUES = 256,
};

/* ---- the keys ---- */

#define KEYS_OF   TrainConfig
#define STEPS     "[0, 1e12]"
#define SEQUENCES "[1, 16777216]"

/* The order of each list is that of its enum. */
static const char *const task_names[] = {"none", "copy", "reverse", "sort", NULL};
static const char *const optimizer_names[] = {"adamw", "sgd", NULL};
static const char *const schedule_names[] = {"cosine", "constant", NULL};

static const Key file_keys[] = {
    TEXTS("train", KEY_PATHS, data.train, NULL,
          "a text, or .npy with token ids; of a list, the first that is there with its valid"),
    TEXTS("valid", KEY_PATHS_OR_NULL, data.valid, "(held out)",
          "the same; without it the last 1 % of the training ids are held out"),
    END,
};
static const Key task_keys[] = {
    WHOLE("length", data.task_length, "32", "[1, 1048576]", "symbols of a sequence"),
    WHOLE("symbols", data.task_symbols, "32", "[2, 65536]", "how many there are"),
    END,
};
static const Key *const data_variants[] = {file_keys, task_keys, task_keys, task_keys};
static const Key data_keys[] = {
    CHOICE("task", data.task, "(none)", task_names, "a built-in task in place of files",
           .variants = data_variants),
    END,
};

static const Key tokenizer_keys[] = {
    TEXTS("load", KEY_TEXT, tokenizer.load, "(none)",
          "a folder with a trained tokenizer, in place of vocab_size"),
    WHOLE("vocab_size", tokenizer.vocab_size, "(none)", "[256, 16777216]",
          "special tokens, 256 bytes, and merges up to this number"),
    TEXTS("special_tokens", KEY_TEXTS, tokenizer.special_tokens, "[]",
          "the first one separates documents"),
    END,
};

static const Key adamw_keys[] = {
    REAL("beta1", optimizer.beta1, "0.9", "[0, 1)", "decay of the first moment"),
    REAL("beta2", optimizer.beta2, "0.95", "[0, 1)", "decay of the second moment"),
    REAL("eps", optimizer.eps, "1e-8", "[1e-30, 1]", "added to its square root"),
    REAL("weight_decay", optimizer.weight_decay, "0.1", "[0, 1e6]", "times the learning rate"),
    END,
};
static const Key sgd_keys[] = {
    REAL("momentum", optimizer.momentum, "0", "[0, 1)", "decay of past gradients"),
    END,
};
static const Key *const optimizer_variants[] = {adamw_keys, sgd_keys};
static const Key optimizer_keys[] = {
    CHOICE("type", optimizer.type, "adamw", optimizer_names, "the update rule",
           .variants = optimizer_variants),
    END,
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

#define MAX_RATE REAL("max", learning_rate.max, "1e-3", "[0, 1e6]", "after the warm-up")
#define WARMUP                                                                                     \
    WHOLE("warmup_steps", learning_rate.warmup_steps, "0", STEPS, "steps of linear growth from 0")
static const Key cosine_keys[] = {
    MAX_RATE,
    REAL("min", learning_rate.min, "max/10", "[0, 1e6]", "after cosine_steps",
         .derive = derive_min),
    WARMUP,
    WHOLE("cosine_steps", learning_rate.cosine_steps, "max_steps", STEPS,
          "step at which min is reached", .derive = derive_cosine_steps),
    END,
};
static const Key constant_keys[] = {MAX_RATE, WARMUP, END};
static const Key *const schedule_variants[] = {cosine_keys, constant_keys};
static const Key learning_rate_keys[] = {
    CHOICE("schedule", learning_rate.type, "cosine", schedule_names, "shape after warm-up",
           .variants = schedule_variants),
    END,
};

static const Key training_keys[] = {
    WHOLE("batch_size", batch_size, NULL, SEQUENCES, "sequences of context_length tokens"),
    WHOLE("gradient_accumulation", gradient_accumulation, "1", SEQUENCES,
          "a step takes batch_size times this many sequences"),
    WHOLE("max_steps", max_steps, NULL, STEPS, "optimizer steps"),
    REAL("grad_clip", grad_clip, "1", "[0, 1e30]", "largest norm of the gradient; 0: off"),
    OBJECT("optimizer", "{}", optimizer_keys),
    OBJECT("learning_rate", "{}", learning_rate_keys),
    WHOLE("log_every", log_every, "10", "[1, 1e12]", "steps between rows of the log"),
    WHOLE("eval_every", eval_every, "100", STEPS, "steps between validations; 0: never"),
    WHOLE("eval_batches", eval_batches, "20", SEQUENCES, "batches of a validation"),
    WHOLE("checkpoint_every", checkpoint_every, "200", STEPS,
          "steps between checkpoints; 0: only at the end"),
    WHOLE("sample_every", sample_every, "500", STEPS, "steps between samples; 0: never"),
    WHOLE("keep_every", keep_every, "0", STEPS,
          "steps between models kept in checkpoints/; 0: none"),
    FLAG("recompute", recompute, "false", "activation checkpointing: less memory, more compute"),
    END,
};

static const Key train_keys[] = {
    TEXTS("name", KEY_TEXT, name, "(file name)", "the run's folder is runs/NAME"),
    WHOLE("seed", seed, "1337", "[0, 9007199254740991]", "of initial weights, windows and samples"),
    OBJECT("data", NULL, data_keys),
    KEY_ROW("tokenizer", KEY_OBJECT, tokenizer.present, "(none)", .keys = tokenizer_keys),
    KEY_ROW("model", KEY_OBJECT, model, NULL, .keys = model_keys),
    OBJECT("training", NULL, training_keys),
    END,
};

const char *task_name(TaskType task) {
    return task_names[task];
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
    return keys_require(reader, false, path, given,
                        "be at least the number of bytes and special tokens", smallest);
}

static bool check_learning_rate(const ScheduleConfig *rate, KeysReader *reader) {
    if (rate->type != SCHEDULE_COSINE) return true;
    if (rate->min > rate->max)
        return keys_error(reader, "training.learning_rate.min",
                          "training.learning_rate.min is %g; it must not be above max (%g)",
                          rate->min, rate->max);
    return keys_require(reader, rate->warmup_steps <= rate->cosine_steps,
                        "training.learning_rate.warmup_steps", rate->warmup_steps,
                        "not be above cosine_steps", rate->cosine_steps);
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
    if (given == 0) config->model.vocab_size = needed;
    return keys_require(reader, given == 0 || given >= needed, "model.vocab_size", given,
                        "be at least data.symbols + 2, for separator and padding", needed);
}

static bool check_task(const TrainConfig *config, KeysReader *reader) {
    int64_t length = config->data.task_length, most = config->model.context_length / 2;
    if (!keys_require(reader, config->data.task == TASK_NONE || length <= most, "data.length",
                      length, "not be above model.context_length / 2", most))
        return false;
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

/* Deletes the tree; NULL when that is NULL. */
static TrainConfig *config_from_tree(cJSON *tree, const char *file, const char *const *overrides,
                                     int override_count, Error *error) {
    KeysReader reader = {file, error, overrides, override_count, train_keys, tree == NULL};
    TrainConfig *config = allocate_zeroed(1, sizeof *config);
    for (int i = 0; i < override_count && !reader.failed; i++)
        reader.failed = !keys_override(tree, overrides[i], file, error);
    bool done = !reader.failed && keys_read(&reader, train_keys, "", tree, config) &&
                check_name(config, &reader) && check_data(&config->data, &reader) &&
                check_tokenizer(&config->tokenizer, &reader) &&
                check_learning_rate(&config->learning_rate, &reader) &&
                model_config_check(&config->model, &reader) &&
                resolve_vocabulary(config, &reader) && check_task(config, &reader) &&
                check_amount(config, &reader);
    cJSON_Delete(tree);
    if (done) return config;
    train_config_free(config);
    return NULL;
}

TrainConfig *train_config_read(const char *path, const char *const *overrides, int override_count,
                               Error *error) {
    cJSON *tree = json_read(path, LARGEST_FILE, error);
    return config_from_tree(tree, path, overrides, override_count, error);
}

TrainConfig *train_config_parse(const char *text, size_t length, const char *name,
                                const char *const *overrides, int override_count, Error *error) {
    cJSON *tree = json_parse(text, length, name, error);
    return config_from_tree(tree, name, overrides, override_count, error);
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
