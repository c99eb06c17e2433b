#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

size_t utf8_valid_length(const char *text, size_t length) {
    size_t at = 0;
    while (at < length) {
        utf8proc_int32_t point;
        utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                 (utf8proc_ssize_t)(length - at), &point);
        if (size < 1) break;
        at += (size_t)size;
    }
    return at;
}

int text_columns(const char *text) {
    int columns = 0;
    for (size_t left = strlen(text); left > 0;) {
        utf8proc_int32_t point;
        utf8proc_ssize_t size =
            utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)left, &point);
        columns += size < 1 ? 1 : utf8proc_charwidth(point);
        text += size < 1 ? 1 : size;
        left -= size < 1 ? 1 : (size_t)size;
    }
    return columns;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool text_to_whole(const char *text, int64_t *value) {
    bool negative = *text == '-';
    text += negative;
    if (!is_digit(*text)) return false;
    int64_t result = 0;
    for (; is_digit(*text); text++) {
        int digit = *text - '0';
        /* Counted downwards when negative, because -2^63 has no positive twin. */
        if (__builtin_mul_overflow(result, 10, &result) ||
            __builtin_add_overflow(result, negative ? -digit : digit, &result))
            return false;
    }
    if (*text) return false;
    *value = result;
    return true;
}

bool text_to_real(const char *text, double *value) {
    const char *at = text + (*text == '-');
    int digits = 0;
    for (; is_digit(*at); at++) digits++;
    if (*at == '.')
        for (at++; is_digit(*at); at++) digits++;
    if (digits == 0) return false;
    if (*at == 'e' || *at == 'E') {
        at++;
        if (*at == '-' || *at == '+') at++;
        if (!is_digit(*at)) return false;
        while (is_digit(*at)) at++;
    }
    if (*at) return false;
    double result = strtod(text, NULL);
    if (!isfinite(result)) return false;
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

enum { LONGEST_NAME = 63 }; /* longer words are nobody's slip of the finger */

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* Edit distance with swaps of neighbours (Damerau 1964, the restricted form), over the whole table. */
static int edit_distance(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b);
    int table[LONGEST_NAME + 1][LONGEST_NAME + 1];
    for (int i = 0; i <= n; i++) {
        for (int j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            int best = table[i - 1][j - 1] + !same;
            best = smaller(best, 1 + smaller(table[i - 1][j], table[i][j - 1]));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                best = smaller(best, table[i - 2][j - 2] + 1);
            table[i][j] = best;
        }
    }
    return table[n][m];
}

const char *nearest_name(const char *word, const char *const *names, int count) {
    const char *nearest = NULL;
    size_t length = strlen(word);
    if (length > LONGEST_NAME) return NULL;
    int best = length < 6 ? 2 : (int)(length / 3) + 1;
    for (int i = 0; i < count; i++) {
        if (strlen(names[i]) > LONGEST_NAME) continue;
        int distance = edit_distance(word, names[i]);
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
