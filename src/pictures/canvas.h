/* A picture of pixels: filled rectangles, text in a small built-in font (stb_easy_font), and the
 * way into a PNG file. Everything that reaches over the edge is cut off. */
#ifndef TINYLM_PICTURES_CANVAS_H
#define TINYLM_PICTURES_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct Color {
    uint8_t red, green, blue;
} Color;

typedef struct Canvas {
    int64_t width, height;
    Color *pixels; /* rows from the top */
} Canvas;

/* A white canvas. Release with canvas_free. */
Canvas canvas_new(int64_t width, int64_t height);
void canvas_free(Canvas *canvas);

void canvas_fill(Canvas *canvas, int64_t x, int64_t y, int64_t width, int64_t height, Color color);
/* The outline of a rectangle, one pixel wide, just outside of it. */
void canvas_outline(Canvas *canvas, int64_t x, int64_t y, int64_t width, int64_t height,
                    Color color);

/* Text in UTF-8, `scale` pixels per dot of the font; (x, y) is the top left corner. Typographic
 * quotes and dashes are written as their ASCII relatives, line ends and tabs as \n and \t, other
 * characters that the font lacks as '?'. */
void canvas_text(Canvas *canvas, int64_t x, int64_t y, int scale, Color color, const char *text);
/* The same turned by a quarter: it reads from the bottom up, and (x, y) is its bottom left corner,
 * where the first letter begins with its top towards the left. */
void canvas_text_upwards(Canvas *canvas, int64_t x, int64_t y, int scale, Color color,
                         const char *text);
int64_t canvas_text_width(int scale, const char *text);
int64_t canvas_text_height(int scale); /* of capitals and digits; some letters reach 2 dots lower */

bool canvas_write_png(const Canvas *canvas, const char *path, Error *error);

#endif
