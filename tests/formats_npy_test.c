/* .npy: what the writer writes, what the reader accepts, and what it refuses. */
#include "formats_helpers.h"

#include "formats/npy.h"

/* A file as numpy (or something worse) would write it: header text with given version. */
static const char *make_file(int major, const char *header, size_t pad_to, const void *data,
                             size_t size) {
    const char *path = scratch_path("made.npy");
    uint8_t bytes[1024];
    size_t prefix = major == 1 ? 10 : 12, length = strlen(header);
    memset(bytes, ' ', sizeof bytes);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)major;
    bytes[7] = 0;
    memcpy(bytes + prefix, header, length);
    size_t total = (prefix + length + 1 + pad_to - 1) / pad_to * pad_to;
    bytes[total - 1] = '\n';
    size_t announced = total - prefix;
    memset(bytes + 8, 0, prefix - 8);
    bytes[8] = (uint8_t)announced;
    bytes[9] = (uint8_t)(announced >> 8);
    memcpy(bytes + total, data, size);
    write_bytes(path, bytes, total + size);
    return path;
}

TEST(test_round_trip) {
    enum { COUNT = 20000 };
    static uint32_t ids[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) ids[i] = i * 2654435761U >> 16;
    const char *path = scratch_path("ids.npy");
    Error error;
    for (int type = NPY_UINT16; type <= NPY_UINT32; type++) {
        if (type == NPY_UINT32) ids[5] = UINT32_MAX;
        NpyWriter writer;
        assert_true(npy_writer_open(&writer, path, (NpyType)type, &error));
        assert_true(npy_writer_write(&writer, ids, 1));
        assert_true(npy_writer_write(&writer, ids + 1, 0));
        assert_true(npy_writer_write(&writer, ids + 1, COUNT - 1));
        assert_true(npy_writer_commit(&writer, &error));
        NpyArray array;
        assert_true(npy_open(&array, path, &error));
        assert_int_equal(array.type, type);
        assert_int_equal(array.count, COUNT);
        for (int64_t i = 0; i < COUNT; i++) assert_int_equal(npy_get(&array, i), ids[i]);
        npy_close(&array);
    }
    size_t size;
    char *bytes = read_bytes(path, &size);
    assert_int_equal(size, 128 + 4 * COUNT);
    assert_memory_equal(bytes,
                        "\x93NUMPY\x01\0\x76\0{'descr': '<u4', 'fortran_order': False, "
                        "'shape': (20000,), }   ",
                        72);
    assert_int_equal(bytes[127], '\n');
    free(bytes);
}

TEST(test_empty) {
    NpyWriter writer;
    NpyArray array;
    Error error;
    const char *path = scratch_path("empty.npy");
    assert_true(npy_writer_open(&writer, path, NPY_UINT16, &error));
    assert_true(npy_writer_commit(&writer, &error));
    assert_true(npy_open(&array, path, &error));
    assert_int_equal(array.count, 0);
    npy_close(&array);
}

/* Until it is committed a file is not there; an id that does not fit means it never is. */
TEST(test_atomic) {
    char *temporary = string_format("%s.tmp.%ld", scratch_path("atomic.npy"), (long)getpid());
    NpyWriter writer;
    Error error;
    const char *path = scratch_path("atomic.npy");
    uint32_t ids[3] = {1, 65536, 2};
    assert_true(npy_writer_open(&writer, path, NPY_UINT16, &error));
    assert_true(npy_writer_write(&writer, ids, 1));
    assert_false(file_exists(path));
    assert_true(file_exists(temporary));
    assert_false(npy_writer_write(&writer, ids, 3));
    assert_false(npy_writer_commit(&writer, &error));
    assert_non_null(strstr(error.message, "65536"));
    assert_false(file_exists(path));
    assert_false(file_exists(temporary));
    assert_true(npy_writer_open(&writer, path, NPY_UINT16, &error));
    npy_writer_abort(&writer);
    assert_false(file_exists(path));
    assert_false(file_exists(temporary));
    free(temporary);
}

TEST(test_versions_and_spellings) {
    const char *headers[] = {
        "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }",
        "{'shape': (3,), 'fortran_order': False, 'descr': '<u2'}",
        "{\"descr\":\"<u2\",\"fortran_order\":False,\"shape\":(3 , )}",
        "{'descr': '<u2', 'fortran_order': False, 'shape': (3L,), }",
    };
    uint16_t ids[3] = {7, 0, 65535};
    for (int major = 1; major <= 3; major++)
        for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
            NpyArray array;
            Error error = {""};
            if (!npy_open(&array, make_file(major, headers[i], 64, ids, sizeof ids), &error))
                fail_msg("%s", error.message);
            assert_int_equal(array.count, 3);
            for (int k = 0; k < 3; k++) assert_int_equal(npy_get(&array, k), ids[k]);
            npy_close(&array);
        }
}

static void refuse(const char *path, const char *part_of_message) {
    NpyArray array;
    Error error = {""};
    assert_false(npy_open(&array, path, &error));
    assert_null(array.data);
    if (!strstr(error.message, part_of_message) || !strstr(error.message, path))
        fail_msg("'%s' should name the file and say '%s'", error.message, part_of_message);
}

TEST(test_refusals) {
    uint16_t ids[4] = {1, 2, 3, 4};
    const char *good = "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }";
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"{'descr': '>u2', 'fortran_order': False, 'shape': (3,), }", ">u2"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", "<i8"},
        {"{'descr': '<u2x', 'fortran_order': False, 'shape': (3,), }", "<u2x"},
        {"{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (3,), }", "type"},
        {"{'descr': '<u2', 'fortran_order': True, 'shape': (3,), }", "Fortran"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (3, 1), }", "(3,1)"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (), }", "shape"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': 3, }", "shape"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (-3,), }", "shape"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (4,), }", "4 ids"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }", "2 ids"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (9223372036854775807,), }", "ids"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (9223372036854775811,), }", "shape"},
        {"{'descr': '<u2', 'shape': (3,), }", "fortran_order"},
        {"", "descr"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(make_file(1, cases[i].header, 64, ids, 6), cases[i].message);
    refuse(make_file(4, good, 64, ids, 6), "4.0");
    refuse(make_file(0, good, 64, ids, 6), "0.0");
    refuse(make_file(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (3,),  }", 1, ids, 6),
           "multiple of 4");
    refuse(make_file(1, good, 64, ids, 7), "7 bytes");

    size_t size;
    char *bytes = read_bytes(make_file(2, good, 64, ids, 6), &size);
    char *long_header = allocate(12 + 0x10100, 1); /* the length's third byte counts */
    memset(long_header, ' ', 12 + 0x10100);
    memcpy(long_header, bytes, 12 + strlen(good));
    memcpy(long_header + 8, (const uint8_t[]){0, 1, 1, 0}, 4);
    write_bytes(scratch_path("long.npy"), long_header, 12 + 0x10100);
    refuse(scratch_path("long.npy"), "65792");
    free(long_header);
    for (size_t cut = 0; cut < size; cut++) { /* every truncation */
        const char *path = scratch_path("cut.npy");
        write_bytes(path, bytes, cut);
        refuse(path, "");
    }
    free(bytes);
    write_bytes(scratch_path("text.npy"), "this is a text, not an array", 28);
    refuse(scratch_path("text.npy"), "not an .npy file");
    refuse(scratch_path("nosuch.npy"), "no such file");
    refuse(scratch, "directory");
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
