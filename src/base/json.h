/* JSON (RFC 8259) on cJSON, which parses and prints. cJSON is lenient: it accepts "01", "1.", infinities,
 * control characters, a NUL that cuts a string short, duplicate keys and text after the value.
 * json_parse reports these mistakes itself.
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

/* The text of a tree, for the caller to free. In the outer `levels` levels of objects and arrays each
 * member has its own line; what lies deeper, and every array of plain values, stays on one line. With
 * levels > 0 a line end follows the value. Numbers are printed so that they read back exactly; bytes
 * that are not UTF-8 become U+FFFD. json_finish also deletes the tree. */
char *json_to_text(const cJSON *tree, int levels);
char *json_finish(cJSON *tree, int levels);

#endif
