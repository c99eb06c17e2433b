/* Splitting: the pieces are the text, the walk by blocks agrees with the definition, and a text that is cut
 * where special_tokens_cut allows it has the same pieces in its two parts. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/pretokenizer.h"
#include "tokenizer/special_tokens.h"

enum { MAX_TEXT = 300 };

/* Marks where pieces begin: 1 a pre-token, 2 a special token. */
static void mark(const SpecialTokens *specials, const uint8_t *text, const uint8_t *end,
                 uint8_t *marks) {
    const uint8_t *start = text;
    while (text < end) {
        const SpecialToken *special = NULL;
        const uint8_t *wall = special_tokens_find(specials, text, end, &special);
        PretokenWalk walk = {&pretokenizers[PRETOKENIZER_GPT2], text, wall, NULL, 0};
        for (size_t n; text < wall; text += n) {
            n = pretoken_walk(&walk);
            if (n == 0 || n > (size_t)(wall - text) || n != pretoken_length(text, wall)) abort();
            marks[text - start] = 1;
        }
        if (!special) break;
        marks[text - start] = 2;
        text += special->length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const texts[] = {"<|x|>", "<|", "|> a", " \n", "a", "'s"};
    if (size < 1) return 0;
    if (size > MAX_TEXT) size = MAX_TEXT;
    unicode_start();
    SpecialTokens specials = {0};
    for (int i = 0; i < 6; i++)
        if (data[0] >> i & 1) special_tokens_add(&specials, texts[i], (uint32_t)i);
    const uint8_t *text = data + 1, *end = data + size;
    uint8_t whole[MAX_TEXT] = {0};
    mark(&specials, text, end, whole);
    for (const uint8_t *at = text; at < end; at++) {
        const uint8_t *cut =
            special_tokens_cut(&specials, &pretokenizers[PRETOKENIZER_GPT2], text, at, end);
        uint8_t parts[MAX_TEXT] = {0};
        if (cut < at || cut > end) abort();
        mark(&specials, text, cut, parts);
        mark(&specials, cut, end, parts + (cut - text));
        if (memcmp(whole, parts, sizeof whole) != 0) abort();
        at = cut; /* the next one */
    }
    special_tokens_free(&specials);
    return 0;
}
