#include "tokenizer/llama2c_tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tokenizer/heap.h"

enum { MOST_PIECES = 1 << 24, FIRST_PIECE = LLAMA2C_FIRST_BYTE + 256 };

/* ---- making and freeing ---- */

Llama2cTokenizer *llama2c_tokenizer_new(const Llama2cPiece *pieces, int64_t count, Error *error) {
    if (count < FIRST_PIECE || count > MOST_PIECES) {
        error_set(error, "a llama2.c tokenizer has at least %d pieces, and not %lld", FIRST_PIECE,
                  (long long)count);
        return NULL;
    }
    Llama2cTokenizer *tokenizer = allocate_zeroed(1, sizeof *tokenizer);
    tokenizer->count = count;
    tokenizer->pieces = allocate((size_t)count, sizeof *tokenizer->pieces);
    tokenizer->id_of_text = allocate((size_t)count, sizeof *tokenizer->id_of_text);
    byte_map_init(&tokenizer->texts);
    for (int i = 0; i < 256; i++) tokenizer->byte_values[i] = (uint8_t)i;
    for (int64_t i = 0; i < count; i++) {
        Llama2cPiece *piece = &tokenizer->pieces[i];
        *piece = pieces[i];
        piece->bytes = allocate(piece->length, 1);
        if (piece->length == 0) continue;
        memcpy(piece->bytes, pieces[i].bytes, piece->length);
        uint32_t text = tokenizer->texts.count; /* of equal pieces the first one counts */
        if (byte_map_add(&tokenizer->texts, piece->bytes, piece->length,
                         piece->bytes + piece->length) == text)
            tokenizer->id_of_text[text] = (uint32_t)i;
    }
    return tokenizer;
}

void llama2c_tokenizer_free(Llama2cTokenizer *tokenizer) {
    if (!tokenizer) return;
    for (int64_t i = 0; i < tokenizer->count; i++) free(tokenizer->pieces[i].bytes);
    free(tokenizer->pieces);
    byte_map_free(&tokenizer->texts);
    free(tokenizer->id_of_text);
    free(tokenizer);
}

/* ---- files ---- */

Llama2cTokenizer *llama2c_tokenizer_parse(const void *data, size_t size, int64_t count,
                                          const char *name, Error *error) {
    const uint8_t *bytes = data;
    /* every piece takes 8 bytes or more, so an impossible count asks for no memory */
    if (count < 0 || size < 4 || (uint64_t)count > (size - 4) / 8) {
        error_set(error, "%s: is too short for the %lld pieces of this model's vocabulary", name,
                  (long long)count);
        return NULL;
    }
    Llama2cPiece *pieces = allocate((size_t)count, sizeof *pieces);
    size_t at = 4; /* the longest length is recomputed when needed */
    int64_t read = 0;
    for (; read < count && size - at >= 8; read++) {
        int32_t length;
        memcpy(&pieces[read].score, bytes + at, 4);
        memcpy(&length, bytes + at + 4, 4);
        at += 8;
        if (length < 0 || (size_t)length > size - at) break;
        pieces[read].bytes = (uint8_t *)(uintptr_t)(bytes + at);
        pieces[read].length = (size_t)length;
        at += (size_t)length;
    }
    Llama2cTokenizer *tokenizer = NULL;
    if (read < count || at != size)
        error_set(error,
                  "%s: does not hold exactly the %lld pieces of this model's vocabulary; it "
                  "belongs to another model or is damaged",
                  name, (long long)count);
    else
        tokenizer = llama2c_tokenizer_new(pieces, count, error);
    free(pieces);
    return tokenizer;
}

Llama2cTokenizer *llama2c_tokenizer_read(const char *path, int64_t count, Error *error) {
    MappedFile file;
    if (!file_map(&file, path, error)) return NULL;
    Llama2cTokenizer *tokenizer = llama2c_tokenizer_parse(file.data, file.size, count, path, error);
    file_unmap(&file);
    return tokenizer;
}

bool llama2c_tokenizer_write(const Llama2cTokenizer *tokenizer, const char *path, Error *error) {
    FileWriter writer;
    int32_t longest = 0;
    if (!file_writer_open(&writer, path, error)) return false;
    for (int64_t i = 0; i < tokenizer->count; i++)
        if ((int32_t)tokenizer->pieces[i].length > longest)
            longest = (int32_t)tokenizer->pieces[i].length;
    fwrite(&longest, sizeof longest, 1, writer.stream);
    for (int64_t i = 0; i < tokenizer->count; i++) {
        const Llama2cPiece *piece = &tokenizer->pieces[i];
        int32_t length = (int32_t)piece->length;
        fwrite(&piece->score, sizeof piece->score, 1, writer.stream);
        fwrite(&length, sizeof length, 1, writer.stream);
        fwrite(piece->bytes, 1, piece->length, writer.stream);
    }
    return file_writer_commit(&writer, NULL, error);
}

/* ---- encoding ---- */

/* The text as a chain of pieces; a merge joins a link with the next one. */
typedef struct Link {
    size_t start, length; /* bytes of the text */
    uint32_t id;
    int64_t previous, next; /* -1 at the ends */
} Link;

/* A possible merge. It is out of date when the links have changed since. */
typedef struct Candidate {
    float score;
    int64_t left;
    size_t length; /* of both together */
    uint32_t id;
} Candidate;

static inline bool goes_before(const void *context, Candidate a, Candidate b) {
    (void)context;
    return a.score > b.score || (a.score == b.score && a.left < b.left);
}
DEFINE_HEAP(CandidateHeap, candidate_heap, Candidate, goes_before)

/* Id of the piece with these bytes, or -1. */
static int64_t find(const Llama2cTokenizer *tokenizer, const uint8_t *bytes, size_t length) {
    uint32_t text = byte_map_find(&tokenizer->texts, bytes, length);
    return text == BYTE_MAP_NONE ? -1 : (int64_t)tokenizer->id_of_text[text];
}

/* Whether a link's piece spells the text under it; the byte piece "<0x41>" does not, so that it
 * takes no part in merging, as in run.c. */
static bool spells_text(const Llama2cTokenizer *tokenizer, const Link *link) {
    return tokenizer->pieces[link->id].length == link->length;
}

static void consider(CandidateHeap *heap, const Llama2cTokenizer *tokenizer, const uint8_t *text,
                     const Link *links, int64_t left) {
    if (left < 0 || links[left].next < 0) return;
    const Link *a = &links[left], *b = &links[a->next];
    size_t length = a->length + b->length;
    int64_t id = find(tokenizer, text + a->start, length);
    if (id < 0 || !spells_text(tokenizer, a) || !spells_text(tokenizer, b)) return;
    float score = tokenizer->pieces[id].score;
    if (score > LLAMA2C_NEVER_MERGED)
        candidate_heap_push(heap, NULL, (Candidate){score, left, length, (uint32_t)id});
}

/* Length of the UTF-8 character at `at` the way run.c sees it: a byte and up to three continuation
 * bytes. */
static size_t character_length(const uint8_t *text, size_t length, size_t at) {
    size_t end = at + 1;
    while (end < length && end - at < 4 && (text[end] & 0xC0) == 0x80) end++;
    return end - at;
}

static int64_t split_characters(const Llama2cTokenizer *tokenizer, const uint8_t *text,
                                size_t length, Link *links) {
    int64_t count = 0;
    for (size_t at = 0; at < length;) {
        /* the blank in front stands alone, whatever follows it */
        size_t size = at ? character_length(text, length, at) : 1, end = at + size;
        int64_t id = find(tokenizer, text + at, size);
        size_t step = id >= 0 ? size : 1; /* a character that is no piece falls apart into bytes */
        for (; at < end; at += step, count++) {
            uint32_t link_id = (uint32_t)(id >= 0 ? id : LLAMA2C_FIRST_BYTE + text[at]);
            links[count] = (Link){at, step, link_id, count - 1, count + 1};
        }
    }
    links[count - 1].next = -1;
    return count;
}

void llama2c_tokenizer_encode(const Llama2cTokenizer *tokenizer, const uint8_t *text, size_t length,
                              uint32_t **ids, size_t *count) {
    *ids = allocate(length + 2, sizeof **ids);
    *count = 0;
    (*ids)[(*count)++] = LLAMA2C_BEGIN;
    if (length == 0) return;
    uint8_t *spaced = allocate(length + 1, 1);
    spaced[0] = ' ';
    memcpy(spaced + 1, text, length);
    Link *links = allocate(length + 1, sizeof *links);
    int64_t link_count = split_characters(tokenizer, spaced, length + 1, links);
    CandidateHeap heap = {0};
    for (int64_t i = 0; i < link_count; i++) consider(&heap, tokenizer, spaced, links, i);
    while (heap.count > 0) {
        Candidate best = candidate_heap_pop(&heap, NULL);
        Link *left = &links[best.left];
        if (left->length == 0 || left->next < 0 ||
            left->length + links[left->next].length != best.length)
            continue;
        Link *right = &links[left->next];
        left->length = best.length;
        left->id = best.id;
        left->next = right->next;
        right->length = 0;
        if (left->next >= 0) links[left->next].previous = best.left;
        consider(&heap, tokenizer, spaced, links, best.left);
        consider(&heap, tokenizer, spaced, links, left->previous);
    }
    for (int64_t i = 0; i >= 0; i = links[i].next) (*ids)[(*count)++] = links[i].id;
    free(heap.items);
    free(links);
    free(spaced);
}

/* ---- decoding ---- */

static int hex_digit(uint8_t digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

const uint8_t *llama2c_tokenizer_bytes(const Llama2cTokenizer *tokenizer, uint32_t previous,
                                       uint32_t id, size_t *length) {
    *length = 0;
    if (id >= tokenizer->count) return NULL;
    const Llama2cPiece *piece = &tokenizer->pieces[id];
    if (id < LLAMA2C_FIRST_BYTE) return piece->bytes;
    const uint8_t *bytes = piece->bytes;
    *length = piece->length;
    if (piece->length == 6 && memcmp(bytes, "<0x", 3) == 0 && bytes[5] == '>') {
        int high = hex_digit(bytes[3]), low = hex_digit(bytes[4]);
        if (high >= 0 && low >= 0) {
            *length = 1;
            return &tokenizer->byte_values[high << 4 | low];
        }
    }
    if (previous == LLAMA2C_BEGIN && *length > 0 && *bytes == ' ') {
        bytes++;
        *length -= 1;
    }
    return bytes;
}
