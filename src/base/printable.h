/* Text from files and models on its way to a person. Left out of it are control characters (C0, DEL
 * and C1: what a terminal obeys), what is not UTF-8 or no character (U+FFFE, U+FFFF), and those that
 * reorder a line (U+202A to U+202E, U+2066 to U+2069). Files get their text byte for byte, not through here. */
#ifndef TINYLM_BASE_PRINTABLE_H
#define TINYLM_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The bytes (at least 1) of the first character of a text of `left` bytes, and whether it can be
 * shown. A byte that begins no valid UTF-8 counts as one that cannot. */
size_t printable_character(const void *text, size_t left, bool *printable);

/* Replaces each character that cannot be shown by '?', in place. */
void text_clean(char *text);

/* Prints one line of up to 8191 bytes, printf style, and its end; what cannot be shown is '?'. For
 * everything that names something from a file. */
void print_line(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints what cannot be shown as \n or \x1b. */
void print_escaped(FILE *stream, const void *bytes, size_t length);
/* The same between quotes, so that each byte can be told: \" and \\ get a backslash. */
void print_quoted(FILE *stream, const void *bytes, size_t length);

/* Prints text as it is; but to stdout when that is a terminal, '?' for what cannot be shown (line
 * ends and tabs can, carriage returns vanish). */
void print_text(FILE *stream, const void *bytes, size_t length);

#endif
