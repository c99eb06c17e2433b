/* Separators in a text file, wherever they stand, come through encoding and decoding unchanged; and
 * the map of byte strings behind the tokenizer against a plain sorted list. */
#include "tokenizer_helpers.h"

#include "base/parallel.h"

/* ---- separators ---- */

#define SEPARATOR "<|endoftext|>"

/* A piece: a pre-token or a separator, its bytes in a JSON string of hex digits or as they are. */
typedef struct Piece {
    bool special;
    uint8_t *bytes;
    size_t length;
} Piece;

/* Encodes the file with a tokenizer that has learned all of it: each pre-token is one token then, so
 * the ids are the pieces. */
static void check_pieces(const char *text, const Piece *pieces, size_t count) {
    const char *const specials[] = {SEPARATOR};
    Tokenizer *tokenizer = train_on_text(text, 200, specials, 1);
    IdList ids = {0};
    Error error;
    for (size_t chunk = 0; chunk < 8; chunk++) {
        ids.count = 0;
        if (!encode_file(tokenizer, scratch_path("corpus.txt"), chunk, encode_into_list, &ids, NULL,
                         &error))
            fail_msg("%s", error.message);
        assert_int_equal(ids.count, count);
        for (size_t i = 0; i < count; i++) {
            size_t length;
            const uint8_t *bytes = tokenizer_token(tokenizer, ids.ids[i], &length);
            assert_int_equal(length, pieces[i].length);
            assert_memory_equal(bytes, pieces[i].bytes, length);
            assert_int_equal(tokenizer_is_special(tokenizer, ids.ids[i]), pieces[i].special);
        }
    }
    size_t length;
    uint8_t *decoded = tokenizer_decode(tokenizer, ids.ids, ids.count, &length, &error);
    assert_non_null(decoded);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(decoded, text, length);
    free(decoded);
    free(ids.ids);
    tokenizer_free(tokenizer);
}

/* "|" stands between pieces, "§" for a separator. */
static void check_text(const char *marked) {
    char text[256] = "";
    Piece pieces[16];
    size_t count = 0;
    char *copy = string_copy(marked), *rest = copy;
    for (char *word; (word = strsep(&rest, "|"));) {
        bool special = strcmp(word, "§") == 0;
        char *bytes = special ? SEPARATOR : word;
        strcat(text, bytes);
        pieces[count++] = (Piece){special, (uint8_t *)bytes, strlen(bytes)};
    }
    check_pieces(text, pieces, count);
    free(copy);
}

TEST(separators_stay_where_they_are) {
    check_text("red|§|blue");
    check_text("red|§|blue|§");
    check_text("§|red");
    check_text("§");
    check_text("§|§|§|§");
    check_text("no| separator| here|\n");
    check_text("red|\n|§|\n|blue|\n|§|\n");
    check_text("x|§|     |§|y|     ");
    check_text("cut|<|endoftext");
}

CASES_TEST(separators_in_files) {
    const char *path = need_case("cases/data/d05.expect.json");
    cJSON *json = read_json(path);
    const cJSON *file;
    cJSON_ArrayForEach(file, cJSON_GetObjectItem(json, "files")) {
        char name[128];
        snprintf(name, sizeof name, "cases/data/%s", file->string);
        size_t size;
        char *text = read_bytes(case_path(name), &size);
        Piece pieces[32];
        size_t count = 0;
        const cJSON *piece;
        cJSON_ArrayForEach(piece, file) {
            Piece *p = &pieces[count++];
            p->special = cJSON_GetArrayItem(piece, 0)->valuestring[0] == 's';
            p->bytes = from_hex(cJSON_GetArrayItem(piece, 1)->valuestring, &p->length);
        }
        check_pieces(text, pieces, count);
        for (size_t i = 0; i < count; i++) free(pieces[i].bytes);
        free(text);
    }
    cJSON_Delete(json);
}

/* ---- the map ---- */

enum { STRINGS = 100000, LONGEST = 40 };
typedef struct String {
    uint8_t bytes[LONGEST];
    uint32_t length, number; /* number: its place in the order of first appearance */
} String;

static int compare(const void *a, const void *b) {
    const String *x = a, *y = b;
    size_t shorter = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->bytes, y->bytes, shorter);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* Few different bytes, NUL among them, so that many strings are equal or prefixes of others. */
static String draw_string(uint64_t i) {
    String string = {.number = (uint32_t)i};
    string.length = 1 + (uint32_t)random_below(1, RANDOM_TEST, i * 64, LONGEST);
    if (i % 3) string.length = 1 + string.length % 9;
    for (uint32_t b = 0; b < string.length; b++)
        string.bytes[b] = (uint8_t)(random_below(1, RANDOM_TEST, i * 64 + 1 + b, 4) * 85);
    return string;
}

TEST(the_map_agrees_with_a_sorted_list) {
    ByteMap map;
    byte_map_init(&map);
    assert_int_equal(byte_map_find(&map, (const uint8_t *)"a", 1), BYTE_MAP_NONE);
    String *strings = allocate(STRINGS, sizeof *strings);
    for (uint32_t i = 0; i < STRINGS; i++) strings[i] = draw_string(i);
    qsort(strings, STRINGS, sizeof *strings, compare);
    /* the number of a string is how many different ones appeared before it */
    uint32_t *first = allocate(STRINGS, sizeof *first), distinct = 0;
    for (uint32_t i = 0; i < STRINGS; i++) first[i] = UINT32_MAX;
    for (uint32_t i = 0, same = 0; i < STRINGS; i = same) {
        uint32_t earliest = UINT32_MAX;
        for (same = i; same < STRINGS && compare(&strings[i], &strings[same]) == 0; same++)
            if (strings[same].number < earliest) earliest = strings[same].number;
        first[earliest] = i;
    }
    for (uint32_t i = 0; i < STRINGS; i++) {
        String string = draw_string(i);
        bool is_new = first[i] != UINT32_MAX;
        if (is_new) {
            assert_int_equal(byte_map_find(&map, string.bytes, string.length), BYTE_MAP_NONE);
            first[distinct] = first[i]; /* distinct <= i: read before */
        }
        /* with room to read 8 bytes at once and without */
        const uint8_t *end = string.bytes + (i % 2 ? string.length : LONGEST);
        uint32_t number = byte_map_add(&map, string.bytes, string.length, end);
        if (is_new) assert_int_equal(number, distinct++);
        assert_int_equal(map.count, distinct);
        assert_int_equal(compare(&strings[first[number]], &string), 0);
        assert_int_equal(byte_map_find(&map, string.bytes, string.length), number);
    }
    assert_in_range(distinct, STRINGS / 4, STRINGS - 1000);
    for (uint32_t number = 0; number < distinct; number++) {
        size_t length;
        const uint8_t *bytes = byte_map_string(&map, number, &length);
        assert_int_equal(length, strings[first[number]].length);
        assert_memory_equal(bytes, strings[first[number]].bytes, length);
    }
    byte_map_clear(&map);
    assert_int_equal(byte_map_find(&map, strings[0].bytes, strings[0].length), BYTE_MAP_NONE);
    free(first);
    free(strings);
    byte_map_free(&map);
}

TEST(strings_that_differ_after_a_nul) {
    const struct {
        const char *bytes;
        size_t length;
    } strings[] = {{"a", 1},
                   {"a\0", 2},
                   {"a\0b", 3},
                   {"a\0c", 3},
                   {"\0", 1},
                   {"\0\0", 2},
                   {"\0\0\0", 3},
                   {"\0\0\0\0\0\0\0\0", 8},
                   {"\0\0\0\0\0\0\0\0\0", 9},
                   {"abcdefgh", 8},
                   {"abcdefgh\0", 9}};
    ByteMap map;
    byte_map_init(&map);
    for (int again = 0; again < 2; again++)
        for (uint32_t i = 0; i < sizeof strings / sizeof *strings; i++) {
            const uint8_t *bytes = (const uint8_t *)strings[i].bytes;
            assert_int_equal(
                byte_map_add(&map, bytes, strings[i].length, bytes + strings[i].length), i);
        }
    byte_map_free(&map);
}

int main(void) {
    parallel_start(0);
    return run_all_tests(make_scratch, remove_scratch);
}
