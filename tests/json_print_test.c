/* Writing JSON: layout, and that strings and numbers read back as they were. */
#include "helpers.h"

#include <float.h>
#include <string.h>

#include "base/json.h"
#include "base/random.h"
#include "base/text.h"

static void expect_json(const char *text, size_t length) {
    Error error = {""};
    cJSON *root = json_parse(text, length, "x", &error);
    if (!root) fail_msg("%s", error.message);
    cJSON_Delete(root);
}

static void expect_text(const char *json, int levels, const char *expected) {
    cJSON *tree = json_parse(json, strlen(json), "x", NULL);
    assert_non_null(tree);
    char *text = json_finish(tree, levels);
    assert_string_equal(text, expected);
    expect_json(text, strlen(text));
    free(text);
}

TEST(test_layout) {
    const char *json =
        "{\"name\": \"a\\\"b\\\\c\\n\\u0001\x7F\xC3\xA9\", \"list\": [-1, 0.1, true, "
        "null], \"empty\": {}, \"inner\": {\"x\": false, \"y\": {\"z\": [{}]}}}";
    expect_text(json, 2,
                "{\n"
                "  \"name\": \"a\\\"b\\\\c\\n\\u0001\x7F\xC3\xA9\",\n"
                "  \"list\": [-1, 0.1, true, null],\n"
                "  \"empty\": {},\n"
                "  \"inner\": {\n"
                "    \"x\": false,\n"
                "    \"y\": {\"z\": [{}]}\n"
                "  }\n"
                "}\n");
    expect_text("[{\"a\": 6e-3}, [1, 2]]", 1, "[\n  {\"a\": 0.006},\n  [1, 2]\n]\n");
    expect_text("{\"a\": [1, 2]}", 0, "{\"a\": [1, 2]}");
    expect_text("9007199254740991", 0, "9007199254740991");
}

static char *quote(const char *text) {
    return json_finish(cJSON_CreateString(text), 0);
}

TEST(test_strings_read_back) {
    for (uint64_t round = 0; round < 2000; round++) {
        char text[24];
        size_t length = random_below(1, RANDOM_TEST, 100 * round, 20);
        for (size_t i = 0; i < length; i++) /* 1…127: every text of these is UTF-8 */
            text[i] = (char)(1 + random_below(1, RANDOM_TEST, 100 * round + i + 1, 127));
        text[length] = '\0';
        char *quoted = quote(text);
        cJSON *node = json_parse(quoted, strlen(quoted), "x", NULL);
        assert_non_null(node);
        assert_string_equal(node->valuestring, text);
        cJSON_Delete(node);
        free(quoted);
    }
    char *replaced = quote("a\xFF\xE2\x82z");
    assert_string_equal(replaced, "\"a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\"");
    free(replaced);
}

TEST(test_reals_read_back) {
    static const double values[] = {0,    -0.0,    0.1,     1e-3,   6e-3,          1.0 / 3, 1e22,
                                    1e23, DBL_MAX, DBL_MIN, 5e-324, 123456789.125, 1e-300};
    char text[32];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        real_to_text(values[i], text);
        assert_true(strtod(text, NULL) == values[i]);
        expect_json(text, strlen(text));
    }
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t bits = random_u64(2, RANDOM_TEST, i);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (value - value != 0) continue; /* infinite or NaN */
        real_to_text(value, text);
        double back = strtod(text, NULL);
        assert_memory_equal(&back, &value, sizeof value);
    }
    real_to_text(0.1, text);
    assert_string_equal(text, "0.1");
    real_to_text(10000, text);
    assert_string_equal(text, "10000");
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
