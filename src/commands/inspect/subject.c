#include "commands/inspect/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/file.h"
#include "base/printable.h"
#include "commands/logits.h"
#include "tokenizer/unicode.h"
#include "training/train_config.h"

/* ---- text to ids ---- */

/* The label is the token's text without leading spaces; unprintable bytes become \n or \xe7. */
static void add_token(InspectSubject *subject, int32_t id, const uint8_t *text, size_t length) {
    size_t n = (size_t)subject->count++, size;
    subject->ids = reallocate(subject->ids, n + 1, sizeof *subject->ids);
    subject->labels = reallocate(subject->labels, n + 1, sizeof *subject->labels);
    subject->ids[n] = id;
    while (length > 1 && *text == ' ') text++, length--;
    FILE *label = open_memstream(&subject->labels[n], &size);
    print_escaped(label, text, length);
    fclose(label);
}

/* Bytes of the word at the start of a text. A wide character (Chinese, Japanese, Korean) is a word of its
 * own: these stand beside each other without spaces. */
static size_t word_length(const uint8_t *text, const uint8_t *end) {
    const uint8_t *at = text;
    while (at < end && !strchr(" \t\n", *at)) {
        uint32_t c;
        size_t size = unicode_decode(at, end, &c);
        if (utf8proc_charwidth((utf8proc_int32_t)c) == 2)
            return (size_t)(at - text) + (at == text ? size : 0);
        at += size;
    }
    return (size_t)(at - text);
}

/* Every distinct word gets the next id. */
static void words_to_ids(InspectSubject *subject, const char *text) {
    const uint8_t *at = (const uint8_t *)text, *end = at + strlen(text);
    int32_t known = 0;
    for (size_t length; at < end; at += length ? length : 1) {
        length = word_length(at, end);
        if (length == 0) continue; /* a space */
        int64_t n = subject->count, same = 0;
        add_token(subject, known, at, length);
        while (strcmp(subject->labels[same], subject->labels[n]) != 0) same++;
        subject->ids[n] = same == n ? known++ : subject->ids[same];
    }
}

static bool tokens_to_ids(InspectSubject *subject, const char *text, Error *error) {
    const ModelTokenizer *tokenizer = &subject->file.tokenizer;
    uint32_t *ids;
    size_t count;
    if (!model_tokenizer_encode(tokenizer, (const uint8_t *)text, strlen(text), &ids, &count,
                                error))
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t length = 0;
        const uint8_t *bytes =
            model_tokenizer_bytes(tokenizer, i ? ids[i - 1] : TOKEN_NONE, ids[i], &length);
        add_token(subject, (int32_t)ids[i], bytes, length);
    }
    free(ids);
    return true;
}

static bool numbers_to_ids(InspectSubject *subject, const char *text, Error *error) {
    int32_t *ids;
    int64_t count;
    if (!ids_parse(text, subject->file.model->config.vocab_size, &ids, &count, error)) return false;
    for (int64_t i = 0; i < count; i++) {
        char number[16];
        int length = snprintf(number, sizeof number, "%d", ids[i]);
        add_token(subject, ids[i], (const uint8_t *)number, (size_t)length);
    }
    free(ids);
    return true;
}

/* ---- opening ---- */

static bool is_config(const char *path) {
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".json") == 0 && !directory_exists(path);
}

/* An untrained model whose vocabulary is the words of the text. */
static bool open_config(InspectSubject *subject, const char *path, const OptionList *overrides,
                        const char *text, Error *error) {
    TrainConfig *config = train_config_read(path, overrides->items, overrides->count, error);
    if (!config) return false;
    if (text) words_to_ids(subject, text);
    if (config->model.vocab_size < subject->count + 1)
        config->model.vocab_size = subject->count + 1;
    subject->file.model = model_create(&config->model, false, error);
    if (subject->file.model) model_initialize(subject->file.model, config->seed);
    subject->file.path = string_copy(path);
    train_config_free(config);
    return subject->file.model != NULL;
}

static bool open_model(InspectSubject *subject, const char *path, const OptionList *overrides,
                       const char *text, Error *error) {
    if (overrides->count > 0)
        return error_set(error,
                         "--set changes a config, and %s is a model with weights; name a config "
                         "(a file that ends in .json)",
                         path);
    ModelFile file;
    if (!model_file_read(&file, path, NULL, error)) return false;
    subject->file = file;
    subject->trained = true;
    if (!text) return true;
    return model_tokenizer_present(&file.tokenizer) ? tokens_to_ids(subject, text, error)
                                                    : numbers_to_ids(subject, text, error);
}

/* The caller closes the subject, also on error. */
static bool open_subject(InspectSubject *subject, const char *path, const OptionList *overrides,
                         const char *text, Error *error) {
    if (!(is_config(path) ? open_config : open_model)(subject, path, overrides, text, error))
        return false;
    const Model *model = subject->file.model;
    subject->title = string_format("%s in %s%s", position_type_name(model->config.position.type),
                                   path_name(path), subject->trained ? "" : ", untrained");
    if (!text) return true;
    if (subject->count == 0)
        return error_set(error,
                         "--text is empty; give some words, such as \"the cat chases the mouse\"");
    if (subject->count > model->config.context_length)
        return error_set(error,
                         "the text has %lld tokens and the model's context %lld; use a shorter "
                         "text",
                         (long long)subject->count, (long long)model->config.context_length);
    return position_prepare(model->position, subject->count, error);
}

static void close_subject(InspectSubject *subject) {
    for (int64_t i = 0; i < subject->count; i++) free(subject->labels[i]);
    free(subject->labels);
    free(subject->ids);
    free(subject->title);
    model_file_free(&subject->file);
}

int inspect_run(const InspectCommand *command, int argc, char **argv) {
    const char *path = NULL, *text = "the cat chases the mouse";
    InspectSubject subject = {.folder = "pictures"};
    OptionList overrides = {0};
    Option options[6], *next = options;
    *next++ = (Option)ARGUMENT("RUN_OR_CONFIG", &path,
                               "a run, any other model, or a config for an untrained one");
    if (command->text) *next++ = (Option)OPTION_TEXT("--text", "TEXT", &text, "some words");
    if (command->folder)
        *next++ =
            (Option)OPTION_TEXT("--output", "DIR", &subject.folder, "folder for the pictures");
    if (command->length)
        *next++ =
            (Option)OPTION_WHOLE("--length", "N", &subject.length, 0, 4096,
                                 "number of positions shown", .absent = "0, the context length");
    *next++ = (Option)OPTION_LIST("--set", "KEY=VALUE", &overrides, "change a value of the config");
    *next = (Option)OPTIONS_END;
    const Program program = {command->name, command->summary, command->example, options};
    options_read(&program, argc, argv);
    Error error;
    bool done = open_subject(&subject, path, &overrides, command->text ? text : NULL, &error) &&
                command->run(&subject, &error);
    close_subject(&subject);
    option_list_free(&overrides);
    return done ? program_done(command->name) : program_failed(command->name, &error);
}
