#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

size_t utf8_character(const void *text, size_t left, int32_t *code_point) {
    utf8proc_ssize_t size = utf8proc_iterate(text, (utf8proc_ssize_t)left, code_point);
    if (size < 1) *code_point = -1;
    return size < 1 ? 1 : (size_t)size;
}

size_t utf8_valid_length(const char *text, size_t length) {
    int32_t point;
    for (size_t at = 0, size; at < length; at += size) {
        size = utf8_character(text + at, length - at, &point);
        if (point < 0) return at;
    }
    return length;
}

int text_columns(const char *text) {
    int columns = 0;
    int32_t point;
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        size = utf8_character(text, left, &point);
        columns += point < 0 ? 1 : utf8proc_charwidth(point);
    }
    return columns;
}

/* strtoll and strtod also take blanks, a plus, hexadecimal numbers, infinities and NaN. */
bool text_to_whole(const char *text, int64_t *value) {
    if (!isdigit((unsigned char)text[*text == '-'])) return false;
    char *end;
    errno = 0;
    long long result = strtoll(text, &end, 10);
    if (*end || errno) return false;
    *value = result;
    return true;
}

bool text_to_real(const char *text, double *value) {
    if (text[strspn(text, "0123456789.eE+-")] || *text == '+') return false;
    char *end;
    double result = strtod(text, &end);
    if (end == text || *end || !isfinite(result)) return false;
    *value = result;
    return true;
}

bool interval_contains(const char *interval, double value) {
    char open, close;
    double low, high;
    int fields = sscanf(interval, "%c%lf, %lf%c", &open, &low, &high, &close);
    assert(fields == 4);
    (void)fields;
    return (open == '[' ? value >= low : value > low) &&
           (close == ']' ? value <= high : value < high);
}

void real_to_text(double value, char *text) {
    assert(isfinite(value));
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value) return;
    }
}

enum { LONGEST_NAME = 63 }; /* no name is longer, so a longer word is no misspelling */

static int smaller(int a, int b) {
    return a < b ? a : b;
}

static bool same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Edit distance with swaps of neighbours (Damerau 1964, the restricted form), over the whole table. */
static int edit_distance(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b);
    int table[LONGEST_NAME + 1][LONGEST_NAME + 1];
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            int best = i + j; /* one of the two is empty */
            if (i > 0 && j > 0) {
                best = table[i - 1][j - 1] + !same_letter(a[i - 1], b[j - 1]);
                best = smaller(best, 1 + smaller(table[i - 1][j], table[i][j - 1]));
            }
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]))
                best = smaller(best, table[i - 2][j - 2] + 1);
            table[i][j] = best;
        }
    return table[n][m];
}

const char *nearest_name(const char *word, const char *const *names, int count) {
    const char *nearest = NULL;
    size_t length = strlen(word);
    if (length > LONGEST_NAME) return NULL;
    int best = length < 6 ? 2 : (int)(length / 3) + 1;
    for (int i = 0; i < count; i++) {
        int distance = strlen(names[i]) > LONGEST_NAME ? best : edit_distance(word, names[i]);
        if (distance < best) nearest = names[i];
        best = smaller(best, distance);
    }
    return nearest;
}
