#include "tokenizer/special_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/pretokenizer.h"
#include "tokenizer/unicode.h"

bool special_tokens_check(const char *text, Error *error) {
    const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
    if (p == end) return error_set(error, "a special token is empty; give it some text");
    while (p < end) {
        uint32_t code_point;
        p += unicode_decode(p, end, &code_point);
        if (code_point == UNICODE_INVALID)
            return error_set(error, "special token \"%s\" is not valid UTF-8", text);
    }
    return true;
}

void special_tokens_add(SpecialTokens *specials, const char *text, uint32_t id) {
    size_t length = strlen(text);
    int at = 0;
    for (int i = 0; i < specials->count; i++) {
        const SpecialToken *token = &specials->tokens[i];
        if (token->length == length && memcmp(token->text, text, length) == 0) return;
        if (token->length >= length) at = i + 1;
    }
    specials->tokens =
        reallocate(specials->tokens, specials->count + 1ull, sizeof *specials->tokens);
    memmove(specials->tokens + at + 1, specials->tokens + at,
            (size_t)(specials->count - at) * sizeof *specials->tokens);
    specials->tokens[at] = (SpecialToken){(uint8_t *)string_copy(text), length, id};
    uint8_t first = specials->tokens[at].text[0];
    bool same = specials->count == 0 || specials->only_first_byte == first;
    specials->only_first_byte = same ? first : -1;
    specials->first_byte[first] = true;
    specials->count++;
    specials->longest = specials->tokens[0].length;
}

void special_tokens_free(SpecialTokens *specials) {
    for (int i = 0; i < specials->count; i++) free(specials->tokens[i].text);
    free(specials->tokens);
    *specials = (SpecialTokens){0};
}

static const SpecialToken *match_at(const SpecialTokens *specials, const uint8_t *text,
                                    const uint8_t *end) {
    if (!specials->first_byte[*text]) return NULL;
    for (int i = 0; i < specials->count; i++) {
        const SpecialToken *token = &specials->tokens[i];
        if (token->length <= (size_t)(end - text) && memcmp(token->text, text, token->length) == 0)
            return token;
    }
    return NULL;
}

const uint8_t *special_tokens_find(const SpecialTokens *specials, const uint8_t *text,
                                   const uint8_t *end, const SpecialToken **found) {
    if (specials->count == 0) return end;
    for (; text < end; text++) {
        if (specials->only_first_byte >= 0) {
            text = memchr(text, specials->only_first_byte, (size_t)(end - text));
            if (!text) return end;
        }
        const SpecialToken *token = match_at(specials, text, end);
        if (token) {
            *found = token;
            return text;
        }
    }
    return end;
}

/* True when some special token begins before `at` and ends behind it. Which of several overlapping
 * ones would win does not matter: then the cut is simply not made here. */
static bool inside_special(const SpecialTokens *specials, const uint8_t *begin, const uint8_t *at,
                           const uint8_t *end) {
    for (size_t back = 1; back < specials->longest && back <= (size_t)(at - begin); back++) {
        const SpecialToken *token = match_at(specials, at - back, end);
        if (token && token->length > back) return true; /* the longest one is found first */
    }
    return false;
}

const uint8_t *special_tokens_cut(const SpecialTokens *specials, const Pretokenizer *kind,
                                  const uint8_t *begin, const uint8_t *at, const uint8_t *end) {
    while ((at = pretoken_cut(kind, begin, at, end)) < end &&
           inside_special(specials, begin, at, end))
        at++;
    return at;
}
