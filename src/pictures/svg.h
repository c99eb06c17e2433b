/* The SVG elements of charts and heat maps, written to a stream as XML text. Coordinates
 * are in pixels from the top left, printed with one decimal. Text is UTF-8 and is escaped; what
 * XML cannot represent (control characters, invalid UTF-8) becomes '?'. */
#ifndef TINYLM_PICTURES_SVG_H
#define TINYLM_PICTURES_SVG_H

#include <stdio.h>

#define SVG_FRAME "#888888"                               /* the colour of frames and marks */
enum { SVG_SMALL = 12, SVG_NORMAL = 13, SVG_LARGE = 16 }; /* font sizes */

typedef enum SvgAnchor { SVG_START, SVG_MIDDLE, SVG_END } SvgAnchor;

/* A whole picture of the given size on white. */
void svg_begin(FILE *stream, double width, double height);
void svg_end(FILE *stream);

/* `dash` is a dash pattern such as "6 3", or NULL for a solid line. */
void svg_line(FILE *stream, double x1, double y1, double x2, double y2, const char *color,
              double width, const char *dash);
void svg_rectangle(FILE *stream, double x, double y, double width, double height, const char *fill);

typedef struct SvgText {
    double size;
    SvgAnchor anchor;  /* the point of the text at (x, y); y is the baseline */
    const char *color; /* NULL: near black */
    double rotate;     /* degrees, clockwise, around (x, y) */
    int bold;
} SvgText;
void svg_text(FILE *stream, double x, double y, SvgText style, const char *text);
/* The approximate width of a text in pixels: fonts differ, so leave some room. */
double svg_text_width(double size, const char *text);

/* The style of series n: the first seven differ in colour (the palette of Okabe and Ito, which colour-blind
 * readers can distinguish), neighbours also in dash pattern and marker shape, for greyscale prints. */
const char *svg_series_color(int n);
const char *svg_series_dash(int n); /* NULL: solid */
void svg_series_point(FILE *stream, int n, double x, double y);

#endif
