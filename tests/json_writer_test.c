/* Writing JSON: layout, and that strings and numbers read back as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "base/text.h"

static void expect_json(const char *text, size_t length) {
    Error error = {""};
    cJSON *root = json_parse(text, length, "x", &error);
    if (!root) fail_msg("%s", error.message);
    cJSON_Delete(root);
}

static void test_writer_layout(void **state) {
    (void)state;
    JsonWriter writer = {0};
    json_begin_object(&writer, JSON_ON_LINES);
    json_member_string(&writer, "name", "a\"b\\c\n\x01\x7F\xC3\xA9");
    json_key(&writer, "list"), json_begin_array(&writer, JSON_ON_ONE_LINE);
    json_put_whole(&writer, INT64_MIN), json_put_real(&writer, 0.1), json_put_bool(&writer, true);
    json_put_null(&writer);
    json_begin_object(&writer, JSON_ON_LINES), json_end(&writer); /* stays on the line */
    json_end(&writer);
    json_key(&writer, "empty"), json_begin_object(&writer, JSON_ON_LINES), json_end(&writer);
    json_key(&writer, "inner"), json_begin_object(&writer, JSON_ON_LINES);
    json_member_bool(&writer, "x", false);
    json_end(&writer);
    json_end(&writer);
    size_t length;
    char *text = json_writer_finish(&writer, &length);
    assert_string_equal(text, "{\n"
                              "  \"name\": \"a\\\"b\\\\c\\n\\u0001\x7F\xC3\xA9\",\n"
                              "  \"list\": [-9223372036854775808, 0.1, true, null, {}],\n"
                              "  \"empty\": {},\n"
                              "  \"inner\": {\n"
                              "    \"x\": false\n"
                              "  }\n"
                              "}\n");
    assert_int_equal(length, strlen(text));
    expect_json(text, length);
    free(text);
    JsonWriter compact = {.compact = true};
    json_begin_object(&compact, JSON_ON_LINES);
    json_key(&compact, "a"), json_begin_array(&compact, JSON_ON_LINES);
    json_put_whole(&compact, 1), json_put_whole(&compact, 2);
    json_end(&compact);
    json_member_real(&compact, "b", 6e-3);
    json_end(&compact);
    text = json_writer_finish(&compact, NULL);
    assert_string_equal(text, "{\"a\":[1,2],\"b\":0.006}");
    free(text);
}

static void test_writer_strings_read_back(void **state) {
    (void)state;
    for (uint64_t round = 0; round < 2000; round++) {
        char text[24];
        size_t length = random_below(1, RANDOM_TEST, 100 * round, 20);
        for (size_t i = 0; i < length; i++) /* 1…127: every text of these is UTF-8 */
            text[i] = (char)(1 + random_below(1, RANDOM_TEST, 100 * round + i + 1, 127));
        text[length] = '\0';
        char *quoted = json_quote(text);
        cJSON *node = json_parse(quoted, strlen(quoted), "x", NULL);
        assert_non_null(node);
        assert_string_equal(node->valuestring, text);
        cJSON_Delete(node);
        free(quoted);
    }
    char *replaced = json_quote("a\xFF\xE2\x82z");
    assert_string_equal(replaced, "\"a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\"");
    free(replaced);
}

static void test_reals_read_back(void **state) {
    (void)state;
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writer_layout),
        cmocka_unit_test(test_writer_strings_read_back),
        cmocka_unit_test(test_reals_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
