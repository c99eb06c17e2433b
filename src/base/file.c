#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

/* Opens a regular file for reading, saying in words why it cannot. -1 on error. */
static int open_regular(const char *path, size_t *size, Error *error) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        if (errno == ENOENT && strcmp(path, "-") == 0)
            error_set(error, "-: standard input cannot be read twice; write it to a file first and "
                             "name that");
        else if (errno == ENOENT)
            error_set(error, "%s: no such file; check the path", path);
        else
            error_set(error, "%s: cannot be read: %s; check its permissions", path,
                      strerror(errno));
        return -1;
    }
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        error_set(error, "%s: cannot be read: %s", path, strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
        error_set(error, "%s: is a directory; a file is needed here", path);
    } else if (!S_ISREG(status.st_mode)) {
        error_set(error,
                  "%s: is not a regular file, and a pipe cannot be read twice; write what comes "
                  "from it to a file first (COMMAND > text.txt) and name that",
                  path);
    } else {
        *size = (size_t)status.st_size;
        return descriptor;
    }
    close(descriptor);
    return -1;
}

bool file_map(MappedFile *file, const char *path, Error *error) {
    static const uint8_t nothing[1];
    *file = (MappedFile){nothing, 0};
    size_t size;
    int descriptor = open_regular(path, &size, error);
    if (descriptor < 0) return false;
    if (size > 0) { /* mmap refuses a length of zero */
        void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (data == MAP_FAILED) {
            error_set(error, "%s: cannot be mapped: %s", path, strerror(errno));
            close(descriptor);
            return false;
        }
        *file = (MappedFile){data, size};
    }
    close(descriptor);
    return true;
}

void file_unmap(MappedFile *file) {
    if (file->size) munmap((void *)(uintptr_t)file->data, file->size);
    *file = (MappedFile){NULL, 0};
}

void file_forget(const uint8_t *part, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), offset = (uintptr_t)part % page;
    madvise((void *)(uintptr_t)(part - offset), size + offset, MADV_DONTNEED);
}

char *file_read(const char *path, size_t limit, size_t *size, Error *error) {
    bool standard_input = strcmp(path, "-") == 0;
    const char *name = standard_input ? "standard input" : path;
    size_t expected = 1 << 16;
    int descriptor = standard_input ? STDIN_FILENO : open_regular(path, &expected, error);
    if (descriptor < 0) return NULL;
    size_t capacity = (expected < limit ? expected : limit) + 2, used = 0;
    char *text = allocate(capacity, 1);
    for (;;) {
        ssize_t got = read(descriptor, text + used, capacity - used - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            error_set(error, "%s: cannot be read: %s", name, strerror(errno));
            break;
        }
        used += (size_t)got;
        if (used > limit) {
            error_set(error, "%s: is larger than the %zu bytes allowed here", name, limit);
            break;
        }
        if (got == 0) {
            if (!standard_input) close(descriptor);
            text[used] = '\0';
            *size = used;
            return text;
        }
        array_reserve(text, used, capacity, 2);
    }
    if (!standard_input) close(descriptor);
    free(text);
    return NULL;
}

bool file_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool directory_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool file_check_output(const char *output, const char *input, const char *what, Error *error) {
    struct stat a, b;
    bool same = stat(output, &a) == 0 && stat(input, &b) == 0 && a.st_dev == b.st_dev &&
                a.st_ino == b.st_ino;
    return !same ||
           error_set(error, "%s: is %s itself; give another name to write to", output, what);
}

/* What an interrupted program must remove: temporary files of open writers, and all that was made while a
 * directory is unfinished. A path that finds no free slot stays behind on Ctrl-C, nothing worse. */
enum { MOST_UNFINISHED = 32 };
static char *volatile unfinished[MOST_UNFINISHED];
static bool directory_is_unfinished;

/* Puts a copy of `path` (NULL: nothing) in the slot of `old` (NULL: a free slot). */
static void replace_unfinished(const char *old, const char *path) {
    for (int i = 0; i < MOST_UNFINISHED; i++) {
        char *held = unfinished[i];
        if (held && old ? strcmp(held, old) != 0 : held || old) continue;
        unfinished[i] = path ? string_copy(path) : NULL;
        free(held);
        return;
    }
}

void file_remove_unfinished(void) {
    for (int i = MOST_UNFINISHED - 1; i >= 0; i--)
        if (unfinished[i] && unlink(unfinished[i]) != 0) rmdir(unfinished[i]);
}

void file_begin_directory(void) {
    directory_is_unfinished = true;
}

void file_end_directory(void) {
    directory_is_unfinished = false;
    for (int i = 0; i < MOST_UNFINISHED; i++)
        if (unfinished[i]) replace_unfinished(unfinished[i], NULL);
}

/* Whether a file may be put under this name: nothing is there, or a regular file. */
static bool is_replaceable(const char *path, Error *error) {
    struct stat status;
    if (stat(path, &status) != 0 || S_ISREG(status.st_mode)) return true;
    if (S_ISDIR(status.st_mode))
        return error_set(error, "%s: is a directory; give the name of a file to write", path);
    return error_set(error,
                     "%s: is a device or a pipe, and a file is written whole and then put in the "
                     "place of the old one; give the name of a file to write",
                     path);
}

bool file_writer_open(FileWriter *writer, const char *given, Error *error) {
    *writer = (FileWriter){0};
    if (!is_replaceable(given, error)) return false;
    /* Behind a symbolic link the file it points to is replaced, and the link stays. */
    struct stat status;
    bool is_link = lstat(given, &status) == 0 && S_ISLNK(status.st_mode);
    char *target = is_link ? realpath(given, NULL) : NULL;
    const char *path = target ? target : given;
    /* The process id keeps two programs that write the same file apart; the last rename wins. */
    char *temporary = string_format("%s.tmp.%ld", path, (long)getpid());
    FILE *stream = fopen(temporary, "wbe");
    if (!stream) {
        if (errno == ENOENT)
            error_set(error, "%s: cannot be written, its folder is not there; make it first", path);
        else
            error_set(error, "%s: cannot be written: %s", path, strerror(errno));
        free(temporary);
        free(target);
        return false;
    }
    *writer = (FileWriter){stream, string_copy(path), temporary, false};
    free(target);
    replace_unfinished(NULL, temporary);
    return true;
}

static bool directory_sync(const char *path) {
    char *directory = path_directory(path);
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    if (descriptor < 0) return false;
    /* Some file systems cannot flush a directory; the rename is then as durable as they make it. */
    bool done = fsync(descriptor) == 0 || errno == EINVAL;
    close(descriptor);
    return done;
}

/* Makes the file at `path` reachable as `previous` too: by a link under a temporary name that is renamed
 * over the old one, so that a kill between the two leaves the old previous file or the new one, never none.
 * A file system without hard links keeps no previous file. */
static void keep_as(const char *path, const char *previous) {
    char *link_path = string_format("%s.tmp.%ld", previous, (long)getpid());
    unlink(link_path);
    if (link(path, link_path) != 0 || rename(link_path, previous) != 0) unlink(link_path);
    free(link_path);
}

bool file_writer_commit(FileWriter *writer, const char *keep_previous, Error *error) {
    bool written = !ferror(writer->stream) && fflush(writer->stream) == 0 &&
                   (writer->remakable || fsync(fileno(writer->stream)) == 0);
    int cause = errno;
    if (fclose(writer->stream) != 0 && written) {
        written = false;
        cause = errno;
    }
    writer->stream = NULL;
    if (written && keep_previous && file_exists(writer->path)) keep_as(writer->path, keep_previous);
    if (written) {
        written = rename(writer->temporary_path, writer->path) == 0;
        cause = errno;
    }
    if (!written)
        error_set(error, "%s: cannot be written: %s; nothing was changed", writer->path,
                  strerror(cause));
    else if (directory_is_unfinished)
        replace_unfinished(writer->temporary_path, writer->path);
    bool durable = written && (writer->remakable || directory_sync(writer->path));
    if (written && !durable)
        error_set(error, "%s: its folder cannot be flushed: %s", writer->path, strerror(errno));
    file_writer_abort(writer);
    return durable;
}

void file_writer_abort(FileWriter *writer) {
    if (writer->stream) fclose(writer->stream);
    if (writer->temporary_path) {
        unlink(writer->temporary_path); /* not there any more after commit */
        replace_unfinished(writer->temporary_path, NULL);
    }
    free(writer->path);
    free(writer->temporary_path);
    *writer = (FileWriter){0};
}

bool file_write(const char *path, const void *data, size_t size, Error *error) {
    FileWriter writer;
    if (!file_writer_open(&writer, path, error)) return false;
    fwrite(data, 1, size, writer.stream);
    return file_writer_commit(&writer, NULL, error);
}

void file_remove_stale(const char *folder) {
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        const char *mark = strstr(entry->d_name, ".tmp.");
        char *end = NULL;
        long process = mark ? strtol(mark + 5, &end, 10) : 0;
        if (process <= 0 || *end || kill((pid_t)process, 0) == 0 || errno != ESRCH) continue;
        char *path = path_join(folder, entry->d_name);
        if (file_exists(path)) unlink(path);
        free(path);
    }
    if (directory) closedir(directory);
}

bool directory_create(const char *path, Error *error) {
    char *partial = string_copy(path);
    for (char *end = partial + 1; *partial; end++) {
        if (*end != '/' && *end != '\0') continue;
        bool last = *end == '\0';
        *end = '\0';
        bool made = mkdir(partial, 0777) == 0;
        if (!made && errno != EEXIST) {
            error_set(error, "%s: cannot be created: %s", path, strerror(errno));
            free(partial);
            return false;
        }
        if (made && directory_is_unfinished) replace_unfinished(NULL, partial);
        if (last) break;
        *end = '/';
    }
    free(partial);
    if (!directory_exists(path))
        return error_set(error, "%s: is not a directory; remove it or choose another name", path);
    return true;
}

char *path_join(const char *directory, const char *name) {
    if (!*directory) return string_copy(name);
    bool has_slash = directory[strlen(directory) - 1] == '/';
    return string_format("%s%s%s", directory, has_slash ? "" : "/", name);
}

char *path_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return string_copy(".");
    if (slash == path) return string_copy("/");
    return string_format("%.*s", (int)(slash - path), path);
}

const char *path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
