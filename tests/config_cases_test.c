/* The configuration against cases of faults that people reported. */
#include "cases.h"
#include "config_helpers.h"

#include "base/file.h"
#include "base/json.h"

/* ---- the cases ---- */

/* Where the stand-in keys of the cases live in our configs. */
static const char *const places[][2] = {
    {"lr", "training.learning_rate.max"},
    {"LR", "training.learning_rate.MAX"},
    {"learning_rat", "training.learning_rat"},
    {"steps", "training.max_steps"},
    {"Steps", "training.Max_Steps"},
    {"seed", "seed"},
    {"Seed", "Seed"},
    {"tie_embeddings", "model.tie_embeddings"},
    {"special_tokens", "tokenizer.special_tokens"},
    {"data", "data.train"},
    {"d_model", "model.d_model"},
    {"n_heads", "model.num_heads"},
    {"n_kv_heads", "model.num_kv_heads"},
    {"n_layers", "model.num_layers"},
    {"context", "model.context_length"},
    {"batch", "training.batch_size"},
};

/* The text of a value as it was written (a tree would round its numbers). */
static char *raw_value(const char *raw, const char *key) {
    char *quoted = string_format("\"%s\":", key);
    const char *start = strstr(raw, quoted) + strlen(quoted), *end = start;
    free(quoted);
    bool in_string = false;
    for (int depth = 0; in_string || depth > 0 || (*end != ',' && *end != '}'); end++) {
        if (*end == '"') in_string = !in_string;
        if (!in_string) depth += (*end == '[') - (*end == ']');
    }
    return string_format("%.*s", (int)(end - start), start);
}

/* Puts the keys of a case into the small config. NULL and a message when refused. */
static TrainConfig *read_case(const char *raw, Error *error) {
    cJSON *tree = json_parse(raw, strlen(raw), "case", error);
    if (!tree) return NULL;
    char *sets[8];
    int count = 0;
    for (const cJSON *child = tree->child; child; child = child->next) {
        size_t place = 0;
        while (child->string && place < sizeof places / sizeof *places &&
               strcmp(places[place][0], child->string) != 0)
            place++;
        if (!child->string) continue;
        if (place == sizeof places / sizeof *places) fail_msg("no place for \"%s\"", child->string);
        char *value = raw_value(raw, child->string);
        sets[count++] = string_format("%s=%s", places[place][1], value);
        free(value);
    }
    TrainConfig *config = NULL;
    if (cJSON_IsObject(tree))
        config = parse_set(SMALL, (const char *const *)sets, count, error);
    else
        parse_set(raw, NULL, 0, error);
    while (count > 0) free(sets[--count]);
    cJSON_Delete(tree);
    return config;
}

CASES_TEST(test_edits) {
    /* dir_path is accepted here: data files are opened later, with the choice among them. */
    static const char *const accepted[] = {"trail_space", "steps_3e9", "exp_int",         "lr_0",
                                           "tiny",        "pair",      "special_is_byte", "ctx1",
                                           "dir_path"};
    const char *path = need_case("cases/cfg/edits.json");
    Error error;
    cJSON *tree = json_read(path, 1 << 20, &error);
    assert_non_null(tree);
    int count = 0;
    for (const cJSON *item = json_get(tree, "cases")->child; item; item = item->next, count++) {
        const char *id = json_get(item, "id")->valuestring;
        bool expected = false;
        for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++)
            expected = expected || strcmp(id, accepted[i]) == 0;
        TrainConfig *c = read_case(json_get(item, "raw")->valuestring, &error);
        if ((c != NULL) != expected) fail_msg("%s: %s", id, c ? "accepted" : error.message);
        if (c && strcmp(id, "steps_3e9") == 0) assert_int_equal(c->max_steps, 3000000000);
        if (c && strcmp(id, "exp_int") == 0) assert_int_equal(c->max_steps, 1000);
        if (c && strcmp(id, "lr_0") == 0) assert_true(c->learning_rate.max == 0);
        if (c && strcmp(id, "pair") == 0)
            assert_string_equal(c->tokenizer.special_tokens.items[0], "\xF0\x9F\x98\x80");
        train_config_free(c);
    }
    assert_true(count >= 30);
    cJSON_Delete(tree);
}

CASES_TEST(test_files) {
    const char *path = need_case("cases/cfg/files.expect.json");
    char *folder = path_join(cases_folder, "cases/cfg");
    Error error;
    cJSON *tree = json_read(path, 1 << 20, &error);
    assert_non_null(tree);
    for (const cJSON *item = tree->child; item; item = item->next) {
        char *file = path_join(folder, item->string);
        cJSON *value = json_read(file, 1 << 20, &error);
        bool expected = strcmp(item->valuestring, "accepted") == 0;
        if ((value != NULL) != expected)
            fail_msg("%s: %s", item->string, value ? "accepted" : error.message);
        if (!value) assert_memory_equal(error.message, file, strlen(file));
        cJSON_Delete(value);
        free(file);
    }
    cJSON_Delete(tree);
    free(folder);
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
