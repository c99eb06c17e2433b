/* Our verdict on thousands of whole and damaged documents against that of Python's json module. */
#include "helpers.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

TEST(test_same_verdict_as_python) {
    if (system("python3 -c 'import json' 2>/dev/null") != 0) skip_because("no python3");
    bool full = getenv("TINYLM_TEST_FULL") != NULL;
    char *command = string_format("python3 tests/json_cases.py 7 %d", full ? 500000 : 20000);
    FILE *cases = popen(command, "r");
    assert_non_null(cases);
    free(command);
    uint32_t length;
    uint8_t expected;
    int count = 0, accepted = 0;
    while (fread(&length, sizeof length, 1, cases) == 1) {
        assert_int_equal(fread(&expected, 1, 1, cases), 1);
        char *text = allocate(length, 1);
        assert_int_equal(fread(text, 1, length, cases), length);
        Error error = {""};
        cJSON *root = json_parse(text, length, "x", &error);
        if ((root != NULL) != expected)
            fail_msg("ours: %s; Python's: %s; %.*s", root ? "accepted" : error.message,
                     expected ? "accepted" : "refused", (int)length, text);
        count++;
        accepted += expected;
        cJSON_Delete(root);
        free(text);
    }
    assert_int_equal(pclose(cases), 0);
    assert_int_equal(count, full ? 500000 : 20000);
    assert_in_range(accepted, count / 10, count * 9 / 10);
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
