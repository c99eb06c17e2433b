/* Cuts text into pre-tokens, the pieces that BPE never merges across, by the pattern of GPT-2:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * In words: a contraction's end; a run of letters, of numbers or of other characters, each with one
 * space before it if there is one; a run of white space. A run of white space that something follows
 * leaves its last character out: a space then belongs to what follows, anything else is a piece of
 * its own. Invalid UTF-8 counts as "other", byte by byte.
 *
 * No regular expression engine: the first characters decide which alternative applies, so a piece
 * is found by walking one run. Source: Radford et al. 2019 and the handout, §2.4. */
#ifndef TINYLM_TOKENIZER_PRETOKENIZER_H
#define TINYLM_TOKENIZER_PRETOKENIZER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tokenizer/unicode.h"

/* Length of the pre-token at the beginning of `text`, which ends at `end` (text < end; unicode_start
 * has been called). `end` counts as the end of the text: only there does a run of white space keep
 * its last character. */
static inline size_t pretoken_length(const uint8_t *text, const uint8_t *end);
size_t pretoken_length_any(const uint8_t *text,
                           const uint8_t *end); /* the same, without the short cut */

/* A pre-token found this far (bytes) before the end of a buffer stays what it is whatever follows. */
enum { PRETOKEN_LOOKAHEAD = 8 };

/* The class of the run that the pre-token at `text` consists of, not counting a leading space. */
CharacterClass pretoken_class(const uint8_t *text, const uint8_t *end);
/* Where the run of characters of one class that begins at `text` ends. */
const uint8_t *pretoken_run_end(CharacterClass class, const uint8_t *text, const uint8_t *end);

/* The first place at or after `at` where the text may be cut without changing its pre-tokens: before
 * white space that follows something else. `end` when there is none. `begin` is where the text
 * begins (to look at the character before). Special tokens are not considered. */
const uint8_t *pretoken_cut(const uint8_t *begin, const uint8_t *at, const uint8_t *end);

/* ---- the short cut: an ASCII word of up to 7 letters, perhaps after a space ---- */

/* Eight bytes as one number, the first one lowest. */
static inline uint64_t pretoken_load(const uint8_t *text) {
    uint64_t word;
    memcpy(&word, text, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Sets the top bit of every byte that is not an ASCII letter; all eight at once. Adding 0x80 - 'a'
 * carries into the top bit from 'a' on, adding 0x7F - 'z' from after 'z' on. */
static inline uint64_t pretoken_not_letters(uint64_t word) {
    const uint64_t ones = 0x0101010101010101u, top = 0x80 * ones;
    uint64_t lower = (word | 0x20 * ones) & ~top;
    uint64_t from_a = lower + (0x80 - 'a') * ones, after_z = lower + (0x7F - 'z') * ones;
    return (~from_a | after_z | word) & top;
}

static inline size_t pretoken_length(const uint8_t *text, const uint8_t *end) {
    if (end - text >= 16) {
        size_t space = *text == ' ';
        uint64_t stops = pretoken_not_letters(pretoken_load(text + space));
        size_t letters = stops ? (size_t)__builtin_ctzll(stops) / 8 : 0;
        /* A byte above ASCII at the end may belong to one more letter. */
        if (letters > 0 && text[space + letters] < 0x80) return space + letters;
    }
    return pretoken_length_any(text, end);
}

#endif
