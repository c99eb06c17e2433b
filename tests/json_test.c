/* Strict JSON: what is accepted, what is refused, and with which line. */
#include "helpers.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

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

TEST(test_accepts) {
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

TEST(test_refuses_bytes) {
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
    expect(
        TEXT("\xEF\xBB\xBF\xEF\xBB\xBF{}"),
        "x.json: line 1, column 1: expected a key or text in double quotes, a number, true, false, "
        "null, {…} or […]");
}

#define LINE1(column) "x.json: line 1, column " column ": "
#define VALUE         "expected a key or text in double quotes, a number, true, false, null, {…} or […]"
#define TRAILING      "no comma before a closing bracket"
#define MISSING       "a comma, a colon, a key or a value is missing or misplaced here"
#define AFTER         "unexpected text after the end of the JSON value"
#define ENDS          "the text ends too early; a value, a } or a ] is missing"

TEST(test_refuses_structure) {
    expect(TEXT("{\"a\": 1}}"), LINE1("9") AFTER);
    expect(TEXT("{} {}"), LINE1("4") AFTER);
    expect(TEXT("1 2"), LINE1("3") AFTER);
    expect(TEXT("{\"a\": 1}\n{\"a\": 2}"), "x.json: line 2, column 1: " AFTER);
    expect(TEXT("{\"a\": 1} # note"), LINE1("10") AFTER);
    expect(TEXT("// no\n{}"), LINE1("1") "JSON has no comments");
    expect(TEXT("{\"a\": 1, # no\n}"), LINE1("10") "JSON has no comments");
    expect(TEXT("{\"a\": 1,}"), LINE1("9") TRAILING);
    expect(TEXT("{\n  \"a\": 1,\n}"), "x.json: line 3, column 1: " TRAILING);
    expect(TEXT("[1,]"), LINE1("4") TRAILING);
    expect(TEXT("{,}"), LINE1("3") TRAILING);
    expect(TEXT("{a: 1}"), LINE1("2") VALUE);
    expect(TEXT("{\"a\": tru}"), LINE1("7") VALUE);
    expect(TEXT("[truee]"), LINE1("6") VALUE);
    expect(TEXT("{\"é\": 'x'}"), LINE1("7") VALUE);
    expect(TEXT("\x01{}"), LINE1("1") VALUE);
    expect(TEXT("[,1]"), LINE1("2") MISSING);
    expect(TEXT("{\"a\" 1}"), LINE1("6") MISSING);
    expect(TEXT("{\"a\": 1 \"b\": 2}"), LINE1("9") MISSING);
    expect(TEXT("[1 2]"), LINE1("4") MISSING);
    expect(TEXT("[1} "), LINE1("3") MISSING);
    expect(TEXT("{\"lr\": 0.1, \"steps\": 2"), LINE1("23") ENDS);
    expect(TEXT("{\"a\": 1,"), LINE1("9") ENDS);
    expect(TEXT("[1"), LINE1("3") ENDS);
    expect(TEXT("[1,"), LINE1("4") ENDS);
    expect(TEXT("{\"a\":"), LINE1("6") ENDS);
    expect(TEXT("{\"a\""), LINE1("5") ENDS);
    expect(TEXT("{"), LINE1("2") ENDS);
    expect(TEXT("["), LINE1("2") ENDS);
}

TEST(test_refuses_numbers) {
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

TEST(test_refuses_strings) {
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
    const char *first = "x.json: line 1, column 3: half of a surrogate pair without the other";
    expect(TEXT("[\"\\ud83d\"]"), first);
    expect(TEXT("[\"\\ud83d\\n\"]"), first);
    expect(TEXT("[\"\\ud83dx\"]"), first);
    expect(TEXT("[\"\\ud83d\\ud83d\"]"), first);
    expect(TEXT("[\"\\ud83d\\u"), LINE1("11") "\\u needs four hexadecimal digits");
    expect(TEXT("[\"\\ude00\\ud83d\"]"), first);
}

TEST(test_refuses_duplicates) {
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

TEST(test_depth) {
    char *deepest = nested(64, "[", "1", "]"), *deeper = nested(65, "[", "1", "]");
    char *objects = nested(64, "{\"a\":", "1", "}"), *more = nested(65, "{\"a\":", "1", "}");
    expect(deepest, strlen(deepest), NULL);
    expect(deeper, strlen(deeper), "x.json: line 1, column 65: brackets nested more than 64 deep");
    expect(objects, strlen(objects), NULL);
    expect(more, strlen(more), "x.json: line 1, column 321: brackets nested more than 64 deep");
    free(deepest), free(deeper), free(objects), free(more);
}

/* In a thread with little stack: neither hostile nesting nor the deepest allowed may need more. */
static void *parse_with_little_stack(void *unused) {
    size_t length = 10000000; /* recursion would need hundreds of megabytes of stack */
    char *endless = allocate(length, 1);
    memset(endless, '[', length);
    expect(endless, length, "x.json: line 1, column 65: brackets nested more than 64 deep");
    free(endless);
    char *deepest = nested(64, "{\"a\":", "1", "}");
    expect(deepest, strlen(deepest), NULL);
    free(deepest);
    return unused;
}

TEST(test_depth_with_little_stack) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, parse_with_little_stack, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

TEST(test_large_object_is_fast) {
    cJSON *tree = cJSON_CreateObject();
    for (int i = 0; i < 200000; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        cJSON_AddNumberToObject(tree, key, i);
    }
    char *text = json_finish(tree, 1);
    Error error;
    cJSON *root =
        json_parse(text, strlen(text), "x.json", &error); /* quadratic would take minutes */
    assert_non_null(root);
    assert_int_equal(cJSON_GetArraySize(root), 200000);
    cJSON_Delete(root);
    free(text);
}

TEST(test_whole_numbers) {
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

TEST(test_get_is_exact) {
    cJSON *root = json_parse(TEXT("{\"Seed\": 1, \"seed\": 2}"), "x", NULL);
    assert_int_equal(json_get(root, "seed")->valueint, 2);
    assert_null(json_get(root, "SEED"));
    assert_null(json_get(json_get(root, "seed"), "x"));
    assert_null(json_get(NULL, "x"));
    cJSON_Delete(root);
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
