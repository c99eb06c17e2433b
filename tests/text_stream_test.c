/* Ids to text as it is shown: whole characters, nothing of a stop text, nothing after the end. */
#include "generation_helpers.h"

#include <string.h>

#include "generation/text_stream.h"

/* <|endoftext|> is 0, byte b is b + 1, and three tokens of several bytes follow. */
enum { END = 0, HELLO = 257, ACCENT = 258, AB = 259 };

static ModelTokenizer tokenizer;

static int make_tokenizer(void **state) {
    (void)state;
    Error error;
    Tokenizer *bpe = tokenizer_new();
    tokenizer_add_token(bpe, END, (const uint8_t *)"<|endoftext|>", 13, &error);
    tokenizer_add_special(bpe, "<|endoftext|>", &error);
    for (int b = 0; b < 256; b++)
        tokenizer_add_token(bpe, 1 + b, &(uint8_t){(uint8_t)b}, 1, &error);
    tokenizer_add_token(bpe, HELLO, (const uint8_t *)"Hello", 5, &error);
    tokenizer_add_token(bpe, ACCENT, (const uint8_t *)"o\xC3", 2, &error); /* half an ö */
    tokenizer_add_token(bpe, AB, (const uint8_t *)"ab", 2, &error);
    model_tokenizer_take(&tokenizer, bpe, NULL);
    return 0;
}

static int free_tokenizer(void **state) {
    (void)state;
    model_tokenizer_free(&tokenizer);
    return 0;
}

/* Feeds ids up to −1, and compares what is shown after each: pieces are separated by '|', "."
 * stands at the place of the end, and what comes after '/' is shown at the end. */
static void assert_shown(const int *ids, const char *const *stops, int stop_count,
                         const char *expected) {
    TextStream stream;
    char shown[512] = "";
    text_stream_init(&stream, &tokenizer, TOKEN_NONE, stops, stop_count);
    size_t length;
    for (; *ids >= 0 && !stream.ended; ids++) {
        const char *text = text_stream_add(&stream, (uint32_t)*ids, &length);
        strncat(shown, text, length);
        strcat(shown, stream.ended ? "." : "|");
    }
    const char *text = text_stream_finish(&stream, &length);
    strcat(shown, "/");
    strncat(shown, text, length);
    assert_string_equal(shown, expected);
    text_stream_free(&stream);
}

#define IDS(...) ((const int[]){__VA_ARGS__, -1})
#define B(c)     (1 + (unsigned char)(c))

TEST(characters_are_shown_whole) {
    assert_shown(IDS(HELLO, B('!')), NULL, 0, "Hello|!|/");
    assert_shown(IDS(ACCENT, B(0xB6), B('x')), NULL, 0, "o|\xC3\xB6|x|/");
    assert_shown(IDS(B(0xF0), B(0x9F), B(0x90), B(0xB1)), NULL, 0, "|||\xF0\x9F\x90\xB1|/");
    assert_shown(IDS(B(0xF0), B(0x9F)), NULL, 0, "||/\xEF\xBF\xBD");
    assert_shown(IDS(B(0xF0), B('a')), NULL, 0,
                 "|\xEF\xBF\xBD"
                 "a|/");
    assert_shown(IDS(B(0xFF), B('a')), NULL, 0, "\xEF\xBF\xBD|a|/");
}

/* A character may begin in the prompt. */
TEST(the_prompt_may_end_inside_a_character) {
    static const struct {
        const char *prompt, *whole;
        int id;
        const char *then, *end;
    } cases[] = {
        {"caf\xC3", "caf", B(0xA9), "\xC3\xA9", ""},
        {"caf\xC3", "caf", B('e'),
         "\xEF\xBF\xBD"
         "e",
         ""},
        {"caf\xC3\xA9", "caf\xC3\xA9", B('!'), "!", ""},
        {"\xF0\x9F", "", B(0x90), "", "\xEF\xBF\xBD"},
        {"", "", HELLO, "Hello", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TextStream stream;
        size_t length;
        text_stream_init(&stream, &tokenizer, TOKEN_NONE, NULL, 0);
        assert_int_equal(text_stream_follow(&stream, cases[i].prompt, strlen(cases[i].prompt)),
                         strlen(cases[i].whole));
        const char *text = text_stream_add(&stream, (uint32_t)cases[i].id, &length);
        assert_int_equal(length, strlen(cases[i].then));
        assert_memory_equal(text, cases[i].then, length);
        text = text_stream_finish(&stream, &length);
        assert_int_equal(length, strlen(cases[i].end));
        assert_memory_equal(text, cases[i].end, length);
        text_stream_free(&stream);
    }
}

TEST(nothing_comes_after_the_end) {
    assert_shown(IDS(HELLO, END, HELLO), NULL, 0, "Hello|./");
    assert_shown(IDS(END), NULL, 0, "./");
    assert_shown(IDS(B(0xC3), END), NULL, 0, "|\xEF\xBF\xBD./");
}

TEST(a_stop_text_is_never_shown) {
    static const char *const one[] = {"llo!"};
    assert_shown(IDS(HELLO, B('!'), B('x')), one, 1, "He|./");
    assert_shown(IDS(HELLO, B('?')), one, 1, "He|llo?|/");
    assert_shown(IDS(HELLO), one, 1, "He|/llo");
    assert_shown(IDS(HELLO, END), one, 1, "He|llo./");
    static const char *const repeats[] = {"aab"}; /* the held text overlaps with itself */
    assert_shown(IDS(B('a'), B('a'), B('a'), AB, B('x')), repeats, 1, "||a|a./");
    assert_shown(IDS(B('a'), B('a'), B('c')), repeats, 1, "||aac|/");
    static const char *const two[] = {"abcd", "bc"};
    assert_shown(IDS(B('x'), AB, B('c')), two, 2, "x||a./");
    static const char *const character[] = {"\xC3\xB6"};
    assert_shown(IDS(ACCENT, B(0xB6), B('x')), character, 1, "o|./");
    static const char *const newline[] = {"\n"};
    assert_shown(IDS(HELLO, B('\n')), newline, 1, "Hello|./");
}

int main(void) {
    return run_all_tests(make_tokenizer, free_tokenizer);
}
