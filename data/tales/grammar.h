/* A grammar that tells stories: rules with alternatives, tables of words with agreement features,
 * and variables that remember who and what a story is about. The notation is explained at the head
 * of tales.grammar. A story is a pure function of the grammar, the seed and its number. */
#ifndef TINYLM_DATA_TALES_GRAMMAR_H
#define TINYLM_DATA_TALES_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct Grammar Grammar;

/* Reads and checks a grammar. `path` is for messages ("tales.grammar:12: unknown name 'her'");
 * `text` (NUL-terminated) is only read. It must have a rule "story". NULL on error. */
Grammar *grammar_parse(const char *text, const char *path, Error *error);
void grammar_free(Grammar *grammar);

/* Tells story `number`: expands the rule "story". The text is in the grammar's own memory until
 * the next call, without a NUL; its size goes to `size`. NULL when the grammar turns out to be
 * wrong on the way (a variable read before it is set, no alternative whose condition holds, a rule
 * without end): then `error` names the rule. */
const char *grammar_story(Grammar *grammar, uint64_t seed, uint64_t number, size_t *size,
                          Error *error);

#endif
