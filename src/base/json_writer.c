#include "base/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/error.h"
#include "base/text.h"

static void append(JsonWriter *w, const char *text, size_t length) {
    if (w->capacity - w->length < length + 1) { /* room for the NUL */
        w->capacity = 2 * w->capacity + length + 64;
        w->text = reallocate(w->text, w->capacity, 1);
    }
    memcpy(w->text + w->length, text, length);
    w->length += length;
}

static void append_text(JsonWriter *w, const char *text) {
    append(w, text, strlen(text));
}

static void start_line(JsonWriter *w) {
    append_text(w, "\n");
    for (int i = 0; i < w->depth; i++) append_text(w, "  ");
}

/* What stands between the previous value and this one. */
static void separate(JsonWriter *w) {
    if (w->after_key || w->depth == 0) {
        w->after_key = false;
        return;
    }
    bool first = w->open[w->depth - 1].empty;
    w->open[w->depth - 1].empty = false;
    if (!first) append_text(w, ",");
    if (w->open[w->depth - 1].lines)
        start_line(w);
    else if (!first && !w->compact)
        append_text(w, " ");
}

static void begin(JsonWriter *w, const char *bracket, char closing, JsonLayout layout) {
    assert(w->depth < (int)(sizeof w->open / sizeof *w->open));
    separate(w);
    append_text(w, bracket);
    bool lines =
        layout == JSON_ON_LINES && !w->compact && (w->depth == 0 || w->open[w->depth - 1].lines);
    w->open[w->depth].closing = closing;
    w->open[w->depth].lines = lines;
    w->open[w->depth].empty = true;
    w->depth++;
}

void json_begin_object(JsonWriter *w, JsonLayout layout) {
    begin(w, "{", '}', layout);
}
void json_begin_array(JsonWriter *w, JsonLayout layout) {
    begin(w, "[", ']', layout);
}

void json_end(JsonWriter *w) {
    assert(w->depth > 0 && !w->after_key);
    w->depth--;
    if (w->open[w->depth].lines && !w->open[w->depth].empty) start_line(w);
    append(w, &w->open[w->depth].closing, 1);
}

/* The characters of a string; `point` is what utf8proc made of the `size` bytes at `at`. */
static void append_character(JsonWriter *w, const char *at, size_t size, int32_t point) {
    static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *name = point > 0 && point < 128 ? strchr(named, (int)point) : NULL;
    char escape[8];
    if (name) {
        snprintf(escape, sizeof escape, "\\%c", letters[name - named]);
        append_text(w, escape);
    } else if (point < 32) {
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned)point);
        append_text(w, escape);
    } else {
        append(w, at, size);
    }
}

void json_put_text(JsonWriter *w, const char *text, size_t length) {
    separate(w);
    append_text(w, "\"");
    for (size_t at = 0; at < length;) {
        utf8proc_int32_t point;
        utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                 (utf8proc_ssize_t)(length - at), &point);
        if (size < 1) {
            append_text(w, "\xEF\xBF\xBD"); /* U+FFFD */
            at++;
        } else {
            append_character(w, text + at, (size_t)size, point);
            at += (size_t)size;
        }
    }
    append_text(w, "\"");
}

void json_put_string(JsonWriter *w, const char *text) {
    json_put_text(w, text, strlen(text));
}

void json_key(JsonWriter *w, const char *key) {
    json_put_string(w, key);
    append_text(w, w->compact ? ":" : ": ");
    w->after_key = true;
}

void json_put_whole(JsonWriter *w, int64_t value) {
    char digits[32];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    separate(w);
    append_text(w, digits);
}

void json_put_real(JsonWriter *w, double value) {
    char digits[32];
    real_to_text(value, digits);
    separate(w);
    append_text(w, digits);
}

void json_put_bool(JsonWriter *w, bool value) {
    separate(w);
    append_text(w, value ? "true" : "false");
}

void json_put_null(JsonWriter *w) {
    separate(w);
    append_text(w, "null");
}

void json_member_string(JsonWriter *w, const char *key, const char *value) {
    json_key(w, key);
    json_put_string(w, value);
}

void json_member_whole(JsonWriter *w, const char *key, int64_t value) {
    json_key(w, key);
    json_put_whole(w, value);
}

void json_member_real(JsonWriter *w, const char *key, double value) {
    json_key(w, key);
    json_put_real(w, value);
}

void json_member_bool(JsonWriter *w, const char *key, bool value) {
    json_key(w, key);
    json_put_bool(w, value);
}

char *json_writer_finish(JsonWriter *w, size_t *length) {
    assert(w->depth == 0);
    if (!w->compact) append_text(w, "\n");
    append(w, "", 0);
    w->text[w->length] = '\0';
    if (length) *length = w->length;
    char *text = w->text;
    *w = (JsonWriter){.compact = w->compact};
    return text;
}

char *json_quote(const char *text) {
    JsonWriter writer = {.compact = true};
    json_put_string(&writer, text);
    return json_writer_finish(&writer, NULL);
}
