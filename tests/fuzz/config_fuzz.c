/* Any bytes as a config, and as a `--set` on top: never a crash, and what is accepted must survive
 * the way to JSON and back unchanged. The input is the config, then (after a line "--set") the
 * override. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "training/train_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition, const char *what, const char *text) {
    if (condition) return;
    fprintf(stderr, "%s:\n%s\n", what, text);
    abort();
}

static void check_round_trip(const TrainConfig *config) {
    char *text = train_config_to_json(config);
    Error error = {""};
    TrainConfig *again = train_config_parse(text, strlen(text), "again", NULL, 0, &error);
    check(again != NULL, error.message, text);
    char *text_again = train_config_to_json(again);
    check(strcmp(text, text_again) == 0, "reads back differently", text);
    free(text);
    free(text_again);
    train_config_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char mark[] = "\n--set ";
    const char *text = (const char *)data;
    const char *split = size ? memmem(text, size, mark, sizeof mark - 1) : NULL;
    size_t length = split ? (size_t)(split - text) : size;
    char *set = NULL;
    if (split) {
        size_t start = length + sizeof mark - 1;
        set = allocate_zeroed(size - start + 1, 1);
        memcpy(set, text + start, size - start);
    }
    const char *sets[] = {set};
    Error error = {""};
    TrainConfig *config = train_config_parse(text, length, "x.json", sets, set != NULL, &error);
    if (config) {
        check_round_trip(config);
        train_config_free(config);
    } else {
        check(error.message[0] && !strpbrk(error.message, "\r\n"), "not one line", error.message);
    }
    free(set);
    return 0;
}
