#define _GNU_SOURCE /* nftw */
#include "formats/directory_writer.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static bool is_empty(const char *path) {
    DIR *directory = opendir(path);
    int entries = 0;
    while (directory && readdir(directory)) entries++;
    if (directory) closedir(directory);
    return entries == 2; /* . and .. */
}

bool directory_writer_open(DirectoryWriter *writer, const char *path, Error *error) {
    *writer = (DirectoryWriter){0};
    struct stat status;
    if (lstat(path, &status) == 0 && !is_empty(path))
        return error_set(error, "%s: already exists; remove it or choose another name", path);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    writer->path = string_format("%.*s", (int)length, path);
    writer->temporary_path = string_format("%s.tmp.%ld", writer->path, (long)getpid());
    char *parent = path_directory(writer->path);
    bool made = directory_create(parent, error);
    free(parent);
    file_begin_directory();
    made = made && directory_create(writer->temporary_path, error);
    if (!made) directory_writer_abort(writer);
    return made;
}

bool directory_writer_commit(DirectoryWriter *writer, Error *error) {
    bool renamed = rename(writer->temporary_path, writer->path) == 0;
    if (!renamed)
        error_set(error, "%s: cannot be written: %s; nothing was changed", writer->path,
                  strerror(errno));
    directory_writer_abort(writer);
    return renamed;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    return remove(path);
}

void directory_writer_abort(DirectoryWriter *writer) {
    if (writer->temporary_path) {
        nftw(writer->temporary_path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        file_end_directory();
    }
    free(writer->path);
    free(writer->temporary_path);
    *writer = (DirectoryWriter){0};
}
