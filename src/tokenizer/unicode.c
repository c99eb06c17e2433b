#include "tokenizer/unicode.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <utf8proc.h>

/* Two stages: block_of[code point / 128] names a block of 128 entries (class + 4 * case); equal blocks are
 * stored once. Long stretches of Unicode are all letters or all unassigned, so that few blocks remain. */
enum { BLOCK = 128, BLOCKS = 0x110000 / BLOCK, MAX_DISTINCT = 1024 };
static uint16_t block_of[BLOCKS];
static uint8_t blocks[MAX_DISTINCT][BLOCK];
uint8_t unicode_ascii_class[256];

/* \s is the property White_Space: separators, and a few controls that have no category of space. */
static int look_up(utf8proc_int32_t c) {
    if ((c >= 0x09 && c <= 0x0D) || c == 0x85) return CLASS_SPACE;
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
        return CLASS_LETTER + 4 * CASE_UPPER;
    case UTF8PROC_CATEGORY_LL:
        return CLASS_LETTER + 4 * CASE_LOWER;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return CLASS_LETTER + 4 * CASE_EITHER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return CLASS_OTHER + 4 * CASE_EITHER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return CLASS_NUMBER;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return CLASS_SPACE;
    default:
        return CLASS_OTHER;
    }
}

static void fill_tables(void) {
    int distinct = 0;
    for (int b = 0; b < BLOCKS; b++) {
        uint8_t entries[BLOCK];
        for (int i = 0; i < BLOCK; i++) entries[i] = (uint8_t)look_up(b * BLOCK + i);
        int same = distinct - 1; /* newest first: neighbours are alike */
        while (same >= 0 && memcmp(blocks[same], entries, BLOCK) != 0) same--;
        if (same < 0) memcpy(blocks[same = distinct++], entries, BLOCK);
        block_of[b] = (uint16_t)same;
    }
    for (int c = 0; c < 128; c++) unicode_ascii_class[c] = blocks[block_of[0]][c] % 4;
}

void unicode_start(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_tables);
}

const char *unicode_version(void) {
    return utf8proc_unicode_version();
}

static uint8_t entry(uint32_t code_point) {
    return code_point < 0x110000 ? blocks[block_of[code_point / BLOCK]][code_point % BLOCK] : 0;
}

CharacterClass unicode_class(uint32_t code_point) {
    return (CharacterClass)(entry(code_point) % 4);
}

CharacterCase unicode_case(uint32_t code_point) {
    return (CharacterCase)(entry(code_point) / 4);
}

/* What may follow a lead byte: how many bytes, and the range of the second one. */
typedef struct LeadByte {
    uint8_t length, second_low, second_high;
} LeadByte;

static LeadByte lead_byte(uint8_t byte) {
    if (byte < 0x80) return (LeadByte){1, 0, 0};
    if (byte < 0xC2 || byte > 0xF4) return (LeadByte){0, 0, 0};
    if (byte < 0xE0) return (LeadByte){2, 0x80, 0xBF};
    if (byte == 0xE0) return (LeadByte){3, 0xA0, 0xBF}; /* below: overlong */
    if (byte == 0xED) return (LeadByte){3, 0x80, 0x9F}; /* above: surrogates */
    if (byte < 0xF0) return (LeadByte){3, 0x80, 0xBF};
    if (byte == 0xF0) return (LeadByte){4, 0x90, 0xBF}; /* below: overlong */
    if (byte == 0xF4) return (LeadByte){4, 0x80, 0x8F}; /* above: past 10FFFF */
    return (LeadByte){4, 0x80, 0xBF};
}

/* Number of bytes at `text` that fit the character begun by the first one. */
static size_t well_formed(const uint8_t *text, const uint8_t *end, LeadByte lead) {
    size_t available = (size_t)(end - text), n = 1;
    while (n < lead.length && n < available) {
        uint8_t low = n == 1 ? lead.second_low : 0x80, high = n == 1 ? lead.second_high : 0xBF;
        if (text[n] < low || text[n] > high) break;
        n++;
    }
    return n;
}

size_t unicode_decode(const uint8_t *text, const uint8_t *end, uint32_t *code_point) {
    LeadByte lead = lead_byte(text[0]);
    size_t n = well_formed(text, end, lead);
    if (n != lead.length) {
        *code_point = UNICODE_INVALID;
        return n;
    }
    static const uint8_t payload[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = text[0] & payload[n];
    for (size_t i = 1; i < n; i++) c = c << 6 | (text[i] & 0x3F);
    *code_point = c;
    return n;
}

size_t unicode_unfinished(const uint8_t *text, size_t length) {
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        const uint8_t *start = text + length - back;
        if ((*start & 0xC0) == 0x80) continue; /* inside a character */
        LeadByte lead = lead_byte(*start);
        if (*start == 0xED) lead.second_high = 0xBF; /* see the header */
        bool open = lead.length > back && well_formed(start, text + length, lead) == back;
        return open ? back : 0;
    }
    return 0;
}

size_t unicode_encode(uint32_t c, uint8_t out[4]) {
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6) out[i] = (uint8_t)(0x80 | (c & 0x3F));
    static const uint8_t mark[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    out[0] = (uint8_t)(mark[n] | c);
    return n;
}
