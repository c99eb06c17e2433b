#include "base/printable.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

size_t printable_character(const void *text, size_t left, bool *printable) {
    int32_t c;
    size_t length = utf8_character(text, left, &c);
    *printable = c >= 0x20 && !(c >= 0x7F && c < 0xA0) && !(c >= 0x202A && c <= 0x202E) &&
                 !(c >= 0x2066 && c <= 0x2069) && c != 0xFFFE && c != 0xFFFF;
    return length;
}

void text_clean(char *text) {
    char *to = text;
    for (size_t left = strlen(text); left > 0;) {
        bool printable;
        size_t length = printable_character(text, left, &printable);
        if (printable)
            memmove(to, text, length);
        else
            *to = '?';
        to += printable ? length : 1;
        text += length;
        left -= length;
    }
    *to = '\0';
}

void print_line(FILE *stream, const char *format, ...) {
    char line[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_clean(line);
    fprintf(stream, "%s\n", line);
}

static void escape(FILE *stream, const void *bytes, size_t length, bool quoted) {
    const uint8_t *at = bytes;
    while (length > 0) {
        bool printable;
        size_t size = printable_character(at, length, &printable);
        if (printable) {
            if (quoted && (*at == '"' || *at == '\\')) putc('\\', stream);
            fwrite(at, 1, size, stream);
        }
        for (size_t i = 0; i < size && !printable; i++)
            if (at[i] >= '\a' && at[i] <= '\r')
                fprintf(stream, "\\%c", "abtnvfr"[at[i] - '\a']);
            else
                fprintf(stream, "\\x%02x", at[i]);
        at += size;
        length -= size;
    }
}

void print_escaped(FILE *stream, const void *bytes, size_t length) {
    escape(stream, bytes, length, false);
}

void print_quoted(FILE *stream, const void *bytes, size_t length) {
    putc('"', stream);
    escape(stream, bytes, length, true);
    putc('"', stream);
}

void print_text(FILE *stream, const void *bytes, size_t length) {
    static int terminal = -1;
    if (terminal < 0) terminal = isatty(STDOUT_FILENO);
    if (stream != stdout || !terminal) {
        fwrite(bytes, 1, length, stream);
        return;
    }
    const char *at = bytes;
    while (length > 0) {
        bool printable;
        size_t size = printable_character(at, length, &printable);
        if (printable || *at == '\n' || *at == '\t')
            fwrite(at, 1, size, stream);
        else if (*at != '\r')
            putc('?', stream);
        at += size;
        length -= size;
    }
}
