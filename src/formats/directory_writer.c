#include "formats/directory_writer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static bool is_empty(const char *path) {
    DIR *directory = opendir(path);
    if (!directory) return false;
    int entries = 0;
    while (readdir(directory)) entries++;
    closedir(directory);
    return entries == 2; /* . and .. */
}

static char *without_last_slash(const char *path) {
    char *copy = string_copy(path);
    for (size_t end = strlen(copy); end > 1 && copy[end - 1] == '/'; end--) copy[end - 1] = '\0';
    return copy;
}

bool directory_writer_open(DirectoryWriter *writer, const char *path, Error *error) {
    *writer = (DirectoryWriter){0};
    struct stat status;
    if (lstat(path, &status) == 0 && !is_empty(path))
        return error_set(error, "%s: is there already; remove it or choose another name", path);
    writer->path = without_last_slash(path);
    writer->temporary_path = string_format("%s.tmp.%ld", writer->path, (long)getpid());
    char *parent = path_directory(writer->path);
    file_begin_directory(writer->temporary_path);
    bool made = directory_create(parent, error) && directory_create(writer->temporary_path, error);
    free(parent);
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

/* Removes files and the directories of one level below. */
static void remove_tree(const char *path, int depth) {
    DIR *directory = opendir(path);
    struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char *inside = path_join(path, entry->d_name);
        if (unlink(inside) != 0 && depth > 0) remove_tree(inside, depth - 1);
        free(inside);
    }
    if (directory) closedir(directory);
    rmdir(path);
}

void directory_writer_abort(DirectoryWriter *writer) {
    if (writer->temporary_path) {
        remove_tree(writer->temporary_path, 1);
        file_end_directory();
    }
    free(writer->path);
    free(writer->temporary_path);
    *writer = (DirectoryWriter){0};
}
