/* Applies the merges to one pre-token: the inner step of encoding.
 *
 * The rule (Sennrich et al. 2016): of all pairs of neighbours, take the one whose merge has the
 * lowest rank, merge all its occurrences from left to right (or only the first one: see one_place
 * in tokenizer.h), and repeat until no pair has a merge. It is neither longest match nor greedy
 * from the left. Three methods give equal results: short pre-tokens by scanning for the lowest
 * rank; long ones with a priority queue of places; very long ones window by window, so that memory stays
 * bounded whatever the length. */
#ifndef TINYLM_TOKENIZER_MERGER_H
#define TINYLM_TOKENIZER_MERGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tokenizer/id_list.h"
#include "tokenizer/tokenizer.h"

/* A token of the current pre-token, stored at the position of its first byte. */
typedef struct Symbol {
    uint32_t id;             /* TOKEN_NONE: merged into the one before */
    uint32_t next, previous; /* positions; TOKEN_NONE at the ends */
} Symbol;

/* Working memory of one thread. */
typedef struct Merger {
    const Tokenizer *tokenizer;
    uint32_t rank_limit; /* merges from this rank on are left out; TOKEN_NONE: none is */
    Symbol *symbols;     /* long pre-tokens: by byte position */
    size_t symbol_capacity;
    struct PlaceHeap *places; /* long pre-tokens: where a merge is possible */
    IdList batch;             /* positions of the rank at work */
    IdList window;            /* ids of a window, before they are settled */
    IdList trial;             /* ids of a few bytes, for questions on the side */
    int missing_byte;         /* the byte without a token, after merger_apply returned false */
} Merger;

void merger_init(Merger *merger, const Tokenizer *tokenizer);
void merger_free(Merger *merger);

/* Appends the ids of one pre-token, given whole. False when a byte of it has no token
 * (merger->missing_byte); `out` is then unchanged. */
bool merger_apply(Merger *merger, const uint8_t *text, size_t length, IdList *out);

/* Only merges: the whole text at once, without checking first whether it is a token. */
bool merger_merge(Merger *merger, const uint8_t *text, size_t length, IdList *out);

/* The same for a pre-token of which more may follow: appends the ids at its beginning that no
 * continuation can change, and sets `settled` to the number of bytes they stand for (0: not
 * enough text yet to decide). What remains, with its continuation, goes into the next call,
 * or into merger_apply when the pre-token is complete.
 *
 * Why that works. (1) Merges that do not cross a token's border do not depend on what is beyond it, so
 * each stretch between two borders of an encoding is encoded the same on its own. (2) So a
 * sequence of tokens is the encoding of its bytes if and only if every two neighbours are the encoding
 * of theirs. (3) The encoding of any continuation has a border within the last `longest_token`
 * bytes seen. If the encodings of the text up to each of these places all have a border at b, so
 * has every continuation, and the tokens before b are final. (Berglund and van der Merwe, "Formalizing
 * BPE tokenization", 2023, show that such a place comes after a bounded number of bytes.) */
bool merger_settle(Merger *merger, const uint8_t *text, size_t length, IdList *out,
                   size_t *settled);

/* The size of text from which merger_settle is tried. */
enum { MERGER_WINDOW = 1 << 18 };

#endif
