#include "tokenizer/pretokenizer.h"

/* Class and length of the character at `text`. */
static CharacterClass class_at(const uint8_t *text, const uint8_t *end, size_t *length) {
    if (*text < 0x80) {
        *length = 1;
        return (CharacterClass)unicode_ascii_class[*text];
    }
    uint32_t code_point;
    *length = unicode_decode(text, end, &code_point);
    return unicode_class(code_point);
}

const uint8_t *pretoken_run_end(CharacterClass class, const uint8_t *text, const uint8_t *end) {
    while (text < end) {
        size_t length;
        if (class_at(text, end, &length) != class) break;
        text += length;
    }
    return text;
}

/* Length of 's 't 're 've 'm 'll 'd at `text`, which begins with the apostrophe, or 0. */
static size_t contraction(const uint8_t *text, const uint8_t *end) {
    if (end - text < 2) return 0;
    switch (text[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd':
        return 2;
    case 'r':
    case 'v':
        return end - text > 2 && text[2] == 'e' ? 3 : 0;
    case 'l':
        return end - text > 2 && text[2] == 'l' ? 3 : 0;
    default:
        return 0;
    }
}

size_t pretoken_length(const uint8_t *text, const uint8_t *end) {
    if (*text == '\'') {
        size_t length = contraction(text, end);
        if (length) return length;
    }
    size_t space = *text == ' ', length = 0;
    CharacterClass class = CLASS_SPACE;
    if (text + space < end) class = class_at(text + space, end, &length);
    if (class != CLASS_SPACE)
        return (size_t)(pretoken_run_end(class, text + space + length, end) - text);

    const uint8_t *run_end = pretoken_run_end(CLASS_SPACE, text, end);
    if (run_end == end) return (size_t)(run_end - text);
    const uint8_t *last = run_end - 1; /* where the run's last character begins */
    while (last > text && (*last & 0xC0) == 0x80) last--;
    return (size_t)((last > text ? last : run_end) - text);
}

CharacterClass pretoken_class(const uint8_t *text, const uint8_t *end) {
    size_t length;
    return text + 1 < end && *text == ' ' ? class_at(text + 1, end, &length)
                                          : class_at(text, end, &length);
}

/* True when the character that ends just before `at` is white space. White space outside ASCII takes
 * two or three bytes, and a lead byte always begins a character, so looking back is safe. */
static bool space_before(const uint8_t *begin, const uint8_t *at) {
    size_t length;
    if (at[-1] < 0x80) return unicode_ascii_class[at[-1]] == CLASS_SPACE;
    for (int back = 2; back <= 3 && at - begin >= back; back++)
        if (class_at(at - back, at, &length) == CLASS_SPACE && length == (size_t)back) return true;
    return false;
}

const uint8_t *pretoken_cut(const Pretokenizer *kind, const uint8_t *begin, const uint8_t *at,
                            const uint8_t *end) {
    if (at == begin && at < end) at++;
    for (; at < end; at++) {
        bool joined = kind->joins_newlines && (*at == '\n' || *at == '\r');
        if (unicode_ascii_class[*at] == CLASS_SPACE && !joined && !space_before(begin, at))
            return at;
    }
    return end;
}

/* ---- 64 bytes at once ----
 *
 * Eight bytes lie in one number; an addition to all of them at once carries into the top bit of each
 * byte that is at least as large as a bound (all bytes are below 0x80 then). */

#define EACH(byte) ((byte)*0x0101010101010101u)
enum { BLOCK_BYTES = 64 };

/* Top bits of the bytes that are from `low` to `high`. */
static inline uint64_t bytes_between(uint64_t word, uint8_t low, uint8_t high) {
    return (word + EACH(0x80ull - low)) & ~(word + EACH(0x7Full - high));
}

/* The top bits of eight bytes as eight bits: the product brings the one of byte k to bit 56 + k. */
static inline uint64_t top_bits(uint64_t word) {
    return (word & EACH(0x80ull)) * 0x0002040810204081u >> 56;
}

/* The characters of a block by kind, a bit each. */
typedef struct BlockKinds {
    uint64_t letters, numbers, spaces, blanks, quotes, above_ascii;
} BlockKinds;

static BlockKinds classify(const uint8_t *text) {
    BlockKinds kinds = {0};
    for (int i = 0; i < BLOCK_BYTES; i += 8) {
        uint64_t raw = pretoken_load(text + i), word = raw & ~EACH(0x80ull);
        uint64_t blanks = bytes_between(word, ' ', ' ');
        kinds.letters |= top_bits(bytes_between(word | EACH(0x20ull), 'a', 'z')) << i;
        kinds.numbers |= top_bits(bytes_between(word, '0', '9')) << i;
        kinds.spaces |= top_bits(bytes_between(word, '\t', '\r') | blanks) << i;
        kinds.blanks |= top_bits(blanks) << i;
        kinds.quotes |= top_bits(bytes_between(word, '\'', '\'')) << i;
        kinds.above_ascii |= top_bits(raw) << i;
    }
    return kinds;
}

/* Contractions end inside of what is otherwise one run. */
static uint64_t split_contractions(const uint8_t *text, const uint8_t *end, uint64_t quotes,
                                   uint64_t starts) {
    for (; quotes; quotes &= quotes - 1) {
        int at = __builtin_ctzll(quotes);
        size_t length = contraction(text + at, end);
        if (length == 0) continue;
        if (at + 1 < BLOCK_BYTES) starts &= ~(1ull << (at + 1));
        if (at + length < BLOCK_BYTES) starts |= 1ull << ((size_t)at + length);
    }
    return starts;
}

uint64_t pretoken_block(const uint8_t *text, const uint8_t *end) {
    size_t known = BLOCK_BYTES, length = (size_t)(end - text);
    uint8_t padded[BLOCK_BYTES] = {0};
    const uint8_t *block = text;
    if (length < BLOCK_BYTES) {
        if (length < 8) return 0;
        memcpy(padded, text, known = length);
        block = padded;
    }
    if (pretoken_load(block) & EACH(0x80ull)) return 0; /* not worth it */
    BlockKinds kinds = classify(block);
    uint64_t letters = kinds.letters, numbers = kinds.numbers, spaces = kinds.spaces;
    uint64_t others = ~(letters | numbers | spaces);
    /* A run begins where its kind does, or at the blank before it … */
    uint64_t starts =
        (letters & ~(letters << 1)) | (numbers & ~(numbers << 1)) | (others & ~(others << 1));
    starts &= ~(kinds.blanks << 1);
    /* … and white space where it begins, and at its last character if something follows. */
    starts |= spaces & (~(spaces << 1) | ~spaces >> 1);
    uint64_t quotes = kinds.quotes & (starts | 1);
    if (quotes) starts = split_contractions(text, end, quotes, starts);
    /* A border is certain when the character before, at and behind it are ASCII and in the block. */
    if (kinds.above_ascii && (size_t)__builtin_ctzll(kinds.above_ascii) < known)
        known = (size_t)__builtin_ctzll(kinds.above_ascii);
    return starts & ((1ull << (known - 1)) - 1) & ~1ull;
}
