/* Settings read out of a JSON object, and --set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_object.h"
#include "base/json_override.h"

#define TEXT(literal) literal, sizeof(literal) - 1

static void test_object_messages(void **state) {
    (void)state;
    cJSON *tree = json_parse(TEXT("{\"a\": {\"n\": 3, \"r\": 0.5, \"b\": true, \"c\": \"two\", "
                                  "\"s\": \"text\", \"l\": [\"x\", \"y\"]}}"),
                             "x.json", NULL);
    Error error = {""};
    JsonReader reader = {.file = "x.json", .error = &error};
    static const char *const choices[] = {"one", "two"};
    JsonObject root = json_object_root(&reader, tree), a = json_object_child(&root, "a");
    assert_int_equal(json_object_whole(&a, "n", 0, 1, 3), 3);
    assert_true(json_object_real(&a, "r", 0, "(0, 1)") == 0.5);
    assert_true(json_object_bool(&a, "b", false));
    assert_int_equal(json_object_choice(&a, "c", 0, choices, 2), 1);
    char *string = json_object_string(&a, "s");
    assert_string_equal(string, "text");
    int64_t count;
    char **list = json_object_strings(&a, "l", false, false, &count);
    assert_int_equal(count, 2);
    assert_string_equal(list[1], "y");
    assert_int_equal(json_object_whole(&a, "absent", 42, 0, 50), 42);
    json_object_end(&a);
    json_object_end(&root);
    assert_false(reader.failed);
    free(string);
    string_list_free(list, count);
    /* The same with every value wrong. */
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
        {"[]", "x.json: a is []; it must be an object: { \"key\": value, … }"},
        {"{\"m\": 1}", "x.json: unknown key \"a.m\"; did you mean \"n\"?"},
        {"{\"something\": 1}",
         "x.json: unknown key \"a.something\"; known here: \"n\", \"r\", \"b\", "
         "\"c\", \"must\""},
        {"{}", "x.json: a.must is missing; it has no default"},
    };
    cJSON_Delete(tree);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = string_format("{\"a\": %s}", cases[i].text);
        tree = json_parse(text, strlen(text), "x.json", NULL);
        reader = (JsonReader){.file = "x.json", .error = &error};
        root = json_object_root(&reader, tree);
        a = json_object_child(&root, "a");
        json_object_whole(&a, "n", 1, 1, 3);
        json_object_real(&a, "r", 0.5, "(0, 1)");
        json_object_bool(&a, "b", true);
        json_object_choice(&a, "c", 0, choices, 2);
        json_object_whole(&a, "must", JSON_REQUIRED, 1, 3);
        json_object_end(&a);
        json_object_end(&root);
        assert_true(reader.failed);
        assert_string_equal(error.message, cases[i].message);
        cJSON_Delete(tree);
        free(text);
    }
}

/* Applies overrides to {"a": {"b": 1}, "o": {"type": "x", "p": 1}} and compares the outcome. */
static void expect_override(const char *text, const char *result, const char *message) {
    cJSON *root = json_parse(TEXT("{\"a\":{\"b\":1},\"o\":{\"type\":\"x\",\"p\":1}}"), "x", NULL);
    Error error = {""};
    bool done = json_override(root, text, "x.json", &error);
    char *printed = cJSON_PrintUnformatted(root);
    if (message) {
        assert_false(done);
        assert_string_equal(error.message, message);
    } else {
        assert_true(done);
        assert_string_equal(printed, result);
    }
    cJSON_free(printed);
    cJSON_Delete(root);
}

static void test_overrides(void **state) {
    (void)state;
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
    expect_override("a.b", NULL, "--set a.b: must be KEY=VALUE, as in training.max_steps=50");
    const char *dots = "must be KEY=VALUE, with dots between the parts of the key, as in "
                       "training.max_steps=50";
    static const char *const bad[] = {"=1", ".a=1", "a.=1", "a..b=1", "."};
    for (size_t i = 0; i < 4; i++) {
        char *message = string_format("--set %s: %s", bad[i], dots);
        expect_override(bad[i], NULL, message);
        free(message);
    }
    expect_override("a.b=\xFF", NULL, "--set a.b=\xFF: is not valid UTF-8");
    char deep[400] = "";
    for (int i = 0; i < 100; i++) strcat(deep, "k.");
    strcat(deep, "k=1");
    Error error;
    cJSON *root = json_parse(TEXT("{}"), "x", NULL);
    assert_false(json_override(root, deep, "x", &error));
    cJSON_Delete(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_object_messages),
        cmocka_unit_test(test_overrides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
