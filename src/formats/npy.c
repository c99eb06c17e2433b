#include "formats/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char MAGIC[6] = "\x93NUMPY";

/* The value that follows `'key':` in the header dictionary, or NULL. The dictionary is the repr()
 * that numpy writes: flat, with keys and strings in single (or double) quotes. */
static const char *header_value(const char *header, const char *key) {
    size_t length = strlen(key);
    for (const char *at = header; (at = strstr(at, key)); at++) {
        if (at == header || (at[-1] != '\'' && at[-1] != '"') || at[length] != at[-1]) continue;
        const char *value = at + length + 1;
        while (*value == ' ') value++;
        if (*value++ != ':') continue;
        while (*value == ' ') value++;
        return value;
    }
    return NULL;
}

/* "(N,)" to N; -1 when it is something else or N does not fit. */
static int64_t one_dimension(const char *shape) {
    if (!shape || *shape++ != '(') return -1;
    while (*shape == ' ') shape++;
    if (*shape < '0' || *shape > '9') return -1;
    int64_t count = 0;
    for (; *shape >= '0' && *shape <= '9'; shape++)
        if (__builtin_mul_overflow(count, 10, &count) ||
            __builtin_add_overflow(count, *shape - '0', &count))
            return -1;
    if (*shape == 'L') shape++; /* Python 2 wrote longs so */
    while (*shape == ' ') shape++;
    if (*shape++ != ',') return -1;
    while (*shape == ' ') shape++;
    return *shape == ')' ? count : -1;
}

/* Of what is shown of a shape that is not wanted: up to its closing bracket. */
static int shape_length(const char *shape) {
    size_t length = strcspn(shape, ")");
    return length < 60 && shape[length] ? (int)length + 1 : (int)strnlen(shape, 60);
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
    if (type_length == 3 && strncmp(type, "<u2", 3) == 0)
        array->type = NPY_UINT16;
    else if (type_length == 3 && strncmp(type, "<u4", 3) == 0)
        array->type = NPY_UINT32;
    else
        return error_set(error,
                         "%s: holds numbers of type '%.*s'; token ids must be little-endian uint16 "
                         "or uint32, save them with array.astype('<u2') or '<u4'",
                         path, type_length > 40 ? 40 : type_length, type);
    array->count = one_dimension(shape);
    if (array->count < 0)
        return error_set(error, "%s: its shape is %.*s; token ids must be one row, shape (count,)",
                         path, shape_length(shape), shape);
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

bool npy_open(NpyArray *array, const char *path, Error *error) {
    *array = (NpyArray){0};
    MappedFile file;
    if (!file_map(&file, path, error)) return false;
    bool good = false;
    const uint8_t *data = file.data;
    bool version_1 = file.size >= 10 && data[6] == 1;
    size_t prefix = version_1 ? 10 : 12;
    if (file.size < prefix || memcmp(data, MAGIC, sizeof MAGIC) != 0) {
        error_set(error, "%s: is not an .npy file", path);
    } else if (data[6] < 1 || data[6] > 3 || data[7] != 0) {
        error_set(error, "%s: is an .npy file of version %d.%d; 1.0 to 3.0 are read", path, data[6],
                  data[7]);
    } else {
        size_t length = data[8] | (size_t)data[9] << 8;
        if (!version_1) length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
        if (length > file.size - prefix) {
            error_set(error, "%s: ends inside its header; make it again", path);
        } else if (length > 1 << 16) {
            error_set(error, "%s: has a header of %zu bytes; that is no array of ids", path,
                      length);
        } else if ((prefix + length) % 4 != 0) {
            error_set(error,
                      "%s: its numbers do not start at a multiple of 4 bytes; save it anew "
                      "with numpy",
                      path);
        } else {
            char *header = string_format("%.*s", (int)length, (const char *)data + prefix);
            good = parse_header(array, header, file.size - prefix - length, path, error);
            free(header);
            array->data = data + prefix + length;
        }
    }
    array->file = file;
    if (!good) npy_close(array);
    return good;
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
    FILE *stream = writer->file.stream;
    writer->count += (int64_t)count;
    if (writer->type == NPY_UINT32) return fwrite(ids, sizeof *ids, count, stream) == count;
    uint16_t narrow[8192];
    while (count > 0) {
        size_t part = count < 8192 ? count : 8192;
        uint32_t all = 0;
        for (size_t i = 0; i < part; i++) {
            narrow[i] = (uint16_t)ids[i];
            all |= ids[i];
        }
        if (all > UINT16_MAX) {
            for (size_t i = 0; i < part && !writer->too_large; i++)
                if (ids[i] > UINT16_MAX) writer->too_large = ids[i];
            return false;
        }
        if (fwrite(narrow, sizeof *narrow, part, stream) != part) return false;
        ids += part;
        count -= part;
    }
    return true;
}

bool npy_writer_commit(NpyWriter *writer, Error *error) {
    if (writer->too_large) {
        error_set(error, "%s: id %u does not fit the 16 bits of this file; nothing was changed",
                  writer->file.path, writer->too_large);
        npy_writer_abort(writer);
        return false;
    }
    char header[HEADER_SIZE];
    make_header(header, writer->type, writer->count);
    /* a failed seek leaves the count 0 in the header, which must not pass for success */
    if (fseek(writer->file.stream, 0, SEEK_SET) != 0) {
        error_set(error, "%s: cannot be written: %s; nothing was changed", writer->file.path,
                  strerror(errno));
        npy_writer_abort(writer);
        return false;
    }
    fwrite(header, 1, sizeof header, writer->file.stream);
    return file_writer_commit(&writer->file, NULL, error);
}

void npy_writer_abort(NpyWriter *writer) {
    file_writer_abort(&writer->file);
}
