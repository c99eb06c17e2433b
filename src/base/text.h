/* Text that a user typed: UTF-8, numbers, intervals, and misspelled names. Used for
 * command lines and configs alike. Nothing here depends on the locale. */
#ifndef TINYLM_BASE_TEXT_H
#define TINYLM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes (at least 1) and the code point of the first character in `left` > 0 bytes of UTF-8. A byte
 * that begins no valid character counts as one, with the code point -1. */
size_t utf8_character(const void *text, size_t left, int32_t *code_point);

/* How many bytes at the start of a text are valid UTF-8: `length` when all of it is. */
size_t utf8_valid_length(const char *text, size_t length);

/* The columns that a text takes on a terminal: two for a wide character such as a Chinese one, none for
 * a combining mark. */
int text_columns(const char *text);

/* A decimal whole number, the text as a whole: "-12", "007". False for anything else (empty, blanks,
 * "+1", "1e3", "0x10", "3 apples") and for what does not fit. */
bool text_to_whole(const char *text, int64_t *value);

/* A decimal number: "-1.5", ".5", "1e-3". False for anything else ("inf", "nan", "0x1p3", "1,5", "")
 * and for what is too large for a double. */
bool text_to_real(const char *text, double *value);

/* Whether a number lies in an interval written as in mathematics: "[0, 1)", "(0, inf)". NaN lies in
 * none. The same text serves in messages and in --help. */
bool interval_contains(const char *interval, double value);

/* The shortest of the decimal forms with 15, 16 and 17 significant digits that reads back as the
 * same double; valid JSON. `text` holds at least 32 bytes. `value` must be finite. */
void real_to_text(double value, char *text);

/* The name nearest to `word` by edit distance (insertions, deletions, replacements and swapped
 * neighbours; case does not count), or NULL when none is near enough to be what was meant (one edit
 * per three letters, at least one). The first of several equally near ones. */
const char *nearest_name(const char *word, const char *const *names, int count);

#endif
