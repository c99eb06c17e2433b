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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tokenizer/unicode.h"

/* Length of the pre-token at the beginning of `text`, which ends at `end` (text < end; unicode_start
 * has been called). `end` counts as the end of the text: only there does a run of white space keep
 * its last character. */
size_t pretoken_length(const uint8_t *text, const uint8_t *end);

/* A pre-token found this far (bytes) before the end of a buffer stays what it is whatever follows. */
enum { PRETOKEN_LOOKAHEAD = 8 };

/* The class of the run that the pre-token at `text` consists of, not counting a leading space. */
CharacterClass pretoken_class(const uint8_t *text, const uint8_t *end);
/* Where the run of characters of one class that begins at `text` ends. */
const uint8_t *pretoken_run_end(CharacterClass class, const uint8_t *text, const uint8_t *end);

/* ---- other patterns ----
 *
 * Tokenizers of other programs cut text in other ways; training always uses GPT-2's. A way is one value
 * in one table (splits/pretokenizers.c). */
typedef struct Pretokenizer {
    const char *name;
    const char *pattern; /* as a Split in tokenizer.json writes it; NULL: ByteLevel has its own */
    bool digits;         /* in tokenizer.json, Digits goes before ByteLevel */
    bool joins_newlines; /* a pre-token may end with newlines after something else */
    size_t (*length)(const uint8_t *text, const uint8_t *end); /* as pretoken_length */
} Pretokenizer;

extern const Pretokenizer pretokenizers[];
enum {
    PRETOKENIZER_GPT2,
    PRETOKENIZER_DIGITS,
    PRETOKENIZER_LLAMA3,
    PRETOKENIZER_CL100K,
    PRETOKENIZER_O200K,
    PRETOKENIZERS
};

/* The first place at or after `at` where the text may be cut without changing its pre-tokens: before
 * white space that follows something else. `end` when there is none. `begin` is where the text
 * begins (to look at the character before). Special tokens are not considered. */
const uint8_t *pretoken_cut(const Pretokenizer *kind, const uint8_t *begin, const uint8_t *at,
                            const uint8_t *end);

/* ---- walking along a text, fast ----
 *
 *     PretokenWalk walk = {pretokenizer, text, end, NULL, 0};
 *     while (walk.text < walk.end) {
 *         const uint8_t *piece = walk.text;
 *         size_t length = pretoken_walk(&walk);
 *
 * The same pre-tokens as with the pretokenizer's length, but of GPT-2's the borders of 64 bytes are
 * found at once. */
typedef struct PretokenWalk {
    const Pretokenizer *kind;
    const uint8_t *text, *end; /* where the next pre-token begins; where the text ends */
    const uint8_t *block;      /* what the bits of `starts` count from */
    uint64_t starts;           /* bit i: a pre-token begins at block[i]; those that lie ahead */
} PretokenWalk;

/* Looks at the 64 bytes from the pre-token at `text` on: bit i of the result is set when a pre-token
 * begins at text[i], as far as ASCII tells. Bit 0 is clear. 0 when nothing is known that way. */
uint64_t pretoken_block(const uint8_t *text, const uint8_t *end);

static inline size_t pretoken_walk(PretokenWalk *walk) {
    const uint8_t *piece = walk->text;
    if (walk->starts == 0) {
        walk->block = piece;
        if (walk->kind->length == pretoken_length) walk->starts = pretoken_block(piece, walk->end);
        if (walk->starts == 0) {
            size_t length = walk->kind->length(piece, walk->end);
            walk->text += length;
            return length;
        }
    }
    walk->text = walk->block + __builtin_ctzll(walk->starts);
    walk->starts &= walk->starts - 1;
    return (size_t)(walk->text - piece);
}

/* Eight bytes as one number, the first one lowest. */
static inline uint64_t pretoken_load(const uint8_t *text) {
    uint64_t word;
    memcpy(&word, text, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

#endif
