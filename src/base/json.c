#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

/* ---- tokens: what cJSON would let through ---- */

typedef struct Scanner {
    const char *text, *at; /* `text` ends in a NUL and has no other */
    const char *name;
    int64_t wanted_key; /* scanning stops in front of the key with this number; -1: never */
    Error *error;
} Scanner;

/* "file: line L, column C: what is wrong" for the place `at`. */
static bool scan_error(const Scanner *s, const char *at, const char *what) {
    size_t line = 1, column = 1;
    for (const char *c = s->text; c < at; c++) {
        if (*c == '\n')
            line++, column = 1;
        else if (((unsigned char)*c & 0xC0) != 0x80) /* a character, not the rest of one */
            column++;
    }
    return error_set(s->error, "%s: line %zu, column %zu: %s", s->name, line, column, what);
}

static bool scan_string(Scanner *s) {
    for (s->at++; *s->at != '"'; s->at++) {
        if (*s->at == '\0') return scan_error(s, s->at, "the text ends inside a string");
        if (*s->at == '\n' || *s->at == '\r')
            return scan_error(s, s->at, "a string must end on its own line");
        if ((unsigned char)*s->at < 32)
            return scan_error(s, s->at, "control character in a string");
        if (*s->at != '\\') continue;
        s->at++;
        if (*s->at == '\0' || !strchr("\"\\/bfnrtu", *s->at))
            return scan_error(s, s->at, "unknown escape in a string; a backslash is written \\\\");
        if (*s->at != 'u') continue;
        if (strspn(s->at + 1, "0123456789abcdefABCDEF") < 4)
            return scan_error(s, s->at + 1, "\\u needs four hexadecimal digits");
        if (memcmp(s->at, "u0000", 5) == 0)
            return scan_error(s, s->at + 1, "\\u0000 is not allowed: strings here end at a NUL");
    }
    s->at++;
    return true;
}

/* -? (0 | [1-9][0-9]*) (\.[0-9]+)? ([eE][+-]?[0-9]+)? */
static bool scan_number(Scanner *s) {
    static const char digits[] = "0123456789";
    const char *start = s->at, *c = start + (*start == '-');
    size_t whole = strspn(c, digits), some = whole;
    if (*c == '0' && whole > 1) return scan_error(s, c, "a number must not begin with 0");
    c += whole;
    if (some && *c == '.') c++, c += some = strspn(c, digits);
    if (some && (*c == 'e' || *c == 'E')) {
        c++;
        c += *c == '+' || *c == '-';
        c += some = strspn(c, digits);
    }
    if (!some) return scan_error(s, c, "a number needs a digit here");
    if (c - start > 63) /* cJSON would cut it */
        return scan_error(s, start, "a number of more than 63 characters");
    if (!isfinite(strtod(start, NULL))) return scan_error(s, start, "this number is too large");
    s->at = c;
    return true;
}

/* true, false or null; anything else is no token at all. */
static bool scan_word(Scanner *s) {
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(s->at, words[i], length) != 0) continue;
        s->at += length;
        return true;
    }
    if (*s->at == '/' || *s->at == '#') return scan_error(s, s->at, "JSON has no comments");
    return scan_error(
        s, s->at,
        "expected a key or text in double quotes, a number, true, false, null, {…} or […]");
}

/* Whether each token is sound, brackets are not too deep, no comma precedes a closing one and nothing
 * follows the value. The order of the tokens is left to cJSON. False with no error in front of the
 * wanted key. */
static bool scan_tokens(Scanner *s) {
    int64_t keys = 0;
    int depth = 0;
    char previous = '\0'; /* first character of the token before */
    while (*(s->at += strspn(s->at, " \t\r\n"))) {
        const char *start = s->at;
        if (previous && depth == 0)
            return scan_error(s, start, "unexpected text after the end of the JSON value");
        if (strchr("{}[],:", *start)) {
            depth += (*start == '{' || *start == '[') - (*start == '}' || *start == ']');
            if (depth > JSON_DEPTH_LIMIT)
                return scan_error(s, start, "brackets nested more than 64 deep");
            if (previous == ',' && (*start == '}' || *start == ']'))
                return scan_error(s, start, "no comma before a closing bracket");
            s->at++;
        } else if (*start == '"') {
            if (!scan_string(s)) return false;
            bool is_key = s->at[strspn(s->at, " \t\r\n")] == ':';
            if (is_key && keys++ == s->wanted_key) {
                s->at = start;
                return false;
            }
        } else if (*start == '-' || (*start >= '0' && *start <= '9')) {
            if (!scan_number(s)) return false;
        } else if (!scan_word(s)) {
            return false;
        }
        previous = *start;
    }
    return true;
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

/* ---- parsing ---- */

/* What concerns bytes and not JSON. */
static bool check_encoding(const Scanner *s, size_t length) {
    if (length >= 2 && (memcmp(s->text, "\xFF\xFE", 2) == 0 || memcmp(s->text, "\xFE\xFF", 2) == 0))
        return error_set(s->error, "%s: is UTF-16 text; save it as UTF-8", s->name);
    size_t nul = strlen(s->text), valid = utf8_valid_length(s->text, nul);
    if (valid < nul)
        return scan_error(s, s->text + valid, "not valid UTF-8; save the file as UTF-8");
    return nul == length || scan_error(s, s->text + nul, "a NUL byte; JSON is text");
}

static bool structure_error(const Scanner *s, const char *at) {
    if (*at == '\0' || at[1] == '\0')
        return scan_error(s, *at ? at + 1 : at,
                          "the text ends too early; a value, a } or a ] is missing");
    if (*at == '\\') return scan_error(s, at, "half of a surrogate pair without the other");
    return scan_error(s, at, "a comma, a colon, a key or a value is missing or misplaced here");
}

static cJSON *parse(Scanner *s, size_t length) {
    if (!check_encoding(s, length)) return NULL;
    if (strncmp(s->text, "\xEF\xBB\xBF", 3) == 0) s->text += 3; /* the byte order mark */
    s->at = s->text;
    if (s->text[strspn(s->text, " \t\r\n")] == '\0') {
        error_set(s->error, "%s: is empty; a JSON value is needed here", s->name);
        return NULL;
    }
    if (!scan_tokens(s)) return NULL;
    const char *end = s->text;
    cJSON *root = cJSON_ParseWithOpts(s->text, &end, false);
    if (!root) {
        structure_error(s, end);
        return NULL;
    }
    Key duplicate;
    int64_t number = 0;
    if (!find_duplicate(root, &number, &duplicate)) return root;
    s->at = s->text;
    s->wanted_key = duplicate.number;
    scan_tokens(s);
    char *what = string_format("the key \"%.100s\" is here for the second time", duplicate.text);
    scan_error(s, s->at, what);
    free(what);
    cJSON_Delete(root);
    return NULL;
}

cJSON *json_parse(const char *text, size_t length, const char *name, Error *error) {
    char *copy = allocate(length + 1, 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    Scanner scanner = {.text = copy, .name = name, .wanted_key = -1, .error = error};
    cJSON *root = parse(&scanner, length);
    free(copy);
    return root;
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

/* ---- printing ---- */

static void print_string(FILE *stream, char *text) {
    cJSON node = {.type = cJSON_String, .valuestring = text};
    char *quoted = cJSON_PrintUnformatted(&node), *at = quoted;
    for (size_t left = strlen(at); left > 0;) {
        size_t valid = utf8_valid_length(at, left), bad = valid < left;
        fwrite(at, 1, valid, stream);
        if (bad) fputs("\xEF\xBF\xBD", stream); /* U+FFFD */
        at += valid + bad;
        left -= valid + bad;
    }
    cJSON_free(quoted);
}

static void print_node(FILE *stream, const cJSON *node, int levels, int depth) {
    char digits[32];
    bool object = cJSON_IsObject(node), lines = levels > depth && node->child;
    if (cJSON_IsNumber(node)) {
        real_to_text(node->valuedouble, digits);
        fputs(digits, stream);
    } else if (cJSON_IsString(node)) {
        print_string(stream, node->valuestring);
    } else if (!object && !cJSON_IsArray(node)) {
        fputs(cJSON_IsNull(node) ? "null" : cJSON_IsTrue(node) ? "true" : "false", stream);
    } else {
        if (!object && lines) lines = cJSON_IsObject(node->child) || cJSON_IsArray(node->child);
        fputc(object ? '{' : '[', stream);
        for (const cJSON *item = node->child; item; item = item->next) {
            if (lines) fprintf(stream, "\n%*s", 2 * (depth + 1), "");
            if (object) print_string(stream, item->string), fputs(": ", stream);
            print_node(stream, item, levels, depth + 1);
            if (item->next) fputs(lines ? "," : ", ", stream);
        }
        if (lines) fprintf(stream, "\n%*s", 2 * depth, "");
        fputc(object ? '}' : ']', stream);
    }
}

char *json_to_text(const cJSON *tree, int levels) {
    char *text;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (!stream) out_of_memory(1, 1);
    print_node(stream, tree, levels, 0);
    if (levels > 0) fputc('\n', stream);
    if (fclose(stream) != 0) out_of_memory(length, 1);
    return text;
}

char *json_finish(cJSON *tree, int levels) {
    char *text = json_to_text(tree, levels);
    cJSON_Delete(tree);
    return text;
}
