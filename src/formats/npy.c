#include "formats/npy.h"

#include <errno.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char MAGIC[6] = "\x93NUMPY";

/* The value that follows `'key':` in the header dictionary, or NULL. The dictionary is the repr()
 * that numpy writes: flat, with keys and strings in single (or double) quotes; here without blanks. */
static const char *header_value(const char *header, const char *key) {
    size_t length = strlen(key);
    for (const char *at = header; (at = strstr(at, key)); at++)
        if (at > header && (at[-1] == '\'' || at[-1] == '"') && at[length] == at[-1] &&
            at[length + 1] == ':')
            return at + length + 2;
    return NULL;
}

/* "(N,)" to N; -1 when it is something else or N does not fit. Python 2 wrote "(NL,)". */
static int64_t one_dimension(const char *shape) {
    char *end;
    if (shape[0] != '(' || shape[1] < '0' || shape[1] > '9') return -1;
    errno = 0;
    long long count = strtoll(shape + 1, &end, 10);
    if (*end == 'L') end++;
    return errno == 0 && strncmp(end, ",)", 2) == 0 ? count : -1;
}

/* Reads the dictionary. `rest` is the number of bytes after the header. */
static bool parse_header(NpyArray *array, const char *header, size_t rest, const char *path,
                         Error *error) {
    const char *type = header_value(header, "descr");
    const char *fortran = header_value(header, "fortran_order");
    const char *shape = header_value(header, "shape");
    if (!type || !fortran || !shape)
        return error_set(error, "%s: its header lacks descr, fortran_order or shape; it is damaged",
                         path);
    int type_length = (*type == '\'' || *type == '"') ? (int)strcspn(++type, "'\"") : 0;
    if (type_length != 3 || (strncmp(type, "<u2", 3) != 0 && strncmp(type, "<u4", 3) != 0))
        return error_set(error,
                         "%s: holds numbers of type '%.*s'; token ids must be little-endian uint16 "
                         "or uint32, save them with array.astype('<u2') or '<u4'",
                         path, type_length > 40 ? 40 : type_length, type);
    array->type = type[2] == '2' ? NPY_UINT16 : NPY_UINT32;
    array->count = one_dimension(shape);
    size_t shown = strcspn(shape, ")") + 1;
    if (array->count < 0)
        return error_set(error, "%s: its shape is %.*s; token ids must be one row, shape (count,)",
                         path, shown < 60 ? (int)shown : 60, shape);
    if (strncmp(fortran, "False", 5) != 0)
        return error_set(error, "%s: is in Fortran order; save it in C order", path);
    size_t size, wanted = array->type == NPY_UINT16 ? 2 : 4;
    if (__builtin_mul_overflow((uint64_t)array->count, wanted, &size) || size != rest)
        return error_set(
            error,
            "%s: its header announces %lld ids of %zu bytes, but %zu bytes follow; the "
            "file is cut short or damaged, make it again",
            path, (long long)array->count, wanted, rest);
    return true;
}

/* The text of a header without blanks, to be freed. */
static char *copy_header(const uint8_t *text, size_t length) {
    char *header = allocate(length + 1, 1), *end = header;
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ') *end++ = (char)text[i];
    *end = '\0';
    return header;
}

static bool parse(NpyArray *array, const uint8_t *data, size_t size, const char *path,
                  Error *error) {
    size_t prefix = size >= 10 && data[6] == 1 ? 10 : 12;
    if (size < prefix || memcmp(data, MAGIC, sizeof MAGIC) != 0)
        return error_set(error, "%s: is not an .npy file", path);
    if (data[6] < 1 || data[6] > 3 || data[7] != 0)
        return error_set(error, "%s: is an .npy file of version %d.%d; 1.0 to 3.0 are read", path,
                         data[6], data[7]);
    size_t length = data[8] | (size_t)data[9] << 8;
    if (prefix == 12) length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (length > size - prefix)
        return error_set(error, "%s: ends inside its header; make it again", path);
    if (length > 1 << 16)
        return error_set(error, "%s: has a header of %zu bytes; that is no array of ids", path,
                         length);
    if ((prefix + length) % 4 != 0)
        return error_set(error,
                         "%s: its numbers do not start at a multiple of 4 bytes; save it again "
                         "with numpy",
                         path);
    array->data = data + prefix + length;
    char *header = copy_header(data + prefix, length);
    bool good = parse_header(array, header, size - prefix - length, path, error);
    free(header);
    return good;
}

bool npy_open(NpyArray *array, const char *path, Error *error) {
    *array = (NpyArray){0};
    if (!file_map(&array->file, path, error)) return false;
    if (parse(array, array->file.data, array->file.size, path, error)) return true;
    npy_close(array);
    return false;
}

void npy_close(NpyArray *array) {
    file_unmap(&array->file);
    *array = (NpyArray){0};
}

/* The header has a fixed length, whatever the count, so that it can be written last. */
enum { HEADER_SIZE = 128 };

static void make_header(char header[HEADER_SIZE], NpyType type, int64_t count) {
    memset(header, ' ', HEADER_SIZE);
    memcpy(header, MAGIC, sizeof MAGIC);
    header[6] = 1;
    header[7] = 0;
    header[8] = HEADER_SIZE - 10;
    header[9] = 0;
    char *text = string_format("{'descr': '%s', 'fortran_order': False, 'shape': (%lld,), }",
                               type == NPY_UINT16 ? "<u2" : "<u4", (long long)count);
    memcpy(header + 10, text, strlen(text));
    free(text);
    header[HEADER_SIZE - 1] = '\n';
}

bool npy_writer_open(NpyWriter *writer, const char *path, NpyType type, Error *error) {
    *writer = (NpyWriter){.type = type};
    if (!file_writer_open(&writer->file, path, error)) return false;
    writer->file.remakable = true; /* ids come from a text; the disk is slower than the tokenizer */
    char header[HEADER_SIZE];
    make_header(header, type, 0);
    fwrite(header, 1, sizeof header, writer->file.stream);
    return true;
}

bool npy_writer_write(NpyWriter *writer, const uint32_t *ids, size_t count) {
    enum { PART = 8192 };
    FILE *stream = writer->file.stream;
    writer->count += (int64_t)count;
    if (writer->type == NPY_UINT32) return fwrite(ids, sizeof *ids, count, stream) == count;
    uint16_t narrow[PART];
    for (size_t start = 0; start < count; start += PART) {
        size_t part = count - start < PART ? count - start : PART;
        for (size_t i = 0; i < part; i++) {
            uint32_t id = ids[start + i];
            if (id > UINT16_MAX && !writer->too_large) writer->too_large = id;
            narrow[i] = (uint16_t)id;
        }
        if (writer->too_large || fwrite(narrow, sizeof *narrow, part, stream) != part) return false;
    }
    return true;
}

bool npy_writer_commit(NpyWriter *writer, Error *error) {
    char header[HEADER_SIZE];
    make_header(header, writer->type, writer->count);
    /* a failed seek leaves the count 0 in the header, which must not pass for success */
    bool good = !writer->too_large && fseek(writer->file.stream, 0, SEEK_SET) == 0;
    if (good) {
        fwrite(header, 1, sizeof header, writer->file.stream);
        return file_writer_commit(&writer->file, NULL, error);
    }
    if (writer->too_large)
        error_set(error, "%s: id %u does not fit the 16 bits of this file; nothing was changed",
                  writer->file.path, writer->too_large);
    else
        error_set(error, "%s: cannot be written: no seeking there; nothing was changed",
                  writer->file.path);
    npy_writer_abort(writer);
    return false;
}

void npy_writer_abort(NpyWriter *writer) {
    file_writer_abort(&writer->file);
}
