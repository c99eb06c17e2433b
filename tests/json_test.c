/* Strict JSON: what is accepted, what is refused and where, and that writing reads back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/json_object.h"
#include "base/json_override.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "base/text.h"

#define TEXT(literal) literal, sizeof(literal) - 1

/* Expects exactly this message, or success when it is NULL. */
static void expect(const char *text, size_t length, const char *message) {
    Error error = {""};
    /* An exact copy in the heap, so that AddressSanitizer sees any step past its end. */
    char *copy = memcpy(allocate(length, 1), text, length);
    cJSON *root = json_parse(copy, length, "x.json", &error);
    free(copy);
    if (!message && !root) fail_msg("refused: %s", error.message);
    if (message && root) fail_msg("accepted: %.*s", (int)length, text);
    if (message) assert_string_equal(error.message, message);
    cJSON_Delete(root);
}

static void test_accepts(void **state) {
    (void)state;
    expect(TEXT("{}"), NULL);
    expect(TEXT("[]"), NULL);
    expect(TEXT(" {\"a\" : [ ] , \"b\":{ }} \n\n\t\r\n"), NULL);
    expect(TEXT("\xEF\xBB\xBF{\r\n \"a\": 1,\r\n \"b\": [1, 2]\r\n}\r\n"), NULL);
    expect(TEXT("[0, -0, 1, -1, 10, 0.5, -0.5, 1e3, 1E+3, 1e-3, 12.5e-1, 1e-300, 4.9e-324]"), NULL);
    expect(TEXT("[true, false, null, \"\", \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"]"), NULL);
    expect(TEXT("\"alone\""), NULL);
    expect(TEXT("7"), NULL);
    expect(TEXT("{\"a\": 1, \"A\": 2, \"\": 3}"), NULL);
    expect(TEXT("{\"a\": {\"a\": {\"a\": 1}}, \"b\": {\"a\": 1}}"), NULL);
    expect(TEXT("[\"\\ud83d\\ude00\", \"\xF0\x9F\x98\x80\"]"), NULL);
}

static void test_refuses_bytes(void **state) {
    (void)state;
    expect(TEXT(""), "x.json: is empty; a JSON value is needed here");
    expect(TEXT(" \n\t\r\n"), "x.json: is empty; a JSON value is needed here");
    expect(TEXT("\xEF\xBB\xBF"), "x.json: is empty; a JSON value is needed here");
    expect(TEXT("\xEF\xBB\xBF \n"), "x.json: is empty; a JSON value is needed here");
    expect(TEXT("{\"a\": 1, \0 \"b\": 2}"), "x.json: line 1, column 10: a NUL byte; JSON is text");
    expect(TEXT("{\n}\n\0{}"), "x.json: line 3, column 1: a NUL byte; JSON is text");
    expect(TEXT("{}\0"), "x.json: line 1, column 3: a NUL byte; JSON is text");
    expect(TEXT("\0"), "x.json: line 1, column 1: a NUL byte; JSON is text");
    expect(TEXT("\xFF\xFE{\0}\0"), "x.json: is UTF-16 text; save it as UTF-8");
    expect(TEXT("\xFE\xFF\0{\0}"), "x.json: is UTF-16 text; save it as UTF-8");
    expect(TEXT("\xFF\xFE"), "x.json: is UTF-16 text; save it as UTF-8");
    const char *utf8 = "x.json: line 1, column 4: not valid UTF-8; save the file as UTF-8";
    expect(TEXT("{\"a\xFF\": 1}"), utf8);
    expect(TEXT("{\"a\xC0\x80\": 1}"), utf8);         /* NUL in two bytes */
    expect(TEXT("{\"a\xED\xA0\x80\": 1}"), utf8);     /* surrogate */
    expect(TEXT("{\"a\xF4\x90\x80\x80\": 1}"), utf8); /* past U+10FFFF */
    expect(TEXT("{\"a\xE2\x82\": 1}"), utf8);         /* cut */
    expect(TEXT("[\"\xE2\x82\xAC\xE2\x82"),
           "x.json: line 1, column 4: not valid UTF-8; save the file as UTF-8");
    expect(TEXT("\xEF\xBB\xBF\xEF\xBB\xBF{}"),
           "x.json: line 1, column 1: expected a value: \"text\" in double quotes, a number, true, "
           "false, {…} or […]");
}

static void test_refuses_structure(void **state) {
    (void)state;
    const char *after =
        "x.json: line 1, column %d: unexpected text after the end of the JSON value";
    char message[200];
    snprintf(message, sizeof message, after, 9);
    expect(TEXT("{\"a\": 1}}"), message);
    snprintf(message, sizeof message, after, 10);
    expect(TEXT("{\"a\": 1} # note"), message);
    snprintf(message, sizeof message, after, 4);
    expect(TEXT("{} {}"), message);
    expect(TEXT("{\"a\": 1}\n{\"a\": 2}"),
           "x.json: line 2, column 1: unexpected text after the end of the JSON value");
    expect(TEXT("1 2"),
           "x.json: line 1, column 3: unexpected text after the end of the JSON value");
    expect(TEXT("{\"a\": 1,}"), "x.json: line 1, column 9: no comma before a closing bracket");
    expect(TEXT("{\n  \"a\": 1,\n}"),
           "x.json: line 3, column 1: no comma before a closing bracket");
    expect(TEXT("[1,]"), "x.json: line 1, column 4: a value is missing here; no comma before a "
                         "closing bracket");
    expect(TEXT("[,1]"), "x.json: line 1, column 2: a value is missing before this comma");
    expect(TEXT("{,}"), "x.json: line 1, column 2: expected a key in double quotes");
    expect(TEXT("{a: 1}"), "x.json: line 1, column 2: expected a key in double quotes");
    expect(TEXT("{\"a\" 1}"), "x.json: line 1, column 6: expected a colon after the key");
    expect(TEXT("{\"a\": 1 \"b\": 2}"), "x.json: line 1, column 9: expected a comma or }");
    expect(TEXT("[1 2]"), "x.json: line 1, column 4: expected a comma or ]");
    expect(TEXT("[1}"), "x.json: line 1, column 3: expected a comma or ]");
    expect(TEXT("{\"lr\": 0.1, \"steps\": 2"),
           "x.json: line 1, column 23: the text ends inside an object; } is missing");
    expect(TEXT("{\"a\": 1,"),
           "x.json: line 1, column 9: the text ends inside an object; } is missing");
    expect(TEXT("[1"), "x.json: line 1, column 3: the text ends inside an array; ] is missing");
    expect(TEXT("[1,"), "x.json: line 1, column 4: the text ends where a value is needed");
    expect(TEXT("{\"a\":"), "x.json: line 1, column 6: the text ends where a value is needed");
    expect(TEXT("{\"a\""), "x.json: line 1, column 5: expected a colon after the key");
    expect(TEXT("{"), "x.json: line 1, column 2: the text ends inside an object; } is missing");
    expect(TEXT("["), "x.json: line 1, column 2: the text ends where a value is needed");
    expect(TEXT("{\"a\": tru}"), "x.json: line 1, column 7: expected a value: \"text\" in double "
                                 "quotes, a number, true, false, {…} or […]");
    expect(TEXT("[truee]"), "x.json: line 1, column 6: expected a comma or ]");
    expect(TEXT("{\"é\": 'x'}"), "x.json: line 1, column 7: expected a value: \"text\" in double "
                                 "quotes, a number, true, false, {…} or […]");
    expect(TEXT("// no\n{}"), "x.json: line 1, column 1: JSON has no comments");
    expect(TEXT("{\"a\": 1, # no\n}"),
           "x.json: line 1, column 10: expected a key in double quotes");
    expect(TEXT("\x01{}"),
           "x.json: line 1, column 1: expected a value: \"text\" in double quotes, a "
           "number, true, false, {…} or […]");
}

static void test_refuses_numbers(void **state) {
    (void)state;
    static const char *const bad[] = {
        "01",  "-01", "00",  "010", "1.",  "-",        "1e",   "1e+",  "0x10",  "+1", ".5",   "-.5",
        "- 1", "1-2", "NaN", "nan", "inf", "Infinity", "-inf", "1,5.", "1_000", "1f", "1e5.5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = string_format("{\"a\": [%s]}", bad[i]);
        Error error = {""};
        cJSON *root = json_parse(text, strlen(text), "x.json", &error);
        if (root) fail_msg("accepted %s", text);
        assert_non_null(strstr(error.message, "x.json: line 1, column "));
        free(text);
    }
    expect(TEXT("[1e999]"), "x.json: line 1, column 2: this number is too large");
    expect(TEXT("[1, -1e309]"), "x.json: line 1, column 5: this number is too large");
    expect(TEXT("[1.7976931348623157e308, -1e308]"), NULL);
    char digits[80];
    memset(digits, '1', sizeof digits);
    digits[63] = '\0';
    expect(digits, 63, NULL);
    memset(digits, '1', sizeof digits);
    expect(digits, 64, "x.json: line 1, column 1: a number of more than 63 characters");
}

static void test_refuses_strings(void **state) {
    (void)state;
    expect(TEXT("[\"a\nb\"]"), "x.json: line 1, column 4: a string must end on its own line");
    expect(TEXT("[\"a\tb\"]"), "x.json: line 1, column 4: control character in a string");
    expect(TEXT("[\"a"), "x.json: line 1, column 4: the text ends inside a string");
    expect(TEXT("[\"a\\"), "x.json: line 1, column 5: unknown escape in a string; a backslash is "
                           "written \\\\");
    expect(TEXT("[\"C:\\data\"]"),
           "x.json: line 1, column 6: unknown escape in a string; a backslash "
           "is written \\\\");
    expect(TEXT("[\"\\u00\"]"), "x.json: line 1, column 5: \\u needs four hexadecimal digits");
    expect(TEXT("[\"\\uZZZZ\"]"), "x.json: line 1, column 5: \\u needs four hexadecimal digits");
    expect(TEXT("[\"\\u12"), "x.json: line 1, column 5: \\u needs four hexadecimal digits");
    expect(TEXT("[\"<|a\\u0000b|>\"]"),
           "x.json: line 1, column 8: \\u0000 is not allowed: strings here end at a NUL");
    const char *first =
        "x.json: line 1, column 9: first half of a surrogate pair without the second";
    expect(TEXT("[\"\\ud83d\"]"), first);
    expect(TEXT("[\"\\ud83d\\n\"]"), first);
    expect(TEXT("[\"\\ud83dx\"]"), first);
    expect(TEXT("[\"\\ud83d\\ud83d\"]"), first);
    expect(TEXT("[\"\\ud83d\\u"), first);
    expect(TEXT("[\"\\ude00\\ud83d\"]"),
           "x.json: line 1, column 5: second half of a surrogate pair without the first");
}

static void test_refuses_duplicates(void **state) {
    (void)state;
    expect(TEXT("{\"a\": 1, \"a\": 2}"),
           "x.json: line 1, column 10: the key \"a\" is here for the second time");
    expect(TEXT("{\"a\": 1,\n \"b\": {\"x\": [1, {\"y\": 1, \"z\": 2,\n  \"y\": 3}]}, \"c\": 0}"),
           "x.json: line 3, column 3: the key \"y\" is here for the second time");
    expect(TEXT("\xEF\xBB\xBF{\"a\": 1, \"\\u0061\": 2}"),
           "x.json: line 1, column 10: the key \"a\" is here for the second time");
    expect(TEXT("{\"\": 1, \"\": 1}"),
           "x.json: line 1, column 9: the key \"\" is here for the second "
           "time");
}

static char *nested(int depth, const char *open, const char *inner, const char *close) {
    char *text = string_copy(inner);
    for (int i = 0; i < depth; i++) {
        char *outer = string_format("%s%s%s", open, text, close);
        free(text);
        text = outer;
    }
    return text;
}

static void test_depth(void **state) {
    (void)state;
    char *deepest = nested(64, "[", "1", "]"), *deeper = nested(65, "[", "1", "]");
    char *objects = nested(64, "{\"a\":", "1", "}"), *more = nested(65, "{\"a\":", "1", "}");
    expect(deepest, strlen(deepest), NULL);
    expect(deeper, strlen(deeper), "x.json: line 1, column 65: brackets nested more than 64 deep");
    expect(objects, strlen(objects), NULL);
    expect(more, strlen(more), "x.json: line 1, column 321: brackets nested more than 64 deep");
    free(deepest), free(deeper), free(objects), free(more);
    size_t length = 10000000; /* recursion would need hundreds of megabytes of stack */
    char *endless = allocate(length, 1);
    memset(endless, '[', length);
    expect(endless, length, "x.json: line 1, column 65: brackets nested more than 64 deep");
    free(endless);
}

static void test_large_object_is_fast(void **state) {
    (void)state;
    JsonWriter writer = {.compact = true};
    json_begin_object(&writer, JSON_ON_LINES);
    for (int i = 0; i < 200000; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        json_member_whole(&writer, key, i);
    }
    json_end(&writer);
    size_t length;
    char *text = json_writer_finish(&writer, &length);
    Error error;
    cJSON *root = json_parse(text, length, "x.json", &error); /* quadratic would take minutes */
    assert_non_null(root);
    assert_int_equal(cJSON_GetArraySize(root), 200000);
    cJSON_Delete(root);
    free(text);
}

static void test_whole_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool whole;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"3000000000", true, 3000000000},
        {"-3000000000", true, -3000000000},
        {"1e3", true, 1000},
        {"10.0", true, 10},
        {"9007199254740991", true, 9007199254740991},
        {"-9007199254740991", true, -9007199254740991},
        {"9007199254740992", false, 0},
        {"9007199254740993", false, 0}, /* would become …992 */
        {"18446744073709551615", false, 0},
        {"18446744073709551616", false, 0},
        {"1e300", false, 0},
        {"10.5", false, 0},
        {"1e-3", false, 0},
        {"\"10\"", false, 0},
        {"true", false, 0},
        {"null", false, 0},
        {"[1]", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error error;
        cJSON *root = json_parse(cases[i].text, strlen(cases[i].text), "x", &error);
        int64_t value = -77;
        if (json_whole(root, &value) != cases[i].whole) fail_msg("%s", cases[i].text);
        if (cases[i].whole) assert_int_equal(value, cases[i].value);
        cJSON_Delete(root);
    }
    int64_t value;
    assert_false(json_whole(NULL, &value));
}

static void test_get_is_exact(void **state) {
    (void)state;
    cJSON *root = json_parse(TEXT("{\"Seed\": 1, \"seed\": 2}"), "x", NULL);
    assert_int_equal(json_get(root, "seed")->valueint, 2);
    assert_null(json_get(root, "SEED"));
    assert_null(json_get(json_get(root, "seed"), "x"));
    assert_null(json_get(NULL, "x"));
    cJSON_Delete(root);
}

/* ---- writing ---- */

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
    expect(text, length, NULL);
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
        expect(text, strlen(text), NULL);
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

/* ---- base/text.h ---- */

static void test_text_numbers(void **state) {
    (void)state;
    int64_t whole;
    assert_true(text_to_whole("9223372036854775807", &whole) && whole == INT64_MAX);
    assert_true(text_to_whole("-9223372036854775808", &whole) && whole == INT64_MIN);
    assert_true(text_to_whole("007", &whole) && whole == 7);
    static const char *const bad_whole[] = {"",
                                            "-",
                                            "+1",
                                            " 1",
                                            "1 ",
                                            "1e3",
                                            "1.",
                                            "0x1",
                                            "--1",
                                            "9223372036854775808",
                                            "-9223372036854775809",
                                            "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad_whole / sizeof *bad_whole; i++)
        if (text_to_whole(bad_whole[i], &whole)) fail_msg("accepted %s", bad_whole[i]);
    double real;
    assert_true(text_to_real("-1.5e-3", &real) && real == -1.5e-3);
    assert_true(text_to_real(".5", &real) && real == 0.5);
    assert_true(text_to_real("3.", &real) && real == 3);
    static const char *const bad_real[] = {"",      ".",  "-",     "inf",     "nan",  "0x1p3",
                                           "1,5",   "1e", "1e+",   "e5",      "1e5x", " 1",
                                           "1e999", "+1", "1.5.5", "infinity"};
    for (size_t i = 0; i < sizeof bad_real / sizeof *bad_real; i++)
        if (text_to_real(bad_real[i], &real)) fail_msg("accepted %s", bad_real[i]);
}

static void test_intervals(void **state) {
    (void)state;
    assert_true(interval_contains("[0, 1)", 0));
    assert_false(interval_contains("[0, 1)", 1));
    assert_false(interval_contains("(0, 1]", 0));
    assert_true(interval_contains("(0, 1]", 1));
    assert_true(interval_contains("(0, inf)", 1e308));
    assert_false(interval_contains("(-inf, inf)", strtod("nan", NULL)));
    assert_false(interval_contains("[0, inf)", strtod("inf", NULL)));
}

static void test_nearest_name(void **state) {
    (void)state;
    static const char *const names[] = {"d_model", "num_layers", "num_heads", "num_kv_heads",
                                        "min"};
    assert_string_equal(nearest_name("d_modle", names, 5), "d_model");
    assert_string_equal(nearest_name("num_layer", names, 5), "num_layers");
    assert_string_equal(nearest_name("D_MODEL", names, 5), "d_model");
    assert_string_equal(nearest_name("n_heads", names, 5), "num_heads");
    assert_string_equal(nearest_name("mni", names, 5), "min");
    assert_null(nearest_name("vocabulary", names, 5));
    assert_null(nearest_name("", names, 5));
    char longest[5000];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_null(nearest_name(longest, names, 5));
}

/* ---- reading settings, overrides ---- */

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
    char *deep = nested(100, "k.", "k=1", "");
    Error error;
    cJSON *root = json_parse(TEXT("{}"), "x", NULL);
    assert_false(json_override(root, deep, "x", &error));
    cJSON_Delete(root);
    free(deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_refuses_bytes),
        cmocka_unit_test(test_refuses_structure),
        cmocka_unit_test(test_refuses_numbers),
        cmocka_unit_test(test_refuses_strings),
        cmocka_unit_test(test_refuses_duplicates),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_large_object_is_fast),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_get_is_exact),
        cmocka_unit_test(test_writer_layout),
        cmocka_unit_test(test_writer_strings_read_back),
        cmocka_unit_test(test_reals_read_back),
        cmocka_unit_test(test_text_numbers),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_nearest_name),
        cmocka_unit_test(test_object_messages),
        cmocka_unit_test(test_overrides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
