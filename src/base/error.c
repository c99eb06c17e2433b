#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

bool error_set(Error *error, const char *format, ...) {
    if (!error) return false;
    char text[sizeof error->message]; /* the arguments may point into error->message itself */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_clean(text);
    memcpy(error->message, text, sizeof text);
    return false;
}

void out_of_memory(unsigned long long count, unsigned long long size) {
    fprintf(stderr, "tinylm: out of memory (%llu elements of %llu bytes)\n", count, size);
    exit(1);
}

void *allocate(unsigned long long count, unsigned long long size) {
    return reallocate(NULL, count, size);
}

void *allocate_zeroed(unsigned long long count, unsigned long long size) {
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory) out_of_memory(count, size);
    return memory;
}

void *reallocate(void *old, unsigned long long count, unsigned long long size) {
    unsigned long long bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) out_of_memory(count, size);
    void *memory = realloc(old, bytes ? bytes : 1);
    if (!memory) out_of_memory(count, size);
    return memory;
}

char *string_copy(const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(allocate(size, 1), text, size);
}

char *string_format(const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = allocate((unsigned long long)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}
