/* The way back from a TrainConfig to JSON, key by key in the order of the README's table. */
#include <stdlib.h>

#include "base/json_writer.h"
#include "training/train_config.h"

/* One text as itself, more as a list; NULL as null. */
static void write_files(JsonWriter *writer, const char *key, char **files, int64_t count) {
    if (count == 0) return;
    json_key(writer, key);
    bool list = count > 1 || !files[0];
    if (list) json_begin_array(writer, JSON_ON_ONE_LINE);
    for (int64_t i = 0; i < count; i++) {
        if (files[i])
            json_put_string(writer, files[i]);
        else
            json_put_null(writer);
    }
    if (list) json_end(writer);
}

static void write_data(const DataConfig *data, JsonWriter *writer) {
    json_key(writer, "data");
    json_begin_object(writer, JSON_ON_LINES);
    if (data->task != TASK_NONE) {
        json_member_string(writer, "task", task_name(data->task));
        json_member_whole(writer, "length", data->task_length);
        json_member_whole(writer, "symbols", data->task_symbols);
    }
    write_files(writer, "train", data->train, data->train_count);
    write_files(writer, "valid", data->valid, data->valid_count);
    json_end(writer);
}

static void write_tokenizer(const TokenizerConfig *tokenizer, JsonWriter *writer) {
    if (!tokenizer->present) return;
    json_key(writer, "tokenizer");
    json_begin_object(writer, JSON_ON_LINES);
    if (tokenizer->load)
        json_member_string(writer, "load", tokenizer->load);
    else
        json_member_whole(writer, "vocab_size", tokenizer->vocab_size);
    json_key(writer, "special_tokens");
    json_begin_array(writer, JSON_ON_ONE_LINE);
    for (int64_t i = 0; i < tokenizer->special_token_count; i++)
        json_put_string(writer, tokenizer->special_tokens[i]);
    json_end(writer);
    json_end(writer);
}

static void write_optimizer(const OptimizerConfig *optimizer, JsonWriter *writer) {
    json_key(writer, "optimizer");
    json_begin_object(writer, JSON_ON_LINES);
    json_member_string(writer, "type", optimizer_name(optimizer->type));
    if (optimizer->type == OPTIMIZER_ADAMW) {
        json_member_real(writer, "beta1", optimizer->beta1);
        json_member_real(writer, "beta2", optimizer->beta2);
        json_member_real(writer, "eps", optimizer->eps);
        json_member_real(writer, "weight_decay", optimizer->weight_decay);
    } else {
        json_member_real(writer, "momentum", optimizer->momentum);
    }
    json_end(writer);
}

static void write_learning_rate(const ScheduleConfig *rate, JsonWriter *writer) {
    json_key(writer, "learning_rate");
    json_begin_object(writer, JSON_ON_LINES);
    json_member_string(writer, "schedule", schedule_name(rate->type));
    json_member_real(writer, "max", rate->max);
    if (rate->type == SCHEDULE_COSINE) json_member_real(writer, "min", rate->min);
    json_member_whole(writer, "warmup_steps", rate->warmup_steps);
    if (rate->type == SCHEDULE_COSINE)
        json_member_whole(writer, "cosine_steps", rate->cosine_steps);
    json_end(writer);
}

static void write_training(const TrainConfig *config, JsonWriter *writer) {
    json_key(writer, "training");
    json_begin_object(writer, JSON_ON_LINES);
    json_member_whole(writer, "batch_size", config->batch_size);
    json_member_whole(writer, "gradient_accumulation", config->gradient_accumulation);
    json_member_whole(writer, "max_steps", config->max_steps);
    json_member_real(writer, "grad_clip", config->grad_clip);
    write_optimizer(&config->optimizer, writer);
    write_learning_rate(&config->learning_rate, writer);
    json_member_whole(writer, "log_every", config->log_every);
    json_member_whole(writer, "eval_every", config->eval_every);
    json_member_whole(writer, "eval_batches", config->eval_batches);
    json_member_whole(writer, "checkpoint_every", config->checkpoint_every);
    json_member_whole(writer, "sample_every", config->sample_every);
    json_member_whole(writer, "keep_every", config->keep_every);
    json_member_bool(writer, "recompute", config->recompute);
    json_end(writer);
}

char *train_config_to_json(const TrainConfig *config) {
    JsonWriter writer = {0};
    json_begin_object(&writer, JSON_ON_LINES);
    json_member_string(&writer, "name", config->name);
    json_member_whole(&writer, "seed", (int64_t)config->seed);
    write_data(&config->data, &writer);
    write_tokenizer(&config->tokenizer, &writer);
    json_key(&writer, "model");
    model_config_write(&config->model, &writer);
    write_training(config, &writer);
    json_end(&writer);
    return json_writer_finish(&writer, NULL);
}
