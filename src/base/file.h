/* Files: read-only maps, whole reads, and writes that are either complete or not there at all. */
#ifndef TINYLM_BASE_FILE_H
#define TINYLM_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* ---- reading ---- */

typedef struct MappedFile {
    const uint8_t *data; /* never NULL after a successful file_map, also when size is 0 */
    size_t size;
} MappedFile;

/* Maps a regular file read-only. Errors: missing, a directory, unreadable, not a regular file. */
bool file_map(MappedFile *file, const char *path, Error *error);
void file_unmap(MappedFile *file);
/* Advises the kernel that a part of a map is not needed soon: its pages leave the resident memory of the
 * process and are read again on access. */
void file_forget(const uint8_t *part, size_t size);

/* Reads a whole file (or standard input for "-") into memory that the caller frees; a NUL follows
 * the last byte. `size` gets the number of bytes. Errors as file_map, and if there are more than `limit`
 * bytes. NULL on error. */
char *file_read(const char *path, size_t limit, size_t *size, Error *error);

bool file_exists(const char *path); /* a regular file */
bool directory_exists(const char *path);
/* An error if output and input are the same file, even through different paths or links; `what` names
 * it in the message: "the table". */
bool file_check_output(const char *output, const char *input, const char *what, Error *error);

/* ---- writing ---- */

/* A file that appears under its final name only when it is complete. Bytes go to a temporary file
 * in the same folder; commit flushes it to the disk, renames it, and flushes the folder. */
typedef struct FileWriter {
    FILE *stream; /* write with fwrite/fprintf; write errors are found by commit */
    char *path, *temporary_path;
    bool remakable; /* set after opening for what can be made again (a cache): commit then does not
                       wait for the disk, and only a crash of the machine can leave half of it */
} FileWriter;

/* Refuses an existing path that is not a regular file: the rename would replace a device or a pipe. A
 * symbolic link is followed. */
bool file_writer_open(FileWriter *writer, const char *path, Error *error);
/* Makes the file appear. With `keep_previous` (may be NULL) the file that had the name stays
 * reachable under that other path (a hard link); the final name is never absent meanwhile. On
 * failure nothing has changed and the temporary file is gone. The writer is closed either way. */
bool file_writer_commit(FileWriter *writer, const char *keep_previous, Error *error);
void file_writer_abort(FileWriter *writer); /* removes the temporary file; fine after commit */
/* Removes the temporary files of all open writers, and an unfinished directory. For signal handlers,
 * right before the process ends: async-signal-safe. */
void file_remove_unfinished(void);
/* Between the two calls all files and directories that this process makes count as unfinished: what is
 * written into a directory under a temporary name. */
void file_begin_directory(void);
void file_end_directory(void);

/* Removes the temporary files that killed or crashed processes (their id is in the name) left in a
 * folder. A missing folder is fine. */
void file_remove_stale(const char *folder);

/* open + write + commit for content that is in memory. */
bool file_write(const char *path, const void *data, size_t size, Error *error);

/* mkdir -p. Fine when it is there already. */
bool directory_create(const char *path, Error *error);

/* "directory/name", or `name` alone when directory is "". The caller frees it. */
char *path_join(const char *directory, const char *name);
/* The folder part of a path ("." when it has none), and the part after the last '/'. The first is
 * the caller's to free, the second points into `path`. */
char *path_directory(const char *path);
const char *path_name(const char *path);

#endif
