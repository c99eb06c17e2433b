/* The few SVG elements that the charts are made of, written to a stream as XML text. Coordinates
 * are in pixels from the top left, printed with one decimal. Text in UTF-8 is escaped; what XML
 * cannot hold (control characters, broken UTF-8) becomes '?'. */
#ifndef TINYLM_PICTURES_SVG_H
#define TINYLM_PICTURES_SVG_H

#include <stdio.h>

#define SVG_FRAME "#888888"                               /* the colour of frames and marks */
enum { SVG_SMALL = 12, SVG_NORMAL = 13, SVG_LARGE = 16 }; /* font sizes */

typedef enum SvgAnchor { SVG_START, SVG_MIDDLE, SVG_END } SvgAnchor;

/* A whole picture of the given size on white. */
void svg_begin(FILE *stream, double width, double height);
void svg_end(FILE *stream);

/* `dash` is the pattern of an interrupted line ("6 3"), or NULL for a solid one. */
void svg_line(FILE *stream, double x1, double y1, double x2, double y2, const char *color,
              double width, const char *dash);
void svg_rectangle(FILE *stream, double x, double y, double width, double height, const char *fill);

typedef struct SvgText {
    double size;
    SvgAnchor anchor;  /* which point of the text is at (x, y); y is its base line */
    const char *color; /* NULL: dark grey, almost black */
    double rotate;     /* degrees, clockwise, around (x, y) */
    int bold;
} SvgText;
void svg_text(FILE *stream, double x, double y, SvgText style, const char *text);
/* How wide a text will be, roughly: fonts differ, so leave some room. */
double svg_text_width(double size, const char *text);

/* Series number n gets a colour, a dash pattern and a shape of its points, so that the first seven
 * can be told apart by colour (also by colour-blind readers: the palette of Okabe and Ito), and all
 * by dashes and shapes in grey. */
const char *svg_series_color(int n);
const char *svg_series_dash(int n); /* NULL: solid */
void svg_series_point(FILE *stream, int n, double x, double y);

#endif
