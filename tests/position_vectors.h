/* The reference vectors of position schemes: reference/vectors.json among the cases. */
#ifndef TINYLM_TESTS_POSITION_VECTORS_H
#define TINYLM_TESTS_POSITION_VECTORS_H

#include "cases.h"

#include <math.h>

#include <cjson/cJSON.h>

#include "base/file.h"

static cJSON *vectors;

/* Reads the vectors of the cases on which the test runs. */
static inline void load_vectors(void) {
    cJSON_Delete(vectors);
    vectors = NULL;
    size_t size;
    char *text = file_read(need_case("reference/vectors.json"), 1 << 24, &size, NULL);
    assert_non_null(text);
    vectors = cJSON_ParseWithLength(text, size);
    free(text);
    assert_non_null(vectors);
}

static inline int free_vectors(void **state) {
    (void)state;
    cJSON_Delete(vectors);
    return 0;
}

static inline const cJSON *item(const cJSON *parent, const char *name) {
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(parent, name);
    if (!found) fail_msg("%s is not in vectors.json", name);
    return found;
}

/* Element n of an input array of the reference: sin(a n + b), a and b by its name. */
static inline double vector_input(const char *name, int64_t n) {
    const cJSON *seeds = item(item(item(vectors, "_about"), "seeds"), name);
    return sin(seeds->child->valuedouble * (double)n + seeds->child->next->valuedouble);
}

#endif
