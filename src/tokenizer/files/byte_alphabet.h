/* The byte alphabet of GPT-2: every byte has a visible character that stands for it in vocab.json and
 * merges.txt, where spaces and control characters would be ambiguous. Printable ASCII and most of
 * Latin-1 stand for themselves; the other 68 bytes, in order, are U+0100, U+0101, …: a space is "Ġ",
 * a newline "Ċ". */
#ifndef TINYLM_TOKENIZER_BYTE_ALPHABET_H
#define TINYLM_TOKENIZER_BYTE_ALPHABET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes spelt in the alphabet, as UTF-8; to be freed. */
char *byte_alphabet_text(const uint8_t *bytes, size_t length);

/* The bytes that a text in the alphabet stands for (`out` has room for `length`). False if some
 * character is not in the alphabet. */
bool byte_alphabet_read(const char *text, size_t length, uint8_t *out, size_t *out_length);

#endif
