/* ./tokenize bytes: the handout's questions about Unicode, answered for any text. */
#include <string.h>

#include "base/printable.h"
#include "commands/tokenize/tokenize.h"
#include "tokenizer/unicode.h"

/* UTF-16 in little-endian order: one code unit, or a surrogate pair above U+FFFF. Returns the bytes. */
static size_t to_utf16(uint32_t character, uint8_t bytes[4]) {
    uint32_t first = character, second = 0;
    if (character >= 0x10000) {
        second = 0xDC00 + ((character - 0x10000) & 0x3FF);
        first = 0xD800 + ((character - 0x10000) >> 10);
    }
    for (int i = 0; i < 2; i++) {
        bytes[i] = (uint8_t)(first >> 8 * i);
        bytes[2 + i] = (uint8_t)(second >> 8 * i);
    }
    return second ? 4 : 2;
}

typedef struct Totals {
    size_t characters, utf8, utf16, utf32;
    size_t alone; /* bytes that are a character by themselves */
} Totals;

static void print_hex(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) printf("%02X ", bytes[i]);
    printf("%*s", 13 - 3 * (int)count, "");
}

static void print_character(const uint8_t *text, size_t length, uint32_t character,
                            Totals *totals) {
    static const char *const classes[] = {"other", "letter", "number", "space"};
    bool valid = character != UNICODE_INVALID;
    char name[16] = "invalid";
    if (valid) snprintf(name, sizeof name, "U+%04lX", (unsigned long)character);
    printf("%-10s%-8s", name, classes[unicode_class(character)]);
    uint8_t utf16[4], utf32[4];
    size_t utf16_length = valid ? to_utf16(character, utf16) : 0, utf32_length = valid ? 4 : 0;
    for (int i = 0; i < 4; i++) utf32[i] = (uint8_t)(character >> 8 * i);
    print_hex(text, length);
    print_hex(utf16, utf16_length);
    print_hex(utf32, utf32_length);
    print_quoted(stdout, text, length);
    putchar('\n');
    totals->characters++;
    totals->utf8 += length;
    totals->utf16 += utf16_length;
    totals->utf32 += utf32_length;
    totals->alone += valid && length == 1;
}

/* What comes out when each byte is decoded on its own. */
static void print_bytes_alone(const uint8_t *text, const uint8_t *end) {
    printf("\ndecoded byte by byte: ");
    for (const uint8_t *p = text; p < end; p++)
        if (*p < 0x80)
            print_escaped(stdout, p, 1);
        else
            fputs("\xEF\xBF\xBD", stdout);
    printf(
        "\nEvery byte from 80 up is only a part of a character, so it fails on its own; failing bytes:");
    for (const uint8_t *p = text; p < end; p++)
        if (*p >= 0x80) printf(" %zu", (size_t)(p - text));
    putchar('\n');
}

bool tokenize_bytes(Session *session) {
    const uint8_t *text = (const uint8_t *)session->text, *end = text + strlen(session->text);
    Totals totals = {0};
    printf("character class   UTF-8        UTF-16       UTF-32       text (Unicode %s)\n",
           unicode_version());
    for (const uint8_t *p = text; p < end;) {
        uint32_t character;
        size_t length = unicode_decode(p, end, &character);
        print_character(p, length, character, &totals);
        p += length;
    }
    printf("%zu characters; bytes: %zu in UTF-8, %zu in UTF-16, %zu in UTF-32\n", totals.characters,
           totals.utf8, totals.utf16, totals.utf32);
    if (totals.alone < totals.utf8) print_bytes_alone(text, end);
    return true;
}
