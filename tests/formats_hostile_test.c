/* GGUF and llama2.c files that lie: the shared ones, and every kind made here. */
#include <math.h>

#include "model_files.h"

#include "formats/gguf/gguf.h"

/* ---- files of others, of the kinds that are made below ---- */

static void refuse_all(const char *folder, const char *const *names) {
    for (; *names; names++) {
        char name[128];
        snprintf(name, sizeof name, "%s/%s", folder, *names);
        const char *path = need_case(name);
        refuse_reading(path, path);
    }
}

SHARED_TEST(test_shared_gguf) {
    static const char *const names[] = {"bad_alignment_0.gguf",
                                        "bad_alignment_3.gguf",
                                        "bad_alignment_wrong_type.gguf",
                                        "bad_array_len_huge.gguf",
                                        "bad_array_nested_type.gguf",
                                        "bad_dims_negative.gguf",
                                        "bad_dims_product_wraps.gguf",
                                        "bad_duplicate_key.gguf",
                                        "bad_duplicate_tensor.gguf",
                                        "bad_empty.gguf",
                                        "bad_magic.gguf",
                                        "bad_n_dims_9.gguf",
                                        "bad_n_kv_huge.gguf",
                                        "bad_n_tensors_huge.gguf",
                                        "bad_n_tensors_neg.gguf",
                                        "bad_offset_past_end.gguf",
                                        "bad_offset_unaligned.gguf",
                                        "bad_scores_as_u8.gguf",
                                        "bad_string_len_huge.gguf",
                                        "bad_string_len_wraps.gguf",
                                        "bad_tensor_type.gguf",
                                        "bad_truncated_in_data.gguf",
                                        "bad_truncated_in_kv.gguf",
                                        "bad_value_type.gguf",
                                        "bad_version_0.gguf",
                                        "bad_version_big_endian.gguf",
                                        NULL};
    refuse_all("cases/gguf", names);
}

SHARED_TEST(test_shared_llama2c) {
    static const char *const names[] = {"bad_claims_untied.bin",
                                        "bad_header_only.bin",
                                        "bad_huge.bin",
                                        "bad_int_min_vocab.bin",
                                        "bad_negative_layers.bin",
                                        "bad_short_header.bin",
                                        "bad_trailing.bin",
                                        "bad_truncated.bin",
                                        "bad_zero_dim.bin",
                                        NULL};
    refuse_all("cases/l2c", names);
}

/* ---- GGUF made here ---- */

/* Little-endian bytes of a GGUF file, piece by piece. */
static uint8_t bytes[4096];
static size_t used;

static void put(const void *data, size_t size) {
    memcpy(bytes + used, data, size);
    used += size;
}
static void put32(uint32_t value) {
    put(&value, 4);
}
static void put64(uint64_t value) {
    put(&value, 8);
}
static void put_text(const char *text) {
    put64(strlen(text));
    put(text, strlen(text));
}
static void begin(uint32_t version, uint64_t tensors, uint64_t values) {
    used = 0;
    put("GGUF", 4);
    put32(version);
    put64(tensors);
    put64(values);
}
static void put_tensor(const char *name, uint32_t rank, uint64_t length, uint32_t type,
                       uint64_t offset) {
    put_text(name);
    put32(rank);
    for (uint32_t i = 0; i < rank; i++) put64(length);
    put32(type);
    put64(offset);
}
/* Pads to 32 and adds `size` zero bytes. */
static void put_data(size_t size) {
    size_t total = (used + 31) / 32 * 32 + size;
    memset(bytes + used, 0, total - used);
    used = total;
}

static void refuse(const char *part_of_message) {
    Gguf file;
    Error error = {""};
    uint8_t *copy =
        malloc(used); /* exactly as long, so that AddressSanitizer sees a byte too far */
    memcpy(copy, bytes, used);
    if (gguf_parse(&file, copy, used, "x.gguf", &error))
        fail_msg("accepted, though it should say '%s'", part_of_message);
    if (!strstr(error.message, part_of_message))
        fail_msg("'%s' does not say '%s'", error.message, part_of_message);
    free(copy);
}

static void accept(void) {
    Gguf file;
    Error error = {""};
    if (!gguf_parse(&file, bytes, used, "x.gguf", &error)) fail_msg("%s", error.message);
    gguf_close(&file);
}

TEST(test_gguf_headers) {
    begin(3, 0, 0);
    accept();
    begin(2, 0, 0);
    accept();
    begin(1, 0, 0);
    refuse("version");
    begin(0x03000000, 0, 0);
    refuse("big-endian");
    begin(3, 0, 1);
    refuse("more than the file can hold");
    begin(3, UINT64_MAX / 32, 0);
    refuse("tensors, more than the file can hold");
    for (size_t cut = 0; cut < 24; cut++) {
        begin(3, 0, 0);
        used = cut;
        refuse("");
    }
}

TEST(test_gguf_values) {
    static const struct {
        uint32_t type, element;
        uint64_t count;
    } arrays[] = {{9, 9, 1}, {9, 13, 1}, {9, 0, UINT64_MAX}, {9, 10, UINT64_MAX / 8 + 1},
                  {9, 8, 3}, {9, 4, 5},  {13, 0, 0},         {UINT32_MAX, 0, 0}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        begin(3, 0, 1);
        put_text("key");
        put32(arrays[i].type);
        put32(arrays[i].element);
        put64(arrays[i].count);
        put64(0);
        refuse("'key'");
    }
    begin(3, 0, 2);
    for (int twice = 0; twice < 2; twice++) {
        put_text("key");
        put32(GGUF_UINT32);
        put32(5);
    }
    refuse("twice");
    static const uint32_t alignments[] = {0, 3, 48};
    for (size_t i = 0; i < 3; i++) {
        begin(3, 0, 1);
        put_text("general.alignment");
        put32(GGUF_UINT32);
        put32(alignments[i]);
        refuse("power of two");
    }
}

TEST(test_gguf_tensors) {
    begin(3, 1, 0), put_tensor("w", 1, 4, 0, 0), put_data(16);
    accept();
    begin(3, 1, 0), put_tensor("w", 1, 4, 0, 0), put_data(15);
    refuse("does not lie within");
    begin(3, 1, 0), put_tensor("w", 1, 4, 0, 32), put_data(16);
    refuse("does not lie within");
    begin(3, 1, 0), put_tensor("w", 1, 4, 0, UINT64_MAX - 31), put_data(16);
    refuse("does not lie within");
    begin(3, 1, 0), put_tensor("w", 1, 4, 0, 4), put_data(64);
    refuse("not aligned");
    begin(3, 1, 0), put_tensor("w", 0, 4, 0, 0), put_data(16);
    refuse("0 dimensions");
    begin(3, 1, 0), put_tensor("w", 5, 1, 0, 0), put_data(16);
    refuse("5 dimensions");
    begin(3, 1, 0), put_tensor("w", 2, UINT64_C(1) << 32, 0, 0), put_data(16);
    refuse("impossible shape");
    begin(3, 1, 0), put_tensor("w", 1, UINT64_C(1) << 63, 0, 0), put_data(16);
    refuse("impossible shape");
    begin(3, 1, 0), put_tensor("w", 1, UINT64_C(1) << 62, 0, 0), put_data(16);
    refuse("impossible shape"); /* its bytes wrap */
    begin(3, 1, 0), put_tensor("w", 1, 4, 4, 0), put_data(16);
    refuse("unknown type 4");
    begin(3, 1, 0), put_tensor("w", 1, 33, 8, 0), put_data(64);
    refuse("impossible shape"); /* Q8_0 comes in blocks of 32 */
    begin(3, 2, 0), put_tensor("w", 1, 4, 0, 0), put_tensor("w", 1, 4, 0, 32), put_data(64);
    refuse("two tensors named 'w'");
    begin(3, 2, 0), put_tensor("w", 1, 16, 0, 0), put_tensor("v", 1, 4, 0, 32), put_data(64);
    refuse("overlaps");
    begin(3, 2, 0), put_tensor("w", 1, 4, 0, 32), put_tensor("v", 1, 4, 0, 0), put_data(64);
    accept(); /* in any order */
}

/* The data begins at a multiple of general.alignment, whatever that is. */
TEST(test_gguf_alignment) {
    for (uint32_t alignment = 1; alignment <= 256; alignment *= 2) {
        begin(3, 1, 1);
        put_text("general.alignment"), put32(GGUF_UINT32), put32(alignment);
        put_tensor("w", 1, 2, NUMBER_F32, 0);
        while (used % alignment != 0) put("", 1);
        put((const float[]){3, 5}, 8);
        Gguf file;
        Error error;
        if (!gguf_parse(&file, bytes, used, "x.gguf", &error)) fail_msg("%s", error.message);
        real values[2];
        assert_true(stored_tensor_to_real(stored_tensors_find(&file.tensors, "w"), values));
        assert_true(values[0] == 3 && values[1] == 5);
        gguf_close(&file);
    }
}

/* Every type of number as an integer and as a real number. */
TEST(test_gguf_numbers) {
    static const struct {
        GgufType type;
        uint64_t bits;
        bool whole;
        double value;
    } cases[] = {
        {GGUF_UINT8, 0xFF, true, 255},
        {GGUF_INT8, 0xFF, true, -1},
        {GGUF_UINT16, 0x8001, true, 32769},
        {GGUF_INT16, 0x8001, true, -32767},
        {GGUF_UINT32, 0xFFFFFFFF, true, 4294967295.0},
        {GGUF_INT32, 0xFFFFFFFF, true, -1},
        {GGUF_UINT64, UINT64_C(1) << 62, true, 4611686018427387904.0},
        {GGUF_UINT64, UINT64_C(1) << 63, false, NAN}, /* fits no int64_t */
        {GGUF_INT64, UINT64_C(1) << 63, true, -9223372036854775808.0},
        {GGUF_FLOAT32, 0x40200000, false, 2.5},
        {GGUF_FLOAT64, UINT64_C(0x4004000000000000), false, 2.5},
        {GGUF_BOOL, 1, false, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(3, 0, 1);
        put_text("key"), put32(cases[i].type), put64(cases[i].bits);
        Gguf file;
        Error error;
        if (!gguf_parse(&file, bytes, used, "x.gguf", &error)) fail_msg("%s", error.message);
        const GgufValue *value = gguf_value(&file, "key");
        int64_t whole;
        double number;
        assert_int_equal(gguf_integer(value, 0, &whole), cases[i].whole);
        if (cases[i].whole) assert_true((double)whole == cases[i].value);
        assert_int_equal(gguf_number(value, 0, &number), !isnan(cases[i].value));
        if (!isnan(cases[i].value)) assert_true(number == cases[i].value);
        gguf_close(&file);
    }
}

/* ---- whole models, cut and changed ---- */

static void damage(int format, const char *name) {
    ModelConfig config = small_config();
    config.vocab_size = 265;
    config.d_model = 4, config.num_heads = 2, config.num_kv_heads = 1, config.d_ff = 3;
    config.num_layers = 1, config.context_length = 3;
    ModelFile file = small_file(&config, format == MODEL_GGUF);
    const char *path = scratch_path(name);
    write_model(&file, format, path);
    model_file_free(&file);
    size_t size;
    uint8_t *whole = (uint8_t *)read_bytes(path, &size);
    Error error;
    /* every truncation is refused; a GGUF file's last padding, 31 bytes or less, may be missing */
    for (size_t cut = 0; cut + 31 < size; cut += cut < 8000 ? 1 : 37) {
        ModelFile got = {0};
        uint8_t *part = malloc(cut ? cut : 1);
        memcpy(part, whole, cut);
        if (model_formats[format]->parse(&got, part, cut, "x", NULL, &error))
            fail_msg("%s: read when cut to %zu of %zu bytes", name, cut, size);
        model_file_free(&got);
        free(part);
    }
    for (int round = 0; round < 3000; round++) { /* changed bytes: anything but a crash */
        uint64_t draw = random_u64(5, RANDOM_TEST, (uint64_t)round);
        size_t at = draw % (round % 2 ? size : 600 < size ? 600 : size);
        uint8_t before = whole[at];
        whole[at] = (uint8_t)(draw >> 40);
        ModelFile got = {0};
        model_formats[format]->parse(&got, whole, size, "x", NULL, &error);
        model_file_free(&got);
        whole[at] = before;
    }
    free(whole);
}

TEST(test_damaged_gguf) {
    damage(MODEL_GGUF, "damaged.gguf");
}

TEST(test_damaged_llama2c) {
    damage(MODEL_LLAMA2C, "damaged.bin");
}

TEST(test_what_is_no_model) {
    const char *path = scratch_path("text.txt");
    write_bytes(path, "hello", 5);
    refuse_reading(path, "not a recognized model format");
    refuse_reading(scratch, "no config.json");
    refuse_reading(scratch_path("absent.gguf"), "no such file");
    refuse_reading("/dev/null", "not a regular file");
    path = scratch_path("lone.safetensors");
    write_bytes(path, "\2\0\0\0\0\0\0\0{}", 10);
    refuse_reading(path, "no config.json beside it");
    path = scratch_path("config.json");
    write_bytes(path, "{\"a\": 1}", 8);
    refuse_reading(scratch, "describes no model");
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
