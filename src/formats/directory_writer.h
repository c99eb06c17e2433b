/* A directory that appears under its final name only when all its files are written. */
#ifndef TINYLM_FORMATS_DIRECTORY_WRITER_H
#define TINYLM_FORMATS_DIRECTORY_WRITER_H

#include "base/error.h"

typedef struct DirectoryWriter {
    char *path;
    char *temporary_path; /* write the files here */
} DirectoryWriter;

/* Makes a temporary directory beside `path`. Errors: `path` exists and is not an empty directory;
 * its parent cannot be made or written. */
bool directory_writer_open(DirectoryWriter *writer, const char *path, Error *error);
/* Gives the directory its name. On failure it is removed. The writer is closed either way. */
bool directory_writer_commit(DirectoryWriter *writer, Error *error);
/* Removes the temporary directory and what is in it; fine after commit. */
void directory_writer_abort(DirectoryWriter *writer);

#endif
