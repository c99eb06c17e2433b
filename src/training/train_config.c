#include "training/train_config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_object.h"
#include "base/json_override.h"

enum {
    LARGEST_FILE = 1 << 20, /* bytes of a config; anything larger is some other file */
    MOST_ROWS = 1 << 24,
    MOST_SYMBOLS = 1 << 16,
    MOST_SPECIAL_TOKENS = 1000,
    BYTE_VALUES = 256,
};
#define MOST_STEPS 1000000000000 /* 10^12 */

/* The order of each list is that of its enum. */
static const char *const task_names[] = {"none", "copy", "reverse", "sort"};
static const char *const optimizer_names[] = {"adamw", "sgd"};
static const char *const schedule_names[] = {"cosine", "constant"};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

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

void data_config_choose(DataConfig *data, int64_t index) {
    for (int64_t i = 0; i < data->train_count; i++) {
        if (i == index) continue;
        free(data->train[i]);
        if (data->valid_count) free(data->valid[i]);
    }
    data->train[0] = data->train[index];
    data->train_count = 1;
    if (data->valid_count == 0) return;
    data->valid[0] = data->valid[index];
    data->valid_count = 1;
}

/* ---- the parts ---- */

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

static char *read_name(JsonObject *root) {
    char *name = json_object_string(root, "name");
    if (!name) return name_from_file(root->reader->file);
    if (!name_is_usable(name))
        json_reader_error(
            root->reader, "name",
            "name is \"%.100s\"; it must be usable as the name of a folder: no '/', no control characters, not \".\" or \"..\", at most 200 bytes",
            name);
    return name;
}

static void read_data_files(JsonObject *object, DataConfig *data) {
    data->train = json_object_strings(object, "train", true, false, &data->train_count);
    data->valid = json_object_strings(object, "valid", true, true, &data->valid_count);
    json_object_require(object, "train");
    if (data->train && data->valid && data->valid_count != data->train_count)
        json_reader_error(object->reader, "data.valid",
                          "data.valid has %" PRId64 " entries and data.train has %" PRId64
                          "; they are pairs (null stands for no file)",
                          data->valid_count, data->train_count);
}

static void read_data(JsonObject *root, DataConfig *data) {
    json_object_require(root, "data");
    JsonObject object = json_object_child(root, "data");
    data->task =
        (TaskType)json_object_choice(&object, "task", TASK_NONE, task_names, COUNT(task_names));
    if (data->task == TASK_NONE) {
        read_data_files(&object, data);
    } else {
        object.variant = task_names[data->task];
        data->task_length = json_object_whole(&object, "length", 32, 1, 1 << 20);
        data->task_symbols = json_object_whole(&object, "symbols", 32, 2, MOST_SYMBOLS);
    }
    if (object.node) json_object_end(&object);
}

static void check_special_tokens(JsonReader *reader, const TokenizerConfig *tokenizer) {
    if (tokenizer->special_token_count > MOST_SPECIAL_TOKENS) {
        json_reader_error(reader, "tokenizer.special_tokens",
                          "tokenizer.special_tokens has %" PRId64 " tokens; at most %d are allowed",
                          tokenizer->special_token_count, MOST_SPECIAL_TOKENS);
        return;
    }
    for (int64_t i = 0; i < tokenizer->special_token_count; i++)
        for (int64_t j = 0; j < i; j++)
            if (strcmp(tokenizer->special_tokens[i], tokenizer->special_tokens[j]) == 0)
                json_reader_error(reader, "tokenizer.special_tokens",
                                  "tokenizer.special_tokens has \"%.100s\" twice; each token once",
                                  tokenizer->special_tokens[i]);
    int64_t smallest = BYTE_VALUES + tokenizer->special_token_count;
    if (!tokenizer->load && tokenizer->vocab_size < smallest)
        json_reader_error(reader, "tokenizer.vocab_size",
                          "tokenizer.vocab_size is %" PRId64 "; it must be at least %" PRId64
                          ", the 256 bytes and the special tokens",
                          tokenizer->vocab_size, smallest);
}

static void read_tokenizer(JsonObject *root, TokenizerConfig *tokenizer) {
    JsonObject object = json_object_child(root, "tokenizer");
    tokenizer->present = object.node != NULL;
    if (!tokenizer->present) return;
    tokenizer->load = json_object_string(&object, "load");
    tokenizer->special_tokens = json_object_strings(&object, "special_tokens", false, false,
                                                    &tokenizer->special_token_count);
    if (tokenizer->load)
        object.variant = "load";
    else
        tokenizer->vocab_size =
            json_object_whole(&object, "vocab_size", JSON_REQUIRED, BYTE_VALUES, 1 << 24);
    json_object_end(&object);
    check_special_tokens(root->reader, tokenizer);
}

static void read_optimizer(JsonObject *training, OptimizerConfig *optimizer) {
    JsonObject object = json_object_child(training, "optimizer");
    int type = json_object_choice(&object, "type", OPTIMIZER_ADAMW, optimizer_names,
                                  COUNT(optimizer_names));
    *optimizer = (OptimizerConfig){.type = (OptimizerType)type};
    object.variant = optimizer_names[type];
    if (optimizer->type == OPTIMIZER_ADAMW) {
        optimizer->beta1 = json_object_real(&object, "beta1", 0.9, "[0, 1)");
        optimizer->beta2 = json_object_real(&object, "beta2", 0.95, "[0, 1)");
        optimizer->eps = json_object_real(&object, "eps", 1e-8, "[1e-30, 1]");
        optimizer->weight_decay = json_object_real(&object, "weight_decay", 0.1, "[0, 1e6]");
    } else {
        optimizer->momentum = json_object_real(&object, "momentum", 0, "[0, 1)");
    }
    json_object_end(&object);
}

static void read_learning_rate(JsonObject *training, int64_t max_steps, ScheduleConfig *rate) {
    JsonObject object = json_object_child(training, "learning_rate");
    int type = json_object_choice(&object, "schedule", SCHEDULE_COSINE, schedule_names,
                                  COUNT(schedule_names));
    rate->type = (ScheduleType)type;
    object.variant = schedule_names[type];
    rate->max = json_object_real(&object, "max", 1e-3, "[0, 1e6]");
    rate->warmup_steps = json_object_whole(&object, "warmup_steps", 0, 0, MOST_STEPS);
    rate->min = rate->max / 10;
    rate->cosine_steps = max_steps > rate->warmup_steps ? max_steps : rate->warmup_steps;
    if (rate->type == SCHEDULE_COSINE) {
        rate->cosine_given = json_object_has(&object, "cosine_steps");
        rate->min = json_object_real(&object, "min", rate->min, "[0, 1e6]");
        rate->cosine_steps =
            json_object_whole(&object, "cosine_steps", rate->cosine_steps, 0, MOST_STEPS);
    }
    json_object_end(&object);
    if (rate->min > rate->max)
        json_reader_error(object.reader, "training.learning_rate.min",
                          "training.learning_rate.min is %g; it must not be above max (%g)",
                          rate->min, rate->max);
    if (rate->warmup_steps > rate->cosine_steps)
        json_reader_error(object.reader, "training.learning_rate.warmup_steps",
                          "training.learning_rate.warmup_steps is %" PRId64
                          "; it must not be above cosine_steps (%" PRId64 ")",
                          rate->warmup_steps, rate->cosine_steps);
}

static void read_training(JsonObject *root, TrainConfig *config) {
    json_object_require(root, "training");
    JsonObject object = json_object_child(root, "training");
    config->batch_size = json_object_whole(&object, "batch_size", JSON_REQUIRED, 1, MOST_ROWS);
    config->gradient_accumulation =
        json_object_whole(&object, "gradient_accumulation", 1, 1, MOST_ROWS);
    config->max_steps = json_object_whole(&object, "max_steps", JSON_REQUIRED, 0, MOST_STEPS);
    config->grad_clip = json_object_real(&object, "grad_clip", 1, "[0, 1e30]");
    read_optimizer(&object, &config->optimizer);
    read_learning_rate(&object, config->max_steps, &config->learning_rate);
    config->log_every = json_object_whole(&object, "log_every", 10, 1, MOST_STEPS);
    config->eval_every = json_object_whole(&object, "eval_every", 100, 0, MOST_STEPS);
    config->eval_batches = json_object_whole(&object, "eval_batches", 20, 1, MOST_ROWS);
    config->checkpoint_every = json_object_whole(&object, "checkpoint_every", 200, 0, MOST_STEPS);
    config->sample_every = json_object_whole(&object, "sample_every", 500, 0, MOST_STEPS);
    config->keep_every = json_object_whole(&object, "keep_every", 0, 0, MOST_STEPS);
    config->recompute = json_object_bool(&object, "recompute", false);
    if (object.node) json_object_end(&object);
}

/* ---- conditions between the parts ---- */

/* Sets the vocabulary of a task, or checks the size given against it. How many tokens a tokenizer has is
 * known when it is there. */
static bool resolve_vocabulary(TrainConfig *config, JsonReader *reader) {
    int64_t given = config->model.vocab_size, needed = 0;
    if (config->data.task != TASK_NONE) {
        if (config->tokenizer.present)
            return json_reader_error(reader, "tokenizer",
                                     "tokenizer does not go with data.task; leave one of them out");
        needed = task_padding(&config->data) + 1;
    } else if (!config->tokenizer.present && given == 0) {
        return json_reader_error(
            reader, "model.vocab_size",
            "model.vocab_size is missing; without a tokenizer it must be given");
    }
    if (given > 0 && given < needed)
        return json_reader_error(reader, "model.vocab_size",
                                 "model.vocab_size is %" PRId64 "; it must be at least %" PRId64
                                 " (data.symbols, the separator and the padding)",
                                 given, needed);
    if (given == 0) config->model.vocab_size = needed;
    return true;
}

static bool check_task(const TrainConfig *config, JsonReader *reader) {
    if (config->data.task != TASK_NONE &&
        2 * config->data.task_length > config->model.context_length)
        return json_reader_error(reader, "data.length",
                                 "data.length is %" PRId64
                                 "; twice that must fit into model.context_length (%" PRId64 ")",
                                 config->data.task_length, config->model.context_length);
    if (config->model.document_mask && config->tokenizer.special_token_count == 0)
        return json_reader_error(
            reader, "model.document_mask",
            "model.document_mask is true; it needs tokenizer.special_tokens, the first of which stands between the documents");
    return true;
}

/* Rows and tokens are counted in 63 bits through the whole run. */
static bool check_amount(const TrainConfig *config, JsonReader *reader) {
    int64_t tokens;
    if (__builtin_mul_overflow(config->batch_size, config->gradient_accumulation, &tokens) ||
        __builtin_mul_overflow(tokens, config->model.context_length, &tokens) ||
        __builtin_mul_overflow(tokens, config->max_steps, &tokens))
        return json_reader_error(
            reader, "training.max_steps",
            "training.batch_size, gradient_accumulation, max_steps and model.context_length multiply to more than 2^63 tokens; make one of them smaller");
    return true;
}

/* ---- the whole ---- */

static void read_root(JsonReader *reader, const cJSON *tree, TrainConfig *config) {
    JsonObject root = json_object_root(reader, tree);
    config->name = read_name(&root);
    config->seed = (uint64_t)json_object_whole(&root, "seed", 1337, 0, JSON_WHOLE_LIMIT);
    read_data(&root, &config->data);
    read_tokenizer(&root, &config->tokenizer);
    json_object_require(&root, "model");
    JsonObject model = json_object_child(&root, "model");
    model_config_read(&model, &config->model);
    if (model.node) json_object_end(&model);
    read_training(&root, config);
    json_object_end(&root);
    if (model_config_check(&config->model, reader) && resolve_vocabulary(config, reader) &&
        check_task(config, reader))
        check_amount(config, reader);
}

static TrainConfig *config_from_tree(cJSON *tree, const char *file, const char *const *overrides,
                                     int override_count, Error *error) {
    for (int i = 0; i < override_count; i++)
        if (!json_override(tree, overrides[i], file, error)) return NULL;
    JsonReader reader = {
        .file = file, .overrides = overrides, .override_count = override_count, .error = error};
    TrainConfig *config = allocate_zeroed(1, sizeof *config);
    read_root(&reader, tree, config);
    if (!reader.failed) return config;
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
    free(config->name);
    string_list_free(config->data.train, config->data.train_count);
    string_list_free(config->data.valid, config->data.valid_count);
    string_list_free(config->tokenizer.special_tokens, config->tokenizer.special_token_count);
    free(config->tokenizer.load);
    free(config);
}
