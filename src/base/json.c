#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

/* ---- the grammar ---- */

typedef struct Scanner {
    const char *text, *name;
    size_t length, at;
    char closing[JSON_DEPTH_LIMIT]; /* the bracket that ends each open object or array */
    int depth;
    int64_t key, wanted_key; /* keys seen so far; scanning stops in front of number `wanted_key` */
    Error *error;
} Scanner;

/* "file: line L, column C: what is wrong"; the place is where the scanner stands. */
static bool scan_error(const Scanner *s, const char *what) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < s->at && i < s->length; i++) {
        if (s->text[i] == '\n')
            line++, column = 1;
        else if (((unsigned char)s->text[i] & 0xC0) != 0x80) /* not the rest of a character */
            column++;
    }
    if (line == 1 && s->length >= 3 && memcmp(s->text, "\xEF\xBB\xBF", 3) == 0 && column > 1)
        column--; /* no editor counts the byte order mark */
    return error_set(s->error, "%s: line %zu, column %zu: %s", s->name, line, column, what);
}

static char scan_peek(const Scanner *s) {
    return s->at < s->length ? s->text[s->at] : '\0';
}

static void scan_space(Scanner *s) {
    while (s->at < s->length && strchr(" \t\r\n", s->text[s->at])) s->at++;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The four hex digits of a \u escape at `at`, or -1. */
static int scan_code_unit(const Scanner *s, size_t at) {
    if (s->length - at < 4) return -1;
    int unit = 0;
    for (size_t i = at; i < at + 4; i++) {
        int digit = hex_digit(s->text[i]);
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* From the character after "\u". */
static bool scan_unicode_escape(Scanner *s) {
    int unit = scan_code_unit(s, s->at);
    if (unit < 0) return scan_error(s, "\\u needs four hexadecimal digits");
    if (unit == 0) return scan_error(s, "\\u0000 is not allowed: strings here end at a NUL");
    if (unit >= 0xDC00 && unit < 0xE000)
        return scan_error(s, "second half of a surrogate pair without the first");
    s->at += 4;
    if (unit < 0xD800 || unit >= 0xDC00) return true;
    int second = -1;
    if (s->length - s->at >= 6 && s->text[s->at] == '\\' && s->text[s->at + 1] == 'u')
        second = scan_code_unit(s, s->at + 2);
    if (second < 0xDC00 || second >= 0xE000)
        return scan_error(s, "first half of a surrogate pair without the second");
    s->at += 6;
    return true;
}

static bool scan_string(Scanner *s) {
    for (s->at++; s->at < s->length; s->at++) {
        char c = s->text[s->at];
        if (c == '"') {
            s->at++;
            return true;
        }
        if ((unsigned char)c < 32)
            return scan_error(s, c == '\n' || c == '\r' ? "a string must end on its own line"
                                                        : "control character in a string");
        if (c != '\\') continue;
        s->at++;
        if (scan_peek(s) == 'u') {
            s->at++;
            if (!scan_unicode_escape(s)) return false;
            s->at--;
        } else if (s->at >= s->length || !strchr("\"\\/bfnrt", s->text[s->at])) {
            return scan_error(s, "unknown escape in a string; a backslash is written \\\\");
        }
    }
    return scan_error(s, "the text ends inside a string");
}

static bool scan_digits(Scanner *s) {
    if (!is_digit(scan_peek(s))) return scan_error(s, "a number needs a digit here");
    while (is_digit(scan_peek(s))) s->at++;
    return true;
}

static bool scan_number(Scanner *s) {
    char digits[64]; /* the size of cJSON's own buffer: it silently cuts what is longer */
    size_t start = s->at;
    if (scan_peek(s) == '-') s->at++;
    if (scan_peek(s) == '0' && s->at + 1 < s->length && is_digit(s->text[s->at + 1]))
        return scan_error(s, "a number must not begin with 0");
    if (!scan_digits(s)) return false;
    if (scan_peek(s) == '.') {
        s->at++;
        if (!scan_digits(s)) return false;
    }
    if (scan_peek(s) == 'e' || scan_peek(s) == 'E') {
        s->at++;
        if (scan_peek(s) == '+' || scan_peek(s) == '-') s->at++;
        if (!scan_digits(s)) return false;
    }
    size_t length = s->at - start;
    if (length >= sizeof digits) {
        s->at = start;
        return scan_error(s, "a number of more than 63 characters");
    }
    memcpy(digits, s->text + start, length);
    digits[length] = '\0';
    if (isfinite(strtod(digits, NULL))) return true;
    s->at = start;
    return scan_error(s, "this number is too large");
}

static bool scan_word(Scanner *s, const char *word) {
    size_t length = strlen(word);
    if (s->length - s->at < length || memcmp(s->text + s->at, word, length) != 0) return false;
    s->at += length;
    return true;
}

static bool scan_scalar(Scanner *s) {
    char c = scan_peek(s);
    if (c == '"') return scan_string(s);
    if (c == '-' || is_digit(c)) return scan_number(s);
    if (scan_word(s, "true") || scan_word(s, "false") || scan_word(s, "null")) return true;
    if (s->at >= s->length) return scan_error(s, "the text ends where a value is needed");
    if (c == ',') return scan_error(s, "a value is missing before this comma");
    if (c == ']' || c == '}')
        return scan_error(s, "a value is missing here; no comma before a closing bracket");
    if (c == '/' || c == '#') return scan_error(s, "JSON has no comments");
    if (c == '+' || c == '.') return scan_error(s, "a number begins with a digit or a minus sign");
    return scan_error(
        s, "expected a value: \"text\" in double quotes, a number, true, false, {…} or […]");
}

/* `"key" :`. Stops with false and no error in front of the wanted key. */
static bool scan_key(Scanner *s) {
    if (s->at >= s->length) return scan_error(s, "the text ends inside an object; } is missing");
    if (scan_peek(s) == '}') return scan_error(s, "no comma before a closing bracket");
    if (scan_peek(s) != '"') return scan_error(s, "expected a key in double quotes");
    if (s->key++ == s->wanted_key) return false;
    if (!scan_string(s)) return false;
    scan_space(s);
    if (scan_peek(s) != ':') return scan_error(s, "expected a colon after the key");
    s->at++;
    return true;
}

static bool scan_after_value(Scanner *s, bool *expect_key) {
    char closing = s->closing[s->depth - 1];
    char c = scan_peek(s);
    if (c == closing) {
        s->depth--;
    } else if (c == ',') {
        *expect_key = closing == '}';
    } else if (s->at >= s->length) {
        return scan_error(s, closing == '}' ? "the text ends inside an object; } is missing"
                                            : "the text ends inside an array; ] is missing");
    } else {
        return scan_error(s, closing == '}' ? "expected a comma or }" : "expected a comma or ]");
    }
    s->at++;
    return true;
}

/* One value with everything in it; the open brackets are on a stack of our own, so that hostile
 * nesting costs no stack of the processor. */
static bool scan_value(Scanner *s) {
    bool expect_key = false;
    for (;;) {
        scan_space(s);
        if (expect_key && !scan_key(s)) return false;
        expect_key = false;
        scan_space(s);
        char c = scan_peek(s);
        if (c == '{' || c == '[') {
            if (s->depth == JSON_DEPTH_LIMIT)
                return scan_error(s, "brackets nested more than 64 deep");
            char closing = s->closing[s->depth++] = c == '{' ? '}' : ']';
            s->at++;
            scan_space(s);
            if (scan_peek(s) != closing) {
                expect_key = c == '{';
                continue;
            }
        } else if (!scan_scalar(s)) {
            return false;
        }
        /* A value is complete: close what ends here, until another member follows. */
        int depth;
        do {
            if ((depth = s->depth) == 0) return true;
            scan_space(s);
            if (!scan_after_value(s, &expect_key)) return false;
        } while (s->depth < depth);
    }
}

/* Everything that concerns bytes and not grammar. Leaves the scanner behind a byte order mark. */
static bool scan_encoding(Scanner *s) {
    const char *text = s->text;
    if (s->length >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
        return error_set(s->error, "%s: is UTF-16 text; save it as UTF-8", s->name);
    const char *nul = s->length ? memchr(text, '\0', s->length) : NULL;
    if (nul) {
        s->at = (size_t)(nul - text);
        return scan_error(s, "a NUL byte; JSON is text");
    }
    s->at = utf8_valid_length(text, s->length);
    if (s->at < s->length) return scan_error(s, "not valid UTF-8; save the file as UTF-8");
    s->at = s->length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    return true;
}

static bool scan_document(Scanner *s) {
    if (!scan_encoding(s)) return false;
    scan_space(s);
    if (s->at == s->length)
        return error_set(s->error, "%s: is empty; a JSON value is needed here", s->name);
    if (!scan_value(s)) return false;
    scan_space(s);
    return s->at == s->length || scan_error(s, "unexpected text after the end of the JSON value");
}

/* ---- duplicate keys ---- */

typedef struct Key {
    const char *text;
    int64_t number; /* in the order of the document, so that the scanner can find its place */
} Key;

static int compare_keys(const void *a, const void *b) {
    const Key *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* Finds the first object with two equal keys. `number` counts the keys passed. Sorting keeps this
 * fast for vocabularies of many thousand entries. */
static bool find_duplicate(const cJSON *node, int64_t *number, Key *duplicate) {
    bool found = false;
    int64_t count = 0;
    Key *keys = NULL;
    if (cJSON_IsObject(node))
        keys = allocate((unsigned long long)cJSON_GetArraySize(node), sizeof *keys);
    for (const cJSON *child = node->child; child && !found; child = child->next) {
        if (keys) keys[count++] = (Key){child->string, (*number)++};
        if (child->child) found = find_duplicate(child, number, duplicate);
    }
    if (keys && !found) qsort(keys, (size_t)count, sizeof *keys, compare_keys);
    for (int64_t i = 1; i < count && !found; i++) {
        if (strcmp(keys[i - 1].text, keys[i].text) == 0) {
            *duplicate = keys[i];
            found = true;
        }
    }
    free(keys);
    return found;
}

/* ---- the public side ---- */

cJSON *json_parse(const char *text, size_t length, const char *name, Error *error) {
    Scanner scanner = {
        .text = text, .name = name, .length = length, .wanted_key = -1, .error = error};
    if (!scan_document(&scanner)) return NULL;
    size_t mark = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    cJSON *root = cJSON_ParseWithLength(text + mark, length - mark);
    if (!root) {
        error_set(error, "%s: out of memory while reading JSON", name);
        return NULL;
    }
    Key duplicate;
    int64_t number = 0;
    if (!find_duplicate(root, &number, &duplicate)) return root;
    Scanner again = {.text = text,
                     .name = name,
                     .length = length,
                     .at = mark,
                     .wanted_key = duplicate.number,
                     .error = error};
    scan_value(&again);
    char *what = string_format("the key \"%.100s\" is here for the second time", duplicate.text);
    scan_error(&again, what);
    free(what);
    cJSON_Delete(root);
    return NULL;
}

cJSON *json_read(const char *path, size_t limit, Error *error) {
    size_t length;
    char *text = file_read(path, limit, &length, error);
    if (!text) return NULL;
    cJSON *root = json_parse(text, length, strcmp(path, "-") == 0 ? "standard input" : path, error);
    free(text);
    return root;
}

cJSON *json_get(const cJSON *object, const char *key) {
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

bool json_whole(const cJSON *node, int64_t *value) {
    if (!cJSON_IsNumber(node) || fabs(node->valuedouble) > (double)JSON_WHOLE_LIMIT ||
        floor(node->valuedouble) != node->valuedouble)
        return false;
    *value = (int64_t)node->valuedouble;
    return true;
}
