#include "tokenizer/files/byte_alphabet.h"

#include "base/error.h"
#include "tokenizer/unicode.h"

static bool stands_for_itself(uint32_t c) {
    return (c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xFF && c != 0xAD);
}

static uint32_t to_character(uint8_t byte) {
    if (stands_for_itself(byte)) return byte;
    uint32_t number = 0; /* among the bytes that do not stand for themselves */
    for (uint32_t c = 0; c < byte; c++) number += !stands_for_itself(c);
    return 0x100 + number;
}

/* The byte of a character, or -1. */
static int to_byte(uint32_t character) {
    if (character < 0x100) return stands_for_itself(character) ? (int)character : -1;
    uint32_t number = character - 0x100;
    for (int byte = 0; byte < 256; byte++)
        if (!stands_for_itself((uint32_t)byte) && number-- == 0) return byte;
    return -1;
}

char *byte_alphabet_text(const uint8_t *bytes, size_t length) {
    char *text = allocate(2 * length + 1, 1), *to = text;
    for (size_t i = 0; i < length; i++) to += unicode_encode(to_character(bytes[i]), (uint8_t *)to);
    *to = '\0';
    return text;
}

bool byte_alphabet_read(const char *text, size_t length, uint8_t *out, size_t *out_length) {
    const uint8_t *p = (const uint8_t *)text, *end = p + length;
    size_t count = 0;
    while (p < end) {
        uint32_t character;
        p += unicode_decode(p, end, &character);
        int byte = to_byte(character);
        if (byte < 0) return false;
        out[count++] = (uint8_t)byte;
    }
    *out_length = count;
    return true;
}
