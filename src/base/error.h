/* One line about what went wrong, for a person who wants to act on it.
 *
 * A function that can fail returns bool (or a pointer) and takes an `Error *` as its last argument.
 * On failure it returns false (or NULL) and the Error holds one line: the file, what is wrong with
 * it, what to do. On success the Error is left alone. Only src/commands/ prints it and exits. */
#ifndef TINYLM_BASE_ERROR_H
#define TINYLM_BASE_ERROR_H

#include <stdbool.h>

typedef struct Error {
    char message[4096]; /* one line, no newline at its end; a path of 300 bytes must fit whole */
} Error;

/* Writes the message, printf style. Control characters from a file name or a
 * config value become '?' (base/printable.h), so that it stays one line. Always returns false, so
 * that a function can say `return error_set(error, "...")`. `error` may be NULL (message dropped). */
bool error_set(Error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* malloc, calloc and realloc that never return NULL: when memory runs out they print one line and exit
 * with status 1. `count * size` is
 * checked for overflow. A large allocation that may reasonably fail (a model that is too big)
 * uses malloc itself and reports through an Error. Free with free(). */
void *allocate(unsigned long long count, unsigned long long size);
void *allocate_zeroed(unsigned long long count, unsigned long long size);
void *reallocate(void *old, unsigned long long count, unsigned long long size);
/* Ends the program in the same way, for code that allocates by other means. */
_Noreturn void out_of_memory(unsigned long long count, unsigned long long size);
/* A copy of a C string / a printf-made string, to be freed by the caller. */
char *string_copy(const char *text);
char *string_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
