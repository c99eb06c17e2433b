/* Settings as a table of keys, and --set. */
#include "helpers.h"

#include <string.h>

#include "base/key_rows.h"

#define TEXT(literal) literal, sizeof(literal) - 1

typedef struct Config {
    int64_t whole, derived;
    double real;
    bool flag;
    enum { ONE, TWO } choice;
    char *text;
    TextList list;
    int64_t inner;
} Config;

#define KEYS_OF Config

static bool derive(void *config) {
    Config *c = config;
    c->derived = 2 * c->whole;
    return c->derived > 0;
}

static const char *const choices[] = {"one", "two", NULL};
static const Key only_two[] = {WHOLE("p", inner, "5", "[1, 9]", "of two"), END};
static const Key *const variants[] = {NULL, only_two};
static const Key part[] = {
    WHOLE("n", whole, "1", "[1, 3]", "a number"),
    WHOLE("d", derived, "2 n", "[1, 100]", "derived", .derive = derive),
    REAL("r", real, "0.5", "(0, 1)", "a real number"),
    FLAG("b", flag, "true", "a flag"),
    CHOICE("c", choice, "one", choices, "a choice", .variants = variants),
    TEXTS("s", KEY_TEXT, text, "(none)", "a text"),
    TEXTS("l", KEY_TEXTS, list, "[]", "texts"),
    WHOLE("must", inner, NULL, "[1, 3]", "required"),
    END,
};
static const Key root[] = {OBJECT("a", NULL, part), END};

static bool read_part(const char *text, Config *config, Error *error) {
    char *whole = string_format("{\"a\": %s}", text);
    cJSON *tree = json_parse(whole, strlen(whole), "x.json", NULL);
    KeysReader reader = {.file = "x.json", .error = error, .all = root};
    *config = (Config){0};
    bool read = keys_read(&reader, root, "", tree, config);
    assert_true(read == !reader.failed);
    cJSON_Delete(tree);
    free(whole);
    return read;
}

TEST(test_values) {
    Config c;
    Error error = {""};
    assert_true(read_part("{\"must\": 3}", &c, &error));
    assert_int_equal(c.whole, 1);
    assert_int_equal(c.derived, 2);
    assert_true(c.real == 0.5 && c.flag && c.choice == ONE && !c.text);
    assert_int_equal(c.list.count, 0);
    keys_free(root, &c);
    assert_true(read_part("{\"n\": 3, \"d\": 7, \"r\": 0.25, \"b\": false, \"c\": \"two\", "
                          "\"s\": \"text\", \"l\": [\"x\", \"y\"], \"must\": 1, \"p\": 9}",
                          &c, &error));
    char *text = json_finish(keys_write(root, &c), 0);
    assert_string_equal(text, "{\"a\": {\"n\": 3, \"d\": 7, \"r\": 0.25, \"b\": false, "
                              "\"c\": \"two\", \"s\": \"text\", \"l\": [\"x\", \"y\"], "
                              "\"must\": 9, \"p\": 9}}");
    free(text);
    keys_free(root, &c);
}

TEST(test_messages) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"n\": 4}", "x.json: a.n is 4; it must be a whole number from 1 to 3"},
        {"{\"n\": \"3\"}", "x.json: a.n is \"3\"; it must be a whole number from 1 to 3"},
        {"{\"n\": null}", "x.json: a.n is null; it must be a whole number from 1 to 3"},
        {"{\"n\": 1.5}", "x.json: a.n is 1.5; it must be a whole number from 1 to 3"},
        {"{\"r\": 1}", "x.json: a.r is 1; it must be a number in (0, 1)"},
        {"{\"b\": 1}", "x.json: a.b is 1; it must be true or false"},
        {"{\"c\": \"tow\"}",
         "x.json: a.c is \"tow\"; it must be \"one\" or \"two\"; did you mean \"two\"?"},
        {"{\"c\": 2}", "x.json: a.c is 2; it must be \"one\" or \"two\""},
        {"{\"l\": [1]}",
         "x.json: a.l is [1]; it must be a list of texts in double quotes, none of them empty"},
        {"[]", "x.json: a is []; it must be an object: { \"key\": value, … }"},
        {"{\"m\": 1}", "x.json: unknown key \"a.m\" for \"one\"; did you mean \"n\"?"},
        {"{\"p\": 1}", "x.json: unknown key \"a.p\" for \"one\"; did you mean \"n\"?"},
        {"{\"something\": 1}",
         "x.json: unknown key \"a.something\" for \"one\"; known here: \"n\", \"d\", \"r\", "
         "\"b\", \"c\", \"s\", \"l\", \"must\""},
        {"{}", "x.json: a.must is missing; it has no default"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Config c;
        Error error = {""};
        assert_false(read_part(cases[i].text, &c, &error));
        assert_string_equal(error.message, cases[i].message);
        keys_free(root, &c);
    }
}

/* Applies overrides to {"a": {"b": 1}, "o": {"type": "x", "p": 1}} and compares the outcome. */
static void expect_override(const char *text, const char *result, const char *message) {
    cJSON *tree = json_parse(TEXT("{\"a\":{\"b\":1},\"o\":{\"type\":\"x\",\"p\":1}}"), "x", NULL);
    Error error = {""};
    bool done = keys_override(tree, text, "x.json", &error);
    char *printed = cJSON_PrintUnformatted(tree);
    if (message) {
        assert_false(done);
        assert_string_equal(error.message, message);
    } else {
        assert_true(done);
        assert_string_equal(printed, result);
    }
    cJSON_free(printed);
    cJSON_Delete(tree);
}

TEST(test_overrides) {
    expect_override("a.b=2", "{\"a\":{\"b\":2},\"o\":{\"type\":\"x\",\"p\":1}}", NULL);
    expect_override("a.c=[1, \"x\"]",
                    "{\"a\":{\"b\":1,\"c\":[1,\"x\"]},\"o\":{\"type\":\"x\",\"p\":1}}", NULL);
    expect_override("a.c=some text",
                    "{\"a\":{\"b\":1,\"c\":\"some text\"},\"o\":{\"type\":\"x\",\"p\":1}}", NULL);
    expect_override("a.c=x=y", "{\"a\":{\"b\":1,\"c\":\"x=y\"},\"o\":{\"type\":\"x\",\"p\":1}}",
                    NULL);
    expect_override("a.c=01", "{\"a\":{\"b\":1,\"c\":\"01\"},\"o\":{\"type\":\"x\",\"p\":1}}",
                    NULL);
    expect_override("a.c=", "{\"a\":{\"b\":1,\"c\":\"\"},\"o\":{\"type\":\"x\",\"p\":1}}", NULL);
    expect_override("a={\"z\":{}}", "{\"o\":{\"type\":\"x\",\"p\":1},\"a\":{\"z\":{}}}", NULL);
    expect_override("n.m.k=true",
                    "{\"a\":{\"b\":1},\"o\":{\"type\":\"x\",\"p\":1},\"n\":{\"m\":{\"k\":true}}}",
                    NULL);
    expect_override("o.type=y", "{\"a\":{\"b\":1},\"o\":{\"type\":\"y\"}}", NULL);
    expect_override("o.p=2", "{\"a\":{\"b\":1},\"o\":{\"type\":\"x\",\"p\":2}}", NULL);
    expect_override("A.b=2", "{\"a\":{\"b\":1},\"o\":{\"type\":\"x\",\"p\":1},\"A\":{\"b\":2}}",
                    NULL);
    expect_override("a.b.c=2", NULL,
                    "x.json: --set a.b.c=2: what stands before \"c\" is not an object");
    const char *dots = "must be KEY=VALUE, with dots between the parts of the key, as in "
                       "training.max_steps=50";
    static const char *const bad[] = {"=1", ".a=1", "a.=1", "a..b=1", ".", "a.b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *message = string_format("--set %s: %s", bad[i], dots);
        expect_override(bad[i], NULL, message);
        free(message);
    }
    expect_override("a.b=\xFF", NULL, "--set a.b=?: is not valid UTF-8");
    char deep[400] = "";
    for (int i = 0; i < 100; i++) strcat(deep, "k.");
    strcat(deep, "k=1");
    Error error;
    cJSON *tree = json_parse(TEXT("{}"), "x", NULL);
    assert_false(keys_override(tree, deep, "x", &error));
    cJSON_Delete(tree);
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
