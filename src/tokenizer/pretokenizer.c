#include "tokenizer/pretokenizer.h"

#include <stdbool.h>

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
        if (class == CLASS_LETTER && end - text >= 8) {
            uint64_t stops = pretoken_not_letters(pretoken_load(text));
            size_t letters = stops ? (size_t)__builtin_ctzll(stops) / 8 : 8;
            text += letters;
            if (letters == 8) continue;
        }
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

size_t pretoken_length_any(const uint8_t *text, const uint8_t *end) {
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

const uint8_t *pretoken_cut(const uint8_t *begin, const uint8_t *at, const uint8_t *end) {
    if (at == begin && at < end) at++;
    for (; at < end; at++)
        if (unicode_ascii_class[*at] == CLASS_SPACE && !space_before(begin, at)) return at;
    return end;
}
