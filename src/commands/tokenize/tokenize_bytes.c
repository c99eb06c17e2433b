/* ./tokenize bytes: the handout's questions about Unicode, answered for any text. */
#include <string.h>

#include "base/printable.h"
#include "commands/tokenize/tokenize_commands.h"
#include "tokenizer/unicode.h"

static void print_padded(const char *text, int width) {
    printf("%-*s", width, text);
}

/* UTF-16 code units: one, or a surrogate pair above U+FFFF. */
static int to_utf16(uint32_t character, uint16_t units[2]) {
    if (character < 0x10000) {
        units[0] = (uint16_t)character;
        return 1;
    }
    units[0] = (uint16_t)(0xD800 + ((character - 0x10000) >> 10));
    units[1] = (uint16_t)(0xDC00 + ((character - 0x10000) & 0x3FF));
    return 2;
}

typedef struct Totals {
    size_t characters, utf8, utf16, utf32,
        alone; /* alone: bytes that are a character by themselves */
} Totals;

static void print_character(const uint8_t *text, size_t length, uint32_t character,
                            Totals *totals) {
    static const char *const classes[] = {"other", "letter", "number", "space"};
    char column[64] = "invalid";
    if (character != UNICODE_INVALID)
        snprintf(column, sizeof column, "U+%04lX", (unsigned long)character);
    print_padded(column, 10);
    print_padded(classes[unicode_class(character)], 8);
    for (size_t i = 0; i < length; i++)
        snprintf(column + 3 * i, sizeof column - 3 * i, "%02X ", text[i]);
    print_padded(column, 13);
    totals->characters++;
    totals->utf8 += length;
    if (character == UNICODE_INVALID) {
        print_padded("", 23);
    } else {
        uint16_t units[2];
        int count = to_utf16(character, units);
        column[0] = '\0';
        for (int i = 0; i < count; i++)
            snprintf(column + 6 * i, sizeof column - 6 * i, "%02X %02X ", units[i] & 0xFF,
                     units[i] >> 8);
        print_padded(column, 13);
        printf("%02X %02X %02X 00  ", character & 0xFF, character >> 8 & 0xFF, character >> 16);
        totals->utf16 += 2 * (size_t)count;
        totals->utf32 += 4;
        totals->alone += length == 1;
    }
    print_quoted(stdout, text, length);
    putchar('\n');
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

int tokenize_bytes(int argc, char **argv) {
    static const char name[] = "tokenize bytes";
    const char *argument = NULL;
    const Option options[] = {
        ARGUMENT("TEXT", &argument, "what to look at"),
        OPTIONS_END,
    };
    const Program program = {
        name,
        "Shows the characters of a text: code point, class in the GPT-2 pattern, and "
        "bytes in UTF-8, UTF-16 and UTF-32 (little-endian).",
        "./tokenize bytes 'h\xC3\xA9llo'", options};
    options_read(&program, argc, argv);
    unicode_start();
    const uint8_t *text = (const uint8_t *)argument, *end = text + strlen(argument);
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
    return program_done(name);
}
