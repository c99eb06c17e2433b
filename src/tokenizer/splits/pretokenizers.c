/* The ways in which tokenizers cut text before merging. All scanners follow the regular expression of
 * their row, alternative by alternative; a backtracking engine's result is derived in the comments. */
#include "tokenizer/pretokenizer.h"

/* The character at `text`; its length is 0 at the end of the text, and its class then CLASS_OTHER. */
typedef struct Character {
    size_t length;
    CharacterClass class;
    CharacterCase letter_case;
    bool newline;
} Character;

static Character character_at(const uint8_t *text, const uint8_t *end) {
    if (text >= end) return (Character){0};
    uint32_t c;
    size_t length = unicode_decode(text, end, &c);
    return (Character){length, unicode_class(c), unicode_case(c), c == '\n' || c == '\r'};
}

/* ---- Digits ----
 *
 * Every \p{N} is a piece; GPT-2's pattern runs on each text between, which ends at the number. Only white
 * space sees that end: it keeps its last character. */
static size_t digits_length(const uint8_t *text, const uint8_t *end) {
    Character first = character_at(text, end);
    if (first.class == CLASS_NUMBER) return first.length;
    const uint8_t *run_end = pretoken_run_end(CLASS_SPACE, text, end);
    if (run_end > text && character_at(run_end, end).class == CLASS_NUMBER)
        return (size_t)(run_end - text);
    return pretoken_length(text, end);
}

/* ---- what the patterns of GPT-4, Llama 3 and GPT-4o share ---- */

/* Length of (?i:'s|'t|'re|'ve|'m|'ll|'d) at `text`, or 0. U+017F, a long s, is an s to (?i). */
static size_t any_case_contraction(const uint8_t *text, const uint8_t *end) {
    if (end - text < 2 || text[0] != '\'') return 0;
    if (end - text > 2 && text[1] == 0xC5 && text[2] == 0xBF) return 3;
    int first = text[1] | 0x20, second = end - text > 2 ? text[2] | 0x20 : 0;
    if (text[1] >= 0x40 && strchr("stmd", first)) return 2;
    bool long_one = text[1] >= 0x40 && (end - text > 2 && text[2] >= 0x40) &&
                    ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                     (first == 'l' && second == 'l'));
    return long_one ? 3 : 0;
}

/* \p{N}{1,3} */
static const uint8_t *numbers_end(const uint8_t *text, const uint8_t *end) {
    for (int i = 0; i < 3; i++) {
        Character number = character_at(text, end);
        if (number.class != CLASS_NUMBER) break;
        text += number.length;
    }
    return text;
}

/* Length of \s*[\r\n]+|\s+(?!\S)|\s+ at white space: up to the last newline of the run, else all but its
 * last character, or all of it if it is one character or nothing follows. `whole_end`: \s+$ comes
 * first, so that a run at the end of the text is one piece with its newlines. */
static size_t space_length(const uint8_t *text, const uint8_t *end, bool whole_end) {
    const uint8_t *run_end = text, *last = text, *newlines_end = text;
    for (Character c; (c = character_at(run_end, end)).class == CLASS_SPACE;) {
        last = run_end;
        run_end += c.length;
        if (c.newline) newlines_end = run_end;
    }
    if (run_end == end && whole_end) return (size_t)(run_end - text);
    if (newlines_end > text) return (size_t)(newlines_end - text);
    return (size_t)((run_end < end && last > text ? last : run_end) - text);
}

/* The alternatives behind those of letters. ` ?[^\s\p{L}\p{N}]+[\r\n]*`, with `slashes` [\r\n/]*. */
static size_t rest_length(const uint8_t *text, const uint8_t *end, bool slashes, bool whole_end) {
    const uint8_t *run = numbers_end(text, end);
    if (run > text) return (size_t)(run - text);
    const uint8_t *others = text + (*text == ' ');
    run = pretoken_run_end(CLASS_OTHER, others, end);
    if (run == others) return space_length(text, end, whole_end);
    while (run < end && (*run == '\n' || *run == '\r' || (slashes && *run == '/'))) run++;
    return (size_t)(run - text);
}

/* Length of [^\r\n\p{L}\p{N}]?, which may go before letters. */
static size_t prefix_length(const uint8_t *text, const uint8_t *end) {
    Character first = character_at(text, end);
    bool joins = !first.newline && first.class != CLASS_LETTER && first.class != CLASS_NUMBER;
    return joins ? first.length : 0;
}

/* ---- GPT-4 and Llama 3 ---- */

static size_t gpt4_length(const uint8_t *text, const uint8_t *end, bool whole_end) {
    size_t length = any_case_contraction(text, end);
    if (length > 0) return length;
    const uint8_t *letters = text + prefix_length(text, end);
    const uint8_t *run = pretoken_run_end(CLASS_LETTER, letters, end);
    return run > letters ? (size_t)(run - text) : rest_length(text, end, false, whole_end);
}

static size_t llama3_length(const uint8_t *text, const uint8_t *end) {
    return gpt4_length(text, end, false);
}

static size_t cl100k_length(const uint8_t *text, const uint8_t *end) {
    return gpt4_length(text, end, true);
}

/* ---- GPT-4o ----
 *
 * With U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and W = [\p{Ll}\p{Lm}\p{Lo}\p{M}], a word is U*W+, or else U+W*.
 * U* takes all it can. If lower case follows, W+ takes that. Else U* must give characters back until W
 * has one, the last that is in both: the word ends behind it. Without one, U+ takes the run. */
static const uint8_t *word_end(const uint8_t *text, const uint8_t *end, bool *mixed) {
    const uint8_t *run = text, *last_either = NULL;
    Character c;
    for (; (c = character_at(run, end)).letter_case & CASE_UPPER; run += c.length)
        if (c.letter_case == CASE_EITHER) last_either = run + c.length;
    *mixed = last_either || c.letter_case == CASE_LOWER;
    if (c.letter_case != CASE_LOWER) return last_either ? last_either : run;
    for (; (c = character_at(run, end)).letter_case & CASE_LOWER;) run += c.length;
    return run;
}

static size_t o200k_length(const uint8_t *text, const uint8_t *end) {
    const uint8_t *letters = text + prefix_length(text, end);
    bool mixed, bare_mixed;
    const uint8_t *run = word_end(letters, end, &mixed);
    if (!mixed) { /* U*W+ without the prefix (a mark is one, and is in W) goes before U+W* */
        const uint8_t *bare = word_end(text, end, &bare_mixed);
        if (bare_mixed) {
            run = bare;
            letters = text;
        }
    }
    if (run == letters) return rest_length(text, end, true, false);
    return (size_t)(run - text) + any_case_contraction(run, end);
}

/* ---- the table ---- */

#define CONTRACTIONS  "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORDS_OF_GPT4 "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
#define SPACES        "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER         "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER         "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"

const Pretokenizer pretokenizers[PRETOKENIZERS] = {
    [PRETOKENIZER_GPT2] = {"gpt2", NULL, false, false, pretoken_length},
    /* SmolLM */
    [PRETOKENIZER_DIGITS] = {"digits", NULL, true, false, digits_length},
    /* also GPT-4's, as most tokenizer.json files have it */
    [PRETOKENIZER_LLAMA3] = {"llama3", CONTRACTIONS "|" WORDS_OF_GPT4 SPACES, false, true,
                             llama3_length},
    /* GPT-4's as tiktoken has it: \s+$ goes before SPACES */
    [PRETOKENIZER_CL100K] = {"cl100k", CONTRACTIONS "|" WORDS_OF_GPT4 "\\s+\\z|" SPACES, false,
                             true, cl100k_length},
    [PRETOKENIZER_O200K] = {"o200k",
                            "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CONTRACTIONS "?|"
                            "[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" CONTRACTIONS "?|"
                            "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES,
                            false, true, o200k_length},
};
