/* Cases with known right answers, as files: our own in tests/fixtures (make_fixtures.py there computes
 * them), and those of a folder TINYLM_SHARED (../shared when it is not set), where there is one. */
#ifndef TINYLM_TESTS_CASES_H
#define TINYLM_TESTS_CASES_H

#include "helpers.h"

#include <stdio.h>
#include <unistd.h>

static const char *cases_folder = "tests/fixtures"; /* of the running test */

static inline const char *shared_folder(void) {
    const char *folder = getenv("TINYLM_SHARED");
    return folder && *folder ? folder : "../shared";
}

/* Path of a file among the cases; NULL when it is not there. It lives until the 8th next call. */
static inline const char *case_path(const char *name) {
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", cases_folder, name);
    return access(path, R_OK) == 0 ? path : NULL;
}

/* The same, for a test that can do nothing without the file: it is skipped. */
static inline const char *need_case(const char *name) {
    const char *path = case_path(name);
    if (!path) skip_because("no %s/%s", cases_folder, name);
    return path;
}

/* The same for a file that is too large for our cases, or not ours to give away. */
static inline const char *need_shared(const char *name) {
    cases_folder = shared_folder();
    return need_case(name);
}

/* A test on the cases of others alone, of a kind that other tests make themselves. */
#define SHARED_TEST(test)                                                                          \
    static void test##_cases(void);                                                                \
    static void test(__attribute__((unused)) void **state) {                                       \
        cases_folder = shared_folder();                                                            \
        test##_cases();                                                                            \
    }                                                                                              \
    __attribute__((constructor)) static void list_##test(void) {                                   \
        if (access(shared_folder(), R_OK) == 0)                                                    \
            list_test((struct CMUnitTest)cmocka_unit_test(test));                                  \
    }                                                                                              \
    static void test##_cases(void)

/* A test that runs on our cases, and once more, as NAME_shared, on the others. */
#define CASES_TEST(test)                                                                           \
    static void test##_cases(void);                                                                \
    static void test(__attribute__((unused)) void **state) {                                       \
        cases_folder = "tests/fixtures";                                                           \
        test##_cases();                                                                            \
    }                                                                                              \
    static void test##_shared(__attribute__((unused)) void **state) {                              \
        cases_folder = shared_folder();                                                            \
        test##_cases();                                                                            \
    }                                                                                              \
    __attribute__((constructor)) static void list_##test(void) {                                   \
        list_test((struct CMUnitTest)cmocka_unit_test(test));                                      \
        if (access(shared_folder(), R_OK) == 0)                                                    \
            list_test((struct CMUnitTest)cmocka_unit_test(test##_shared));                         \
    }                                                                                              \
    static void test##_cases(void)

#endif
