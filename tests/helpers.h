/* What every test program in C begins with: cmocka, and tests that list themselves.
 *
 *     TEST(two_and_two_are_four) {
 *         assert_int_equal(2 + 2, 4);
 *     }
 *     int main(void) {
 *         return run_all_tests(NULL, NULL);
 *     }
 *
 * The tests run in the order of the file; a setup of the whole program may get and set *state. */
#ifndef TINYLM_TESTS_HELPERS_H
#define TINYLM_TESTS_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static struct CMUnitTest listed_tests[64];
static size_t test_count;

static inline void list_test(struct CMUnitTest test) {
    if (test_count == sizeof listed_tests / sizeof *listed_tests) abort();
    listed_tests[test_count++] = test;
}

#define TEST(test)                                                                                 \
    static void test(void **state);                                                                \
    __attribute__((constructor)) static void list_##test(void) {                                   \
        list_test((struct CMUnitTest)cmocka_unit_test(test));                                      \
    }                                                                                              \
    static void test(__attribute__((unused)) void **state)

/* skip() that says why (printf's arguments): tests/run.sh prints the reason. */
#define skip_because(...)                                                                          \
    do {                                                                                           \
        print_message("# SKIP " __VA_ARGS__);                                                      \
        print_message("\n");                                                                       \
        skip();                                                                                    \
    } while (0)

/* Runs every TEST of the file, between setup and teardown (or NULL). Returns how many failed. */
static inline int run_all_tests(CMFixtureFunction setup, CMFixtureFunction teardown) {
    return _cmocka_run_group_tests("tests", listed_tests, test_count, setup, teardown);
}

#endif
