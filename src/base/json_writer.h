/* Writes JSON, a value at a time, into memory:
 *
 *     JsonWriter writer = {0};
 *     json_begin_object(&writer, JSON_ON_ONE_LINE);
 *     json_key(&writer, "shape"), json_begin_array(&writer, JSON_ON_ONE_LINE);
 *     json_put_whole(&writer, 3);
 *     json_end(&writer), json_end(&writer);
 *     char *text = json_writer_finish(&writer, NULL);         // {"shape": [3]}
 *
 * Commas, line ends and indentation are the writer's business. */
#ifndef TINYLM_BASE_JSON_WRITER_H
#define TINYLM_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct JsonWriter {
    char *text;
    size_t length, capacity;
    struct {
        char closing; /* } or ] */
        bool lines;   /* one member a line */
        bool empty;
    } open[64];
    int depth;
    bool after_key;
    bool compact; /* set by the caller: no blanks and line ends at all */
} JsonWriter;

/* How the members of an object or array are laid out; inside JSON_ON_ONE_LINE everything is. */
typedef enum JsonLayout { JSON_ON_ONE_LINE, JSON_ON_LINES } JsonLayout;

void json_begin_object(JsonWriter *writer, JsonLayout layout);
void json_begin_array(JsonWriter *writer, JsonLayout layout);
void json_end(JsonWriter *writer); /* closes the innermost object or array */
void json_key(JsonWriter *writer, const char *key);

void json_put_string(JsonWriter *writer, const char *text);
/* The same for text that is not a C string. Bytes that are not UTF-8 become U+FFFD, so that the
 * result is always JSON. */
void json_put_text(JsonWriter *writer, const char *text, size_t length);
void json_put_whole(JsonWriter *writer, int64_t value);
void json_put_real(JsonWriter *writer, double value); /* finite; shortest form that reads back */
void json_put_bool(JsonWriter *writer, bool value);
void json_put_null(JsonWriter *writer);

/* A member of an object: key and value in one call. */
void json_member_string(JsonWriter *writer, const char *key, const char *value);
void json_member_whole(JsonWriter *writer, const char *key, int64_t value);
void json_member_real(JsonWriter *writer, const char *key, double value);
void json_member_bool(JsonWriter *writer, const char *key, bool value);

/* The finished text (ends in a NUL that `length` does not count; a line end follows the value unless
 * compact); the caller frees it. `length` may be NULL. The writer is empty again. */
char *json_writer_finish(JsonWriter *writer, size_t *length);

/* One string as JSON, quotes included, to be freed: for a file name in a --set value. */
char *json_quote(const char *text);

#endif
