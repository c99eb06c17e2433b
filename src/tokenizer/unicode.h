/* What the pre-tokenizer must know about Unicode: where a character ends in UTF-8, and whether it is
 * a letter, a number or white space. The classes come from utf8proc, once, into a table of a few
 * kilobytes; no locale and no ctype takes part. */
#ifndef TINYLM_TOKENIZER_UNICODE_H
#define TINYLM_TOKENIZER_UNICODE_H

#include <stddef.h>
#include <stdint.h>

/* The classes of the GPT-2 pattern: \p{L}, \p{N}, \s and everything else. Marks (a combining accent)
 * are "other", as in the pattern. */
typedef enum CharacterClass { CLASS_OTHER, CLASS_LETTER, CLASS_NUMBER, CLASS_SPACE } CharacterClass;

/* Fills the tables; call before anything below. Cheap when it has been done; any thread may call. */
void unicode_start(void);

/* What the pattern of GPT-4o distinguishes: \p{Lu} and \p{Lt} are upper case, \p{Ll} is lower case, other
 * letters and marks (\p{Lm}, \p{Lo}, \p{M}) go with either. */
typedef enum CharacterCase { CASE_NONE, CASE_UPPER, CASE_LOWER, CASE_EITHER } CharacterCase;

/* The version of the Unicode data in use, e.g. "15.0.0". */
const char *unicode_version(void);

/* Class of a code point; above 0x10FFFF: other. */
CharacterClass unicode_class(uint32_t code_point);
CharacterCase unicode_case(uint32_t code_point);

/* Classes of the 128 ASCII characters, and CLASS_OTHER for the bytes above (whose class depends on
 * the character they belong to). */
extern uint8_t unicode_ascii_class[256];

#define UNICODE_INVALID UINT32_MAX

/* Length in bytes (1 to 4) of the character that starts at `text`, which ends at `end` (text < end).
 * `code_point` gets its number. An ill-formed sequence (Unicode 15, table 3-7: no overlong forms, no
 * surrogates, nothing above 10FFFF) gives UNICODE_INVALID and the length of its maximal subpart:
 * the longest prefix that could have begun a character, at least 1. That is the unit which becomes
 * one U+FFFD when decoding (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts"). */
size_t unicode_decode(const uint8_t *text, const uint8_t *end, uint32_t *code_point);

/* Number of bytes at the end of the text that begin a character but do not complete it (0 to 3).
 * More bytes could make them well-formed; a streaming decoder holds them back. The beginning
 * of an encoded surrogate counts too: it cannot become well-formed, but its three bytes stay
 * together, as in Python's incremental decoder. */
size_t unicode_unfinished(const uint8_t *text, size_t length);

/* UTF-8 of a code point (not a surrogate, at most 10FFFF); returns the length, 1 to 4. */
size_t unicode_encode(uint32_t code_point, uint8_t out[4]);

#endif
