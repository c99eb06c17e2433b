/* Configs that are refused, each with its exact line. */
#include "config_helpers.h"

TEST(test_keys) {
    refuse("[1, 2]", ": the whole must be an object: { \"key\": value, … }");
    refuse("{}", ": data is missing; it has no default");
    refuse("{" DATA "}", ": model is missing; it has no default");
    refuse("{" DATA ", \"model\": {" MODEL "}}", ": training is missing; it has no default");
    refuse(CONFIG("", "", ""),
           ": model.vocab_size is missing; without a tokenizer it must be given");
    refuse(CONFIG(", \"Seed\": 2, \"seed\": 1", "", ""),
           ": unknown key \"Seed\"; did you mean \"seed\"?");
    refuse(CONFIG(", \"traning\": {}", "", ""),
           ": unknown key \"traning\"; did you mean \"training\"?");
    refuse(CONFIG(", \"max_steps\": 5", "", ""),
           ": unknown key \"max_steps\"; did you mean \"training.max_steps\"?");
    refuse(CONFIG(", \"learning_rat\": 0.1", "", ""),
           ": unknown key \"learning_rat\"; did you mean \"training.learning_rate\"?");
    refuse(CONFIG(", \"frobnicate\": 5", "", ""),
           ": unknown key \"frobnicate\"; known here: \"name\", \"seed\", \"data\", \"tokenizer\", "
           "\"model\", \"training\"");
    refuse(CONFIG("", ", \"d_modle\": 5", ""),
           ": unknown key \"model.d_modle\"; did you mean \"d_model\"?");
    refuse(CONFIG("", "", ", \"learning_rat\": 0.1"),
           ": unknown key \"training.learning_rat\"; did you mean \"learning_rate\"?");
    refuse(CONFIG("", "", ", \"learning_rate\": 0.1"),
           ": training.learning_rate is 0.1; it must be an object: { \"key\": value, … }");
    refuse(
        CONFIG("", "", ", \"learning_rate\": {\"maximum\": 1}"),
        ": unknown key \"training.learning_rate.maximum\" for \"cosine\"; known here: \"schedule\", "
        "\"max\", \"min\", \"warmup_steps\", \"cosine_steps\"");
    refuse(
        CONFIG("", "", ", \"learning_rate\": {\"schedule\": \"constant\", \"min\": 0}"),
        ": unknown key \"training.learning_rate.min\" for \"constant\"; known here: \"schedule\", "
        "\"max\", \"warmup_steps\"");
    refuse(
        CONFIG("", "", ", \"optimizer\": {\"type\": \"sgd\", \"beta1\": 0}"),
        ": unknown key \"training.optimizer.beta1\" for \"sgd\"; known here: \"type\", \"momentum\"");
    refuse("{" DATA ", \"model\": {\"d_model\": 8}, \"training\": {}}",
           ": model.context_length is missing; it has no default");
    refuse("{" DATA ", \"model\": {" MODEL "}, \"training\": {\"batch_size\": 1}}",
           ": training.max_steps is missing; it has no default");
    refuse("{\"seed\": 1,\n \"seed\": 2}",
           ": line 2, column 2: the key \"seed\" is here for the second time");
}

TEST(test_values) {
    const char *steps = " is %s; it must be a whole number from 0 to 1000000000000";
    static const char *const bad[] = {"-1",   "10.5", "\"1000\"", "true",
                                      "null", "[1]",  "{}",       "1e+16"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *set = string_format("training.max_steps=%s", bad[i]);
        char *rest = string_format(steps, bad[i]);
        char *message = string_format(" with --set %s: training.max_steps%s", set, rest);
        refuse_set(SMALL, set, message);
        free(set), free(rest), free(message);
    }
    refuse(CONFIG(", \"seed\": 9007199254740993", "", ""),
           ": seed is 9007199254740992; it must be a whole number from 0 to 9007199254740991");
    refuse(
        CONFIG(", \"seed\": 18446744073709551616", "", ""),
        ": seed is 1.8446744073709552e+19; it must be a whole number from 0 to 9007199254740991");
    refuse(CONFIG(", \"seed\": -1", "", ""),
           ": seed is -1; it must be a whole number from 0 to 9007199254740991");
    refuse(CONFIG(", \"name\": \"\"", "", ""),
           ": name is \"\"; it must be text in double quotes, not "
           "empty");
    static const char *const names[] = {"..", ".", "a/b", "/"};
    for (size_t i = 0; i < 4; i++) {
        char *set = string_format("name=%s", names[i]);
        char *message =
            string_format(" with --set %s: name is \"%s\"; it must be usable as the name "
                          "of a folder: no '/', no control characters, not \".\" or \"..\", "
                          "at most 200 bytes",
                          set, names[i]);
        refuse_set(SMALL, set, message);
        free(set), free(message);
    }
    refuse(CONFIG("", ", \"tie_embeddings\": 1", ""),
           ": model.tie_embeddings is 1; it must be true or false");
    refuse(CONFIG("", ", \"num_layers\": 0", ""),
           ": line 1, column 110: the key \"num_layers\" is here for the second time");
    refuse_set(SMALL, "model.num_layers=0",
               " with --set model.num_layers=0: model.num_layers is 0; "
               "it must be a whole number from 1 to 10000");
    refuse(CONFIG("", ", \"norm_eps\": 0", ""),
           ": model.norm_eps is 0; it must be a number in [1e-30, 1]");
    refuse(CONFIG("", ", \"norm\": \"rms\"", ""),
           ": model.norm is \"rms\"; it must be \"pre\", \"post\" or \"none\"");
    refuse(
        CONFIG("", ", \"ffn\": \"SwiGLU\"", ""),
        ": model.ffn is \"SwiGLU\"; it must be \"swiglu\", \"silu\", \"relu\" or \"gelu\"; did you "
        "mean \"swiglu\"?");
    refuse(CONFIG("", "", ", \"optimizer\": {\"beta2\": 1}"),
           ": training.optimizer.beta2 is 1; it must be a number in [0, 1)");
    refuse(CONFIG("", "", ", \"optimizer\": {\"eps\": 0}"),
           ": training.optimizer.eps is 0; it must be a number in [1e-30, 1]");
    refuse(CONFIG("", "", ", \"grad_clip\": -1"),
           ": training.grad_clip is -1; it must be a number in [0, 1e30]");
    refuse(CONFIG("", "", ", \"log_every\": 0"),
           ": training.log_every is 0; it must be a whole number from 1 to 1000000000000");
    refuse(CONFIG("", "", ", \"learning_rate\": {\"max\": null}"),
           ": training.learning_rate.max is null; it must be a number in [0, 1e6]");
    refuse(CONFIG("", "", ", \"learning_rate\": {\"max\": NaN}"),
           ": line 1, column 184: expected a key or text in double quotes, a number, true, "
           "false, null, {…} or […]");
    char *long_name = allocate(3000, 1); /* the message stays readable, and whole characters */
    memset(long_name, 0xC3, 3000);
    for (int i = 1; i < 2998; i += 2) long_name[i] = (char)0xA9;
    memcpy(long_name, "seed=", 5);
    long_name[5] = 'x', long_name[2998] = 'x', long_name[2999] = '\0';
    for (int i = 6; i < 2998; i++) long_name[i] = (char)(i % 2 ? 0xA9 : 0xC3);
    Error error;
    const char *set = long_name;
    assert_null(parse_set(SMALL, &set, 1, &error));
    assert_true(strlen(error.message) < 700);
    assert_non_null(strstr(error.message, "é…; it must be a whole number"));
    free(long_name);
}

TEST(test_contradictions) {
    refuse_set(
        SMALL, "model.num_heads=5",
        " with --set model.num_heads=5: model.num_heads is 5; it must divide model.d_model (32)");
    refuse(CONFIG("", ", \"num_kv_heads\": 3", ""),
           ": model.num_kv_heads is 3; it must divide model.num_heads (4)");
    refuse(CONFIG("", ", \"num_kv_heads\": 8", ""),
           ": model.num_kv_heads is 8; it must divide model.num_heads (4)");
    refuse_set(SMALL, "model.d_model=12",
               ": model.d_model is 12 and model.num_heads 4, which makes "
               "heads of 3 elements; rope turns them in pairs and needs an even number");
    refuse(
        CONFIG("", ", \"position\": {\"fraction\": 0.4}", ""),
        ": model.position.fraction: 0.4 of a head of 8 elements rotates 3; it must be an even number "
        "from 2 to the head size");
    refuse(CONFIG("", "", ", \"learning_rate\": {\"max\": 1e-4, \"min\": 1e-3}"),
           ": training.learning_rate.min is 0.001; it must not be above max (0.0001)");
    refuse(CONFIG("", "", ", \"learning_rate\": {\"warmup_steps\": 11, \"cosine_steps\": 10}"),
           ": training.learning_rate.warmup_steps is 11; it must not be above cosine_steps (10)");
    refuse(
        "{\"data\": {\"train\": [\"a\", \"b\"], \"valid\": \"c\"}, \"model\": {" MODEL
        "}, \"training\": {" TRAINING "}}",
        ": data.valid has 1 entries and data.train has 2; they are pairs (null stands for no file)");
    refuse(CONFIG(", \"tokenizer\": {\"vocab_size\": 257, \"special_tokens\": [\"<a>\", \"<b>\"]}",
                  "", ""),
           ": tokenizer.vocab_size is 257; it must be at least the number of bytes and special "
           "tokens (258)");
    refuse(
        CONFIG(
            ", \"tokenizer\": {\"vocab_size\": 300, \"special_tokens\": [\"<a>\", \"b\", \"<a>\"]}",
            "", ""),
        ": tokenizer.special_tokens has \"<a>\" twice; each token once");
    refuse(
        CONFIG(", \"tokenizer\": {\"vocab_size\": 300, \"special_tokens\": [\"\"]}", "", ""),
        ": tokenizer.special_tokens is [\"\"]; it must be a list of texts in double quotes, none of "
        "them empty");
    refuse(CONFIG(", \"tokenizer\": {\"vocab_size\": 300, \"load\": \"d\"}", "", ""),
           ": tokenizer.vocab_size does not go with tokenizer.load; leave one of them out");
    refuse(
        CONFIG("", ", \"vocab_size\": 50, \"document_mask\": true", ""),
        ": model.document_mask is true; it needs tokenizer.special_tokens, the first of which stands between the documents");
    refuse_set("{" DATA ", \"model\": {" MODEL
               ", \"vocab_size\": 50}, \"training\": {\"batch_size\": "
               "16777216, \"gradient_accumulation\": 16777216, \"max_steps\": 1}}",
               "training.max_steps=1e9",
               " with --set training.max_steps=1e9: training.batch_size, gradient_accumulation, "
               "max_steps and model.context_length multiply to more than 2^63 tokens; make one of "
               "them smaller");
}

/* ---- tasks ---- */

#define TASK(data, model)                                                                          \
    "{\"data\": {" data "}, \"model\": {" MODEL model "}, \"training\": {" TRAINING "}}"

TEST(test_tasks) {
    TrainConfig *c = accept(TASK("\"task\": \"reverse\", \"length\": 8, \"symbols\": 10", ""));
    assert_int_equal(c->data.task, TASK_REVERSE);
    assert_int_equal(c->data.task_length, 8);
    assert_int_equal(c->model.vocab_size, 12);
    assert_int_equal(task_separator(&c->data), 10);
    assert_int_equal(task_padding(&c->data), 11);
    assert_int_equal(c->data.train.count, 0);
    expect_round_trip(c);
    train_config_free(c);
    c = accept(TASK("\"task\": \"copy\", \"length\": 8", ", \"vocab_size\": 64"));
    assert_int_equal(c->data.task_symbols, 32);
    assert_int_equal(c->model.vocab_size, 64);
    train_config_free(c);
    refuse(TASK("\"task\": \"copy\", \"length\": 8", ", \"vocab_size\": 33"),
           ": model.vocab_size is 33; it must be at least data.symbols + 2, for separator and "
           "padding (34)");
    refuse(TASK("\"task\": \"sort\", \"length\": 9", ""),
           ": data.length is 9; it must not be above model.context_length / 2 (8)");
    refuse(
        TASK("\"task\": \"srot\"", ""),
        ": data.task is \"srot\"; it must be \"none\", \"copy\", \"reverse\" or \"sort\"; did you mean "
        "\"sort\"?");
    refuse(
        TASK("\"task\": \"sort\", \"train\": \"t\"", ""),
        ": unknown key \"data.train\" for \"sort\"; known here: \"task\", \"length\", \"symbols\"");
    refuse(TASK("\"train\": \"t\", \"length\": 3", ""),
           ": unknown key \"data.length\"; known here: \"task\", \"train\", \"valid\"");
    refuse(
        TASK("\"task\": \"sort\", \"length\": 4", ", \"document_mask\": true"),
        ": model.document_mask is true; it needs tokenizer.special_tokens, the first of which stands between the documents");
    refuse_set(
        TASK("\"task\": \"sort\", \"length\": 4", ""), "tokenizer.vocab_size=300",
        " with --set tokenizer.vocab_size=300: tokenizer does not go with data.task; leave one of "
        "them out");
}

TEST(test_data) {
    const char *allowed = "it must be text in double quotes, or a list of such texts, not empty";
    static const char *const bad[] = {"\"\"", "[]",   "[\"\"]",        "[1]",
                                      "{}",   "true", "[\"a\", null]", "null"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *set = string_format("data.train=%s", bad[i]);
        char *message = string_format(" with --set %s: data.train is %s; %s", set, bad[i], allowed);
        refuse_set(SMALL, set, message);
        free(set), free(message);
    }
    refuse_set(
        SMALL, "data.valid=null",
        " with --set data.valid=null: data.valid is null; it must be text in double quotes, or a "
        "list of such texts and null, not empty");
    refuse(TASK("\"valid\": \"v\"", ""), ": data.train is missing; it has no default");
    TrainConfig *c =
        accept(TASK("\"train\": [\"only.npy\"], \"valid\": [null]", ", \"vocab_size\": 50"));
    assert_string_equal(c->data.train.items[0], "only.npy");
    assert_null(c->data.valid.items[0]);
    assert_false(c->tokenizer.present);
    expect_round_trip(c);
    train_config_free(c);
    c = accept(
        CONFIG(", \"tokenizer\": {\"load\": \"runs/a/tokenizer\", \"special_tokens\": [\"<e>\"]}",
               ", \"document_mask\": true", ""));
    assert_string_equal(c->tokenizer.special_tokens.items[0], "<e>");
    assert_string_equal(c->tokenizer.load, "runs/a/tokenizer");
    assert_int_equal(c->tokenizer.vocab_size, 0);
    expect_round_trip(c);
    train_config_free(c);
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
