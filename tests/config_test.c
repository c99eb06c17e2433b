/* The configuration: defaults, overrides, names and files, and the way back to JSON. */
#include "config_helpers.h"

#include "base/file.h"

TEST(test_defaults) {
    TrainConfig *c = accept(SMALL);
    assert_string_equal(c->name, "x");
    assert_int_equal(c->seed, 1337);
    assert_int_equal(c->data.train.count, 1);
    assert_int_equal(c->data.valid.count, 0);
    assert_int_equal(c->data.task, TASK_NONE);
    assert_true(c->tokenizer.present);
    assert_int_equal(c->tokenizer.special_tokens.count, 0);
    assert_int_equal(c->model.vocab_size, 0);
    assert_int_equal(c->model.num_kv_heads, 4);
    assert_int_equal(c->model.d_ff, 128); /* 8/3 · 32 = 85.3 */
    assert_int_equal(c->model.norm, NORM_PRE);
    assert_true(c->model.norm_eps == 1e-5);
    assert_int_equal(c->model.ffn, FFN_SWIGLU);
    assert_false(c->model.tie_embeddings);
    assert_false(c->model.document_mask);
    assert_int_equal(c->model.position.type, POSITION_ROPE);
    assert_true(c->model.position.base == 10000 && c->model.position.fraction == 1);
    assert_int_equal(c->model.position.layout, LAYOUT_INTERLEAVED);
    assert_int_equal(c->model.position.scaling.type, ROPE_SCALING_NONE);
    assert_int_equal(c->gradient_accumulation, 1);
    assert_true(c->grad_clip == 1);
    assert_int_equal(c->optimizer.type, OPTIMIZER_ADAMW);
    assert_true(c->optimizer.beta1 == 0.9 && c->optimizer.beta2 == 0.95);
    assert_true(c->optimizer.eps == 1e-8 && c->optimizer.weight_decay == 0.1);
    assert_int_equal(c->learning_rate.type, SCHEDULE_COSINE);
    assert_true(c->learning_rate.max == 1e-3 && c->learning_rate.min == 1e-4);
    assert_int_equal(c->learning_rate.warmup_steps, 0);
    assert_int_equal(c->learning_rate.cosine_steps, 100);
    assert_int_equal(c->log_every, 10);
    assert_int_equal(c->eval_every, 100);
    assert_int_equal(c->eval_batches, 20);
    assert_int_equal(c->checkpoint_every, 200);
    assert_int_equal(c->sample_every, 500);
    assert_int_equal(c->keep_every, 0);
    assert_false(c->recompute);
    expect_round_trip(c);
    train_config_free(c);
}

TEST(test_inner_size) {
    assert_int_equal(ffn_default_size(FFN_SWIGLU, 24), 64);
    assert_int_equal(ffn_default_size(FFN_SWIGLU, 25), 128);
    assert_int_equal(ffn_default_size(FFN_SWIGLU, 512), 1408);
    assert_int_equal(ffn_default_size(FFN_SWIGLU, 768), 2048);
    assert_int_equal(ffn_default_size(FFN_GELU, 512), 2048);
    assert_int_equal(ffn_default_size(FFN_RELU, 17), 128);
    assert_int_equal(ffn_default_size(FFN_SILU, 16), 64);
}

TEST(test_everything_given) {
    TrainConfig *c = accept(
        "{\"name\": \"all\", \"seed\": 9007199254740991,"
        "\"data\": {\"train\": [\"a\", \"b\"], \"valid\": [\"c\", null]},"
        "\"tokenizer\": {\"vocab_size\": 300, \"special_tokens\": [\"<|é|>\", \"\\ud83d\\ude00\", \"a\"]},"
        "\"model\": {" MODEL ", \"vocab_size\": 320, \"num_kv_heads\": 2, \"d_ff\": 100,"
        "  \"norm\": \"post\", \"norm_eps\": 1e-6, \"ffn\": \"gelu\", \"tie_embeddings\": true,"
        "  \"document_mask\": true, \"position\": {\"type\": \"none\"}},"
        "\"training\": {" TRAINING ", \"gradient_accumulation\": 3, \"grad_clip\": 0,"
        "  \"optimizer\": {\"type\": \"sgd\", \"momentum\": 0.5},"
        "  \"learning_rate\": {\"schedule\": \"cosine\", \"max\": 0.1, \"min\": 0.1,"
        "                      \"warmup_steps\": 50, \"cosine_steps\": 50},"
        "  \"log_every\": 1, \"eval_every\": 0, \"eval_batches\": 2, \"checkpoint_every\": 0,"
        "  \"sample_every\": 0, \"keep_every\": 7, \"recompute\": true}}");
    assert_string_equal(c->name, "all");
    assert_int_equal(c->seed, 9007199254740991);
    assert_int_equal(c->data.train.count, 2);
    assert_string_equal(c->data.train.items[1], "b");
    assert_int_equal(c->data.valid.count, 2);
    assert_string_equal(c->data.valid.items[0], "c");
    assert_null(c->data.valid.items[1]);
    assert_int_equal(c->tokenizer.special_tokens.count, 3);
    assert_string_equal(c->tokenizer.special_tokens.items[1], "\xF0\x9F\x98\x80");
    assert_int_equal(c->model.vocab_size, 320);
    assert_int_equal(c->model.num_kv_heads, 2);
    assert_int_equal(c->model.norm, NORM_POST);
    assert_int_equal(c->model.ffn, FFN_GELU);
    assert_true(c->model.tie_embeddings && c->model.document_mask);
    assert_int_equal(c->model.position.type, POSITION_NONE);
    assert_int_equal(c->optimizer.type, OPTIMIZER_SGD);
    assert_true(c->optimizer.momentum == 0.5 && c->grad_clip == 0);
    assert_int_equal(c->learning_rate.cosine_steps, 50);
    assert_true(c->recompute);
    assert_int_equal(c->keep_every, 7);
    expect_round_trip(c);
    train_config_free(c);
}

/* Odd, but right. */
TEST(test_edges) {
    static const char *const sets[] = {
        "training.learning_rate.max=0",
        "training.learning_rate.max=1e-300",
        "training.max_steps=0",
        "training.max_steps=1e3",
        "training.max_steps=3000000000",
        "training.max_steps=1e12",
        "training.optimizer={}",
        "training.learning_rate={\"schedule\":\"constant\",\"warmup_steps\":1000}",
        "model={\"context_length\":1,\"d_model\":2,\"num_layers\":1,\"num_heads\":1,\"d_ff\":1}",
        "tokenizer={\"vocab_size\":256}",
        "tokenizer={\"vocab_size\":257,\"special_tokens\":[\"a\"]}",
        "model.vocab_size=1000",
        "name=ünï cödé \"quoted\"",
        "data.train=/a path/with 'quotes' and \"more\"",
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        TrainConfig *c = accept_set(SMALL, &sets[i], 1);
        expect_round_trip(c);
        train_config_free(c);
    }
}

TEST(test_resolved_text) {
    TrainConfig *c = accept(SMALL);
    c->model.vocab_size = 300; /* as the trainer does when the tokenizer is there */
    char *text = train_config_to_json(c);
    assert_string_equal(text, "{\n"
                              "  \"name\": \"x\",\n"
                              "  \"seed\": 1337,\n"
                              "  \"data\": {\n"
                              "    \"train\": \"t.txt\"\n"
                              "  },\n"
                              "  \"tokenizer\": {\n"
                              "    \"vocab_size\": 300,\n"
                              "    \"special_tokens\": []\n"
                              "  },\n"
                              "  \"model\": {\n"
                              "    \"vocab_size\": 300,\n"
                              "    \"context_length\": 16,\n"
                              "    \"d_model\": 32,\n"
                              "    \"num_layers\": 2,\n"
                              "    \"num_heads\": 4,\n"
                              "    \"num_kv_heads\": 4,\n"
                              "    \"ffn\": \"swiglu\",\n"
                              "    \"d_ff\": 128,\n"
                              "    \"norm\": \"pre\",\n"
                              "    \"norm_eps\": 1e-05,\n"
                              "    \"tie_embeddings\": false,\n"
                              "    \"document_mask\": false,\n"
                              "    \"position\": {\n"
                              "      \"type\": \"rope\",\n"
                              "      \"theta\": 10000,\n"
                              "      \"layout\": \"interleaved\",\n"
                              "      \"fraction\": 1,\n"
                              "      \"rotate_values\": false,\n"
                              "      \"scaling\": {\"type\": \"none\"}\n"
                              "    }\n"
                              "  },\n"
                              "  \"training\": {\n"
                              "    \"batch_size\": 2,\n"
                              "    \"gradient_accumulation\": 1,\n"
                              "    \"max_steps\": 100,\n"
                              "    \"grad_clip\": 1,\n"
                              "    \"optimizer\": {\n"
                              "      \"type\": \"adamw\",\n"
                              "      \"beta1\": 0.9,\n"
                              "      \"beta2\": 0.95,\n"
                              "      \"eps\": 1e-08,\n"
                              "      \"weight_decay\": 0.1\n"
                              "    },\n"
                              "    \"learning_rate\": {\n"
                              "      \"schedule\": \"cosine\",\n"
                              "      \"max\": 0.001,\n"
                              "      \"min\": 0.0001,\n"
                              "      \"warmup_steps\": 0,\n"
                              "      \"cosine_steps\": 100\n"
                              "    },\n"
                              "    \"log_every\": 10,\n"
                              "    \"eval_every\": 100,\n"
                              "    \"eval_batches\": 20,\n"
                              "    \"checkpoint_every\": 200,\n"
                              "    \"sample_every\": 500,\n"
                              "    \"keep_every\": 0,\n"
                              "    \"recompute\": false\n"
                              "  }\n"
                              "}\n");
    free(text);
    expect_round_trip(c);
    train_config_free(c);
}

TEST(test_warmup_of_a_short_run) {
    const char *text = CONFIG(", \"tokenizer\": {\"vocab_size\": 300}", "",
                              ", \"learning_rate\": {\"warmup_steps\": 40}");
    TrainConfig *c = accept(text);
    assert_int_equal(c->learning_rate.cosine_steps, 100);
    train_config_free(c);
    static const char *const sets[] = {"training.max_steps=3", "training.max_steps=0"};
    for (int i = 0; i < 2; i++) {
        c = accept_set(text, &sets[i], 1);
        assert_int_equal(c->learning_rate.cosine_steps, 40);
        expect_round_trip(c);
        train_config_free(c);
    }
}

/* ---- overrides ---- */

TEST(test_overrides) {
    static const char *const sets[] = {
        "training.max_steps=50",
        "training.max_steps=60", /* the last one counts */
        "training.optimizer.type=sgd",
        "training.optimizer.momentum=0.9",
        "name=other name",
        "model.position.type=rope",
        "model.position.scaling.type=yarn",
        "model.position.scaling.factor=4",
        "data={\"train\": \"12\"}",
    };
    TrainConfig *c = accept_set(SMALL, sets, sizeof sets / sizeof *sets);
    assert_int_equal(c->max_steps, 60);
    assert_int_equal(c->learning_rate.cosine_steps, 60);
    assert_int_equal(c->optimizer.type, OPTIMIZER_SGD);
    assert_true(c->optimizer.momentum == 0.9);
    assert_string_equal(c->name, "other name");
    assert_int_equal(c->model.position.scaling.type, ROPE_SCALING_YARN);
    assert_string_equal(c->data.train.items[0], "12");
    expect_round_trip(c);
    train_config_free(c);
    /* A new type starts from its own defaults. */
    const char *half = CONFIG(", \"tokenizer\": {\"vocab_size\": 300}",
                              ", \"position\": {\"layout\": \"half\", \"theta\": 500}", "");
    static const char *const types[] = {"model.position.type=sinusoidal",
                                        "model.position.type=alibi", "model.position.type=rope"};
    for (int i = 0; i < 3; i++) {
        c = accept_set(half, &types[i], 1);
        assert_int_equal(c->model.position.layout, LAYOUT_INTERLEAVED);
        train_config_free(c);
    }
    refuse_set(SMALL, "training.max_stps=5",
               " with --set training.max_stps=5: unknown key "
               "\"training.max_stps\"; did you mean \"max_steps\"?");
    refuse_set(SMALL, "trainig.max_steps=5",
               " with --set trainig.max_steps=5: unknown key \"trainig\"; "
               "did you mean \"training\"?");
    refuse_set(SMALL, "model={}",
               " with --set model={}: model.context_length is missing; it has no "
               "default");
    refuse_set(SMALL, "training.batch_size.x=1",
               ": --set training.batch_size.x=1: what stands before \"x\" is not an object");
    refuse_set(SMALL, "name=12",
               " with --set name=12: name is 12; it must be text in double quotes, not "
               "empty");
}

TEST(test_names_from_files) {
    static const struct {
        const char *file, *name;
    } cases[] = {{"configs/tiny.json", "tiny"},
                 {"x", "x"},
                 {"a b.json", "a b"},
                 {".json", ".json"},
                 {"dir/", "run"},
                 {"..", "run"},
                 {"a.json.json", "a.json"},
                 {"-", "run"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error error;
        TrainConfig *c = train_config_parse(SMALL, strlen(SMALL), cases[i].file, NULL, 0, &error);
        assert_non_null(c);
        assert_string_equal(c->name, cases[i].name);
        train_config_free(c);
    }
}

/* ---- files ---- */

TEST(test_shipped_configs) {
    static const char *const files[] = {"configs/tiny.json", "configs/cs336.json"};
    static const char *const names[] = {"tiny", "cs336"};
    for (int i = 0; i < 2; i++) {
        Error error;
        TrainConfig *c = train_config_read(files[i], NULL, 0, &error);
        if (!c) fail_msg("%s", error.message);
        assert_string_equal(c->name, names[i]);
        assert_int_equal(c->data.train.count, 2);
        expect_round_trip(c);
        train_config_free(c);
    }
}

TEST(test_missing_files) {
    Error error;
    assert_null(train_config_read("no/such.json", NULL, 0, &error));
    assert_string_equal(error.message, "no/such.json: no such file; check the path");
    assert_null(train_config_read("tests", NULL, 0, &error));
    assert_string_equal(error.message, "tests: is a directory; a file is needed here");
}

/* Whether a word stands in a text, not as a part of a longer one. */
static bool has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if (strchr(" `\"", at[-1]) && strchr(" `\",", at[length])) return true;
    return false;
}

/* Whether README's table has this key, in a row of its own or of several, or inside an object, with this
 * default. Those of position schemes other than rope are listed by --help-config alone. */
static bool is_documented(const char *table, const char *path, const char *fallback) {
    const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
    int parent = dot ? (int)(dot - path) : 0;
    char *member = string_format("\"%s\": ", name);
    char *alone = string_format("`%s`", path), *next = string_format(" `%s`", name);
    char *first = string_format("| `%.*s.", parent, path), *object;
    object = string_format("| `%.*s` ", parent, path);
    bool found = false;
    for (const char *row = table; row && !found; row = strchr(row, '\n'), row += row != NULL) {
        char *line = string_format("%.*s", (int)strcspn(row, "\n"), row);
        bool inside = strncmp(line, object, strlen(object)) == 0;
        bool listed = (*line == '|' && strncmp(line + 2, alone, strlen(alone)) == 0) ||
                      (strncmp(line, first, strlen(first)) == 0 && strstr(line, next));
        const char *place = inside ? strstr(line, member) : NULL;
        if (inside && !place) found = strstr(line, next); /* a variant's: "or `sgd` with …" */
        if (place) place += strlen(member), place += *place == '"';
        if (place) found = strncmp(place, fallback, strlen(fallback)) == 0;
        if (listed) /* cut off the third cell */
            memcpy(strstr(strstr(line, " | ") + 3, " |"), " ", 2);
        if (listed) found = has_word(strstr(line, " | "), fallback);
        free(line);
    }
    free(member), free(alone), free(next), free(first), free(object);
    return found;
}

TEST(test_readme_names_every_key) {
    size_t size;
    Error error;
    char *readme = file_read("README.md", 1 << 20, &size, &error), *keys, *save = NULL;
    assert_non_null(readme);
    char *table = strstr(readme, "\n## Config\n");
    *strstr(table, "\n## Run directory\n") = '\0';
    FILE *stream = open_memstream(&keys, &size);
    train_config_print_keys(stream);
    fclose(stream);
    int count = 0;
    for (char *line = strtok_r(keys, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char path[64], fallback[64];
        if (sscanf(line, "%63s %63[^;]", path, fallback) != 2 || !strcmp(path, "when")) continue;
        *strstr(fallback, "  ") = '\0';
        bool left_out = !strcmp(fallback, "required") || fallback[0] == '(';
        bool scheme = strncmp(path, "model.position.", 15) == 0;
        if (!is_documented(table, path, left_out || !strcmp(fallback, "[]") ? "" : fallback) &&
            !scheme)
            fail_msg("README's table has no %s with the default %s", path, fallback);
        count++;
    }
    assert_true(count > 50);
    free(keys), free(readme);
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
