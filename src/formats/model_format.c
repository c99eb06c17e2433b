#include "formats/model_format.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void model_file_warn(ModelFile *file, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    file->warnings =
        reallocate(file->warnings, (size_t)file->warning_count + 1, sizeof *file->warnings);
    file->warnings[file->warning_count++] = string_copy(text);
}

bool model_file_load_tokenizer(ModelFile *file, const char *path, const char *separator,
                               Error *error) {
    Tokenizer *bpe = tokenizer_load(path, error);
    if (bpe && bpe->fixed_length)
        model_file_warn(file, "%s: " TOKENIZER_FIXED_LENGTH_WARNING, path);
    if (bpe) model_tokenizer_take(&file->tokenizer, bpe, separator);
    return bpe != NULL;
}

bool path_ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && strcmp(path + length - tail, ending) == 0;
}
