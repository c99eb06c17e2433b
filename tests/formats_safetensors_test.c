/* safetensors: odd but valid files, hostile files, the writer, the checksum. */
#include "formats_helpers.h"

#include "formats/half.h"
#include "formats/safetensors.h"

/* A file with the given header text and `size` data bytes (0, 1, 2, …). */
static const char *make_file(const char *header, size_t size) {
    static uint8_t bytes[1 << 16];
    uint64_t length = strlen(header);
    assert_true(8 + length + size <= sizeof bytes);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < size; i++) bytes[8 + length + i] = (uint8_t)i;
    const char *path = scratch_path("made.safetensors");
    write_bytes(path, bytes, 8 + length + size);
    return path;
}

static void refuse(const char *path, const char *part_of_message) {
    Safetensors file;
    Error error = {""};
    if (safetensors_open(&file, path, &error)) fail_msg("accepted, though %s", part_of_message);
    if (!strstr(error.message, part_of_message) || !strstr(error.message, path))
        fail_msg("'%s' should name the file and say '%s'", error.message, part_of_message);
}

CASES_TEST(test_cases) {
    const char *path = need_case("cases/st/expect.json");
    cJSON *json = read_json(path), *item, *wanted;
    int files = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "ok")) {
        char name[128];
        snprintf(name, sizeof name, "cases/st/%s", item->string);
        Safetensors file;
        Error error = {""};
        if (!safetensors_open(&file, case_path(name), &error)) fail_msg("%s", error.message);
        files++;
        cJSON_ArrayForEach(wanted, cJSON_GetObjectItem(item, "expect")) {
            const StoredTensor *tensor = stored_tensors_find(&file.tensors, wanted->string);
            if (!tensor) fail_msg("%s: no tensor '%s'", name, wanted->string);
            assert_int_equal(tensor->count, cJSON_GetArraySize(wanted));
            real values[16];
            assert_true(tensor->count <= 16 && stored_tensor_to_real(tensor, values));
            for (int i = 0; i < tensor->count; i++)
                assert_true((double)values[i] == cJSON_GetArrayItem(wanted, i)->valuedouble);
        }
        safetensors_close(&file);
    }
    assert_true(files > 0);
    cJSON_Delete(json);
}

TEST(test_valid) {
    Safetensors file;
    Error error = {""};
    const char *header =
        "{\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[1,25]},"
        "\"__metadata__\":{\"k\":\"v\",\"K\":\"w\"},"
        "\"e\":{\"dtype\":\"F64\",\"shape\":[0,1099511627776],\"data_offsets\":[1,1]},"
        "\"a\":{\"shape\":[],\"data_offsets\":[0,1],\"dtype\":\"BOOL\"}} \n\t ";
    if (!safetensors_open(&file, make_file(header, 25), &error)) fail_msg("%s", error.message);
    assert_int_equal(file.tensors.count, 3);
    assert_string_equal(file.tensors.items[0].name, "b");
    assert_string_equal(safetensors_metadata(&file, "k"), "v");
    assert_string_equal(safetensors_metadata(&file, "K"), "w");
    assert_null(safetensors_metadata(&file, "x"));
    assert_null(stored_tensors_find(&file.tensors, "B"));
    const StoredTensor *b = stored_tensors_find(&file.tensors, "b"),
                       *a = stored_tensors_find(&file.tensors, "a");
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->shape[1], 3);
    assert_int_equal(*(const uint8_t *)b->data, 1);
    assert_int_equal(a->count, 1);
    assert_int_equal(a->bytes, 1);
    assert_false(stored_tensor_to_real(a, NULL));
    assert_int_equal(stored_tensors_find(&file.tensors, "e")->count, 0);
    safetensors_close(&file);
}

#define ENTRY(type, shape, offsets)                                                                \
    "{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define W(type, shape, offsets) "{\"w\":" ENTRY(type, shape, offsets) "}"

TEST(test_hostile_headers) {
    static const struct {
        const char *header;
        size_t size;
        const char *message;
    } cases[] = {
        {W("F32", "[2]", "[0,8]"), 7, "'w'"},
        {W("F32", "[2]", "[0,8]"), 9, "1 bytes after"},
        {W("F32", "[2]", "[0,4]"), 8, "'w'"},
        {W("F32", "[2]", "[1,9]"), 9, "hole"},
        {W("F32", "[2]", "[8,0]"), 8, "'w'"},
        {W("F32", "[2]", "[-8,0]"), 8, "'w'"},
        {W("F32", "[2]", "[0,8,8]"), 8, "'w'"},
        {W("F32", "[2]", "[0.5,8.5]"), 9, "'w'"},
        {W("F32", "[2]", "[0,1e400]"), 8, "too large"},
        {W("F32", "[2]", "[0,18446744073709551616]"), 8, "'w'"},
        {W("F32", "[2]", "[\"0\",\"8\"]"), 8, "'w'"},
        {W("F32", "[-2]", "[0,8]"), 8, "shape"},
        {W("F32", "[2.5]", "[0,8]"), 8, "shape"},
        {W("F32", "[null]", "[0,8]"), 8, "shape"},
        {W("F32", "2", "[0,8]"), 8, "shape"},
        {W("F32", "[4294967296,4294967296]", "[0,0]"), 0, "shape"},
        {W("F32", "[2305843009213693952,4]", "[0,0]"), 0, "shape"},
        {W("F64", "[2305843009213693952]", "[0,0]"), 0, "'w'"},
        {W("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "dimensions"},
        {W("F8_E4M3", "[4]", "[0,4]"), 4, "F8_E4M3"},
        {W("f32", "[1]", "[0,4]"), 4, "f32"},
        {"{\"w\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype"},
        {"{\"w\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "no \"dtype\""},
        {"{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "no \"shape\""},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "no \"data_offsets\""},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         "second time"},
        {"{\"w\":[1]}", 0, "not an object"},
        {"{\"w\":" ENTRY("F32", "[1]", "[0,4]") ",\"w\":" ENTRY("F32", "[1]", "[4,8]") "}", 8,
         "second time"},
        {"{\"w\":" ENTRY("F32", "[2]", "[0,8]") ",\"v\":" ENTRY("F32", "[2]", "[4,12]") "}", 12,
         "overlaps"},
        {"{\"w\":" ENTRY("F32", "[2]", "[0,8]") ",\"v\":" ENTRY("F32", "[2]", "[0,8]") "}", 8,
         "overlaps"},
        {"{\"__metadata__\":[]}", 0, "__metadata__"},
        {"{\"__metadata__\":{\"k\":1}}", 0, "'k'"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "second time"},
        {"{\"w\\u0000x\":" ENTRY("F32", "[1]", "[0,4]") "}", 4, "line 1"},
        {"[]", 0, "JSON object"},
        {" {}", 0, "JSON object"},
        {"{} x", 0, "line 1"},
        {"{}}", 0, "line 1"},
        {"{", 0, "line 1"},
        {"{\"w\":", 0, "line 1"},
        {"", 0, "JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(make_file(cases[i].header, cases[i].size), cases[i].message);

    static char deep[40000];
    memset(deep, '[', sizeof deep - 1);
    memcpy(deep, "{\"w\":", 5);
    refuse(make_file(deep, 0), "line 1");
}

TEST(test_hostile_lengths) {
    const char *path = scratch_path("length.safetensors");
    static const uint64_t lengths[] = {
        3, 100, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char bytes[10] = "........{}";
        memcpy(bytes, &lengths[i], 8);
        write_bytes(path, bytes, sizeof bytes);
        refuse(path, "header");
    }
    size_t size;
    char *bytes = read_bytes(make_file(W("F32", "[2,2]", "[0,16]"), 16), &size);
    for (size_t cut = 0; cut < size; cut++) {
        write_bytes(path, bytes, cut);
        refuse(path, "");
    }
    free(bytes);
}

static const StoredTensor *test_items(void) {
    static const uint8_t bytes[3] = {1, 2, 3};
    static const float floats[6] = {1, -2, 3.5F, 0, 1e-40F, 5};
    static const uint64_t big[1] = {UINT64_MAX};
    static const StoredTensor items[] = {
        {"odd \"name\"\n\xc3\xa9", NUMBER_U8, 1, {3}, bytes, 0, 0},
        {"weights", NUMBER_F32, 2, {2, 3}, floats, 0, 0},
        {"none", NUMBER_F32, 2, {0, 3}, NULL, 0, 0},
        {"step", NUMBER_U64, 0, {0}, big, 0, 0},
    };
    return items;
}

TEST(test_write) {
    static const char *const metadata[][2] = {{"config", "{\"a\": 1}\n"}, {"x", ""}};
    const StoredTensor *items = test_items();
    const char *path = scratch_path("written.safetensors");
    for (int checksum = 0; checksum < 2; checksum++) {
        Safetensors file;
        Error error = {""};
        assert_true(safetensors_write(path, items, 4, metadata, 2, checksum, NULL, &error));
        if (!safetensors_open(&file, path, &error)) fail_msg("%s", error.message);
        assert_int_equal(file.tensors.count, 4);
        for (int i = 0; i < 4; i++) {
            const StoredTensor *tensor = stored_tensors_find(&file.tensors, items[i].name);
            assert_non_null(tensor);
            assert_int_equal(tensor->type, items[i].type);
            assert_int_equal(tensor->rank, items[i].rank);
            if (tensor->bytes) assert_memory_equal(tensor->data, items[i].data, tensor->bytes);
            assert_int_equal((uintptr_t)tensor->data % number_type_size(tensor->type), 0);
        }
        assert_string_equal(safetensors_metadata(&file, "config"), "{\"a\": 1}\n");
        assert_string_equal(safetensors_metadata(&file, "x"), "");
        assert_int_equal(safetensors_verify(&file, &error), checksum);
        safetensors_close(&file);
    }
}

/* Whatever byte changes, either the header is refused or the checksum differs. */
TEST(test_checksum_finds_changes) {
    static const char *const metadata[][2] = {{"k", "v"}};
    const char *path = scratch_path("sum.safetensors");
    Error error;
    size_t size;
    assert_true(safetensors_write(path, test_items(), 4, metadata, 1, true, NULL, &error));
    char *bytes = read_bytes(path, &size);
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            Safetensors file;
            bytes[i] ^= (char)(1 << bit);
            if (safetensors_parse(&file, bytes, size, path, &error)) {
                assert_false(safetensors_verify(&file, &error));
                safetensors_close(&file);
            }
            bytes[i] ^= (char)(1 << bit);
        }
    free(bytes);
}

TEST(test_previous_and_failures) {
    const char *path = scratch_path("now.safetensors"),
               *before = scratch_path("before.safetensors");
    float one = 1, two = 2;
    StoredTensor item = {"w", NUMBER_F32, 0, {0}, &one, 0, 0};
    Error error;
    Safetensors file;
    real value;
    assert_true(safetensors_write(path, &item, 1, NULL, 0, false, before, &error));
    assert_false(file_exists(before));
    item.data = &two;
    assert_true(safetensors_write(path, &item, 1, NULL, 0, false, before, &error));
    assert_true(safetensors_open(&file, before, &error));
    assert_true(stored_tensor_to_real(stored_tensors_find(&file.tensors, "w"), &value) &&
                value == 1);
    safetensors_close(&file);
    item.name = "__metadata__";
    assert_false(safetensors_write(path, &item, 1, NULL, 0, false, NULL, &error));
    assert_false(
        safetensors_write(scratch_path("no/such/f"), &item, 0, NULL, 0, false, NULL, &error));
    assert_true(safetensors_open(&file, path, &error));
    assert_true(stored_tensor_to_real(stored_tensors_find(&file.tensors, "w"), &value) &&
                value == 2);
    safetensors_close(&file);
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
