/* Strict JSON (RFC 8259) on cJSON. A file that a person wrote by hand deserves to hear about its
 * mistakes, and cJSON lets some of them through: text after the value, "01", "1.", infinities,
 * duplicate keys, raw line ends in strings, a NUL that cuts a string short. So the text is checked
 * against the grammar first, without recursion, and only a clean one reaches cJSON.
 *
 * Accepted beyond the RFC: a byte order mark at the start. Line ends may be LF or CRLF. */
#ifndef TINYLM_BASE_JSON_H
#define TINYLM_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { JSON_DEPTH_LIMIT = 64 }; /* objects and arrays inside each other */
#define JSON_WHOLE_LIMIT                                                                           \
    ((1LL << 53) - 1) /* cJSON keeps doubles: larger whole numbers are refused */

/* Reads a file of at most `limit` bytes ("-": standard input) that holds one JSON value. Errors
 * name file, line and column (in characters, both from 1). Free with cJSON_Delete. */
cJSON *json_read(const char *path, size_t limit, Error *error);

/* The same from memory, which need not end in a NUL; `name` stands for the file in messages. */
cJSON *json_parse(const char *text, size_t length, const char *name, Error *error);

/* The member of an object with exactly this key (case counts), or NULL; also when `object` is NULL
 * or no object. */
cJSON *json_get(const cJSON *object, const char *key);

/* The value of a whole number ("1e3" is one, "10.5" is not) of at most JSON_WHOLE_LIMIT either way;
 * false for every other node. */
bool json_whole(const cJSON *node, int64_t *value);

#endif
