#include "pictures/canvas.h"

#include <stdlib.h>
#include <string.h>

#include <stb_easy_font.h>
#include <stb_image_write.h>
#include <utf8proc.h>

#include "base/file.h"

Canvas canvas_new(int64_t width, int64_t height) {
    Canvas canvas = {width, height, allocate((uint64_t)width, (uint64_t)height * sizeof(Color))};
    memset(canvas.pixels, 255, (size_t)width * (size_t)height * sizeof(Color));
    return canvas;
}

void canvas_free(Canvas *canvas) {
    free(canvas->pixels);
    *canvas = (Canvas){0};
}

static int64_t within(int64_t value, int64_t limit) {
    return value < 0 ? 0 : value > limit ? limit : value;
}

void canvas_fill(Canvas *canvas, int64_t x, int64_t y, int64_t width, int64_t height, Color color) {
    int64_t right = within(x + width, canvas->width), bottom = within(y + height, canvas->height);
    for (int64_t row = within(y, canvas->height); row < bottom; row++)
        for (int64_t column = within(x, canvas->width); column < right; column++)
            canvas->pixels[row * canvas->width + column] = color;
}

void canvas_outline(Canvas *canvas, int64_t x, int64_t y, int64_t width, int64_t height,
                    Color color) {
    canvas_fill(canvas, x - 1, y - 1, width + 2, 1, color);
    canvas_fill(canvas, x - 1, y + height, width + 2, 1, color);
    canvas_fill(canvas, x - 1, y, 1, height, color);
    canvas_fill(canvas, x + width, y, 1, height, color);
}

/* ---- text ---- */

static const char *ascii_relative(utf8proc_int32_t c, char single[2]) {
    switch (c) {
    case '\n':
        return "\\n";
    case '\t':
        return "\\t";
    case 0x2018:
    case 0x2019:
        return "'";
    case 0x201c:
    case 0x201d:
        return "\"";
    case 0x2013:
    case 0x2014:
    case 0x2212:
        return "-";
    case 0x2026:
        return "...";
    default:
        single[0] = c >= 32 && c < 127 ? (char)c : '?';
        single[1] = '\0';
        return single;
    }
}

enum { TEXT_LIMIT = 200 }; /* letters; longer text cannot be seen in a picture anyway */

static void to_ascii(char ascii[TEXT_LIMIT + 4], const char *text) {
    const utf8proc_uint8_t *at = (const utf8proc_uint8_t *)text;
    utf8proc_ssize_t left = (utf8proc_ssize_t)strlen(text);
    size_t used = 0;
    while (left > 0 && used < TEXT_LIMIT) {
        utf8proc_int32_t c;
        utf8proc_ssize_t length = utf8proc_iterate(at, left, &c);
        if (length <= 0) {
            length = 1;
            c = '?';
        }
        char single[2];
        const char *relative = ascii_relative(c, single);
        memcpy(ascii + used, relative, strlen(relative));
        used += strlen(relative);
        at += length;
        left -= length;
    }
    ascii[used] = '\0';
}

/* stb_easy_font gives the strokes of the letters as axis-parallel quads in dots. */
typedef struct Vertex {
    float x, y, z;
    unsigned char color[4];
} Vertex;

static void draw_text(Canvas *canvas, int64_t x, int64_t y, int scale, Color color,
                      const char *text, bool upwards) {
    char ascii[TEXT_LIMIT + 4];
    to_ascii(ascii, text);
    int bytes = (int)(strlen(ascii) + 1) * 24 * 4 * (int)sizeof(Vertex);
    Vertex *vertices = allocate((uint64_t)bytes, 1);
    int quads = stb_easy_font_print(0, 0, ascii, NULL, vertices, bytes);
    for (int q = 0; q < quads; q++) {
        const Vertex *from = &vertices[4 * q], *to = &vertices[4 * q + 2];
        int64_t left = (int64_t)from->x * scale, top = (int64_t)from->y * scale;
        int64_t right = (int64_t)to->x * scale, bottom = (int64_t)to->y * scale;
        if (upwards)
            canvas_fill(canvas, x + top, y - right, bottom - top, right - left, color);
        else
            canvas_fill(canvas, x + left, y + top, right - left, bottom - top, color);
    }
    free(vertices);
}

void canvas_text(Canvas *canvas, int64_t x, int64_t y, int scale, Color color, const char *text) {
    draw_text(canvas, x, y, scale, color, text, false);
}

void canvas_text_upwards(Canvas *canvas, int64_t x, int64_t y, int scale, Color color,
                         const char *text) {
    draw_text(canvas, x, y, scale, color, text, true);
}

int64_t canvas_text_width(int scale, const char *text) {
    char ascii[TEXT_LIMIT + 4];
    to_ascii(ascii, text);
    return (int64_t)stb_easy_font_width(ascii) * scale;
}

int64_t canvas_text_height(int scale) {
    return 8 * (int64_t)scale;
}

/* ---- PNG ---- */

static void write_bytes(void *context, void *bytes, int count) {
    fwrite(bytes, 1, (size_t)count, context);
}

bool canvas_write_png(const Canvas *canvas, const char *path, Error *error) {
    if (canvas->width < 1 || canvas->height < 1 || canvas->width > 30000 || canvas->height > 30000)
        return error_set(error, "%s: a picture of %lld × %lld pixels cannot be written", path,
                         (long long)canvas->width, (long long)canvas->height);
    FileWriter writer;
    if (!file_writer_open(&writer, path, error)) return false;
    int width = (int)canvas->width, height = (int)canvas->height;
    if (!stbi_write_png_to_func(write_bytes, writer.stream, width, height, 3, canvas->pixels,
                                3 * width)) {
        file_writer_abort(&writer);
        return error_set(error, "%s: the picture could not be compressed", path);
    }
    return file_writer_commit(&writer, NULL, error);
}
