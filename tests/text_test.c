/* Numbers and names that a user typed. */
#include "helpers.h"

#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"

TEST(test_text_numbers) {
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

TEST(test_utf8) {
    assert_int_equal(utf8_valid_length("", 0), 0);
    assert_int_equal(utf8_valid_length("a\0é", 4), 4);
    assert_int_equal(utf8_valid_length("aé\xFFz", 5), 3);
    assert_int_equal(utf8_valid_length("a\xE2\x82", 3), 1);
}

TEST(test_intervals) {
    assert_true(interval_contains("[0, 1)", 0));
    assert_false(interval_contains("[0, 1)", 1));
    assert_false(interval_contains("(0, 1]", 0));
    assert_true(interval_contains("(0, 1]", 1));
    assert_true(interval_contains("(0, inf)", 1e308));
    assert_false(interval_contains("(-inf, inf)", strtod("nan", NULL)));
    assert_false(interval_contains("[0, inf)", strtod("inf", NULL)));
}

TEST(test_nearest_name) {
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

/* What a terminal obeys becomes '?': C0, DEL, C1 (in UTF-8 and as a lone byte), what turns a line
 * around, and bytes that are no UTF-8 (overlong, a surrogate, past the last, cut off). */
TEST(test_clean) {
    static const char *const cases[][2] = {
        {"", ""},
        {"h\xC3\xA9 \xE7\x8C\xAB \xF0\x9F\x98\x80", "h\xC3\xA9 \xE7\x8C\xAB \xF0\x9F\x98\x80"},
        {"a\x1b[31mb\r\n\t\x7f", "a?[31mb????"},
        {"a\xC2\x9B\x33\x31mb\xC2\x80\xC2\xA0", "a?31mb?\xC2\xA0"},
        {"\x9B\x33\x31m", "?31m"},
        {"\xE2\x80\xAEx\xE2\x81\xA6y\xE2\x80\xB0", "?x?y\xE2\x80\xB0"},
        {"\xC0\x9B|\xED\xA0\x80|\xF4\x90\x80\x80|\xE7\x8C", "??|???|????|??"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error error;
        error_set(&error, "%s", cases[i][0]);
        assert_string_equal(error.message, cases[i][1]);
        char *text = string_copy(cases[i][0]);
        text_clean(text);
        assert_string_equal(text, cases[i][1]);
        free(text);
    }
}

TEST(test_print) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    print_quoted(out, "a\"\\\n\r\x1b\xC2\x9B\xFF\xC3\xA9", 11);
    print_line(out, "%s|", "\x1b\n");
    print_text(out, "\x1b\xFF\r\0", 4); /* not a terminal */
    fclose(out);
    static const char expected[] = "\"a\\\"\\\\\\n\\r\\x1b\\xc2\\x9b\\xff\xC3\xA9\"??|\n\x1b\xFF\r";
    assert_int_equal(size, sizeof expected);
    assert_memory_equal(text, expected, size);
    free(text);
}

TEST(test_columns) {
    assert_int_equal(text_columns(""), 0);
    assert_int_equal(text_columns("cat \xc3\xa9"), 5);
    assert_int_equal(text_columns("\xe7\x8c\xab and \xe3\x81\x8b"), 9); /* two wide characters */
    assert_int_equal(text_columns("e\xcc\x81"), 1);                     /* a combining accent */
    assert_int_equal(text_columns("\xff?"), 2);
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
