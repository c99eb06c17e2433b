#include "pictures/svg.h"

#include <string.h>

#include "base/printable.h"
#include "base/text.h"

static const char *ink = "#222222";

void svg_begin(FILE *stream, double width, double height) {
    fprintf(stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, 'DejaVu Sans', "
            "sans-serif\">\n",
            width, height, width, height);
    svg_rectangle(stream, 0, 0, width, height, "#ffffff");
}

void svg_end(FILE *stream) {
    fputs("</svg>\n", stream);
}

void svg_line(FILE *stream, double x1, double y1, double x2, double y2, const char *color,
              double width, const char *dash) {
    fprintf(stream,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"%.1f\"",
            x1, y1, x2, y2, color, width);
    if (dash) fprintf(stream, " stroke-dasharray=\"%s\"", dash);
    fputs("/>\n", stream);
}

void svg_rectangle(FILE *stream, double x, double y, double width, double height,
                   const char *fill) {
    fprintf(stream, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x,
            y, width, height, fill);
}

static void escape(FILE *stream, const char *text) {
    size_t length;
    for (size_t left = strlen(text); left > 0; text += length, left -= length) {
        bool printable;
        length = printable_character(text, left, &printable);
        static const char *const entities[] = {"<&lt;", ">&gt;", "&&amp;", "\"&quot;"};
        const char *shown = printable ? NULL : "?";
        for (int i = 0; i < 4; i++)
            if (*text == *entities[i]) shown = entities[i] + 1;
        fwrite(shown ? shown : text, 1, shown ? strlen(shown) : length, stream);
    }
}

void svg_text(FILE *stream, double x, double y, SvgText style, const char *text) {
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(stream, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" text-anchor=\"%s\" fill=\"%s\"",
            x, y, style.size, anchors[style.anchor], style.color ? style.color : ink);
    if (style.rotate != 0)
        fprintf(stream, " transform=\"rotate(%.0f %.1f %.1f)\"", style.rotate, x, y);
    if (style.bold) fputs(" font-weight=\"bold\"", stream);
    fputc('>', stream);
    escape(stream, text);
    fputs("</text>\n", stream);
}

double svg_text_width(double size, const char *text) {
    double width = 0.6 * text_columns(text);
    for (const char *c = text; *c; c++)
        width += strchr("ijl.,:;'|!()[] ", *c) ? -0.24 : strchr("mwMW@%", *c) ? 0.3 : 0;
    return width * size;
}

const char *svg_series_color(int n) {
    static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                         "#e69f00", "#56b4e9", "#000000"};
    return colors[n % 7];
}

const char *svg_series_dash(int n) {
    static const char *const dashes[] = {NULL, "8 4", "2 3", "9 3 2 3"};
    return dashes[n % 4];
}

void svg_series_point(FILE *stream, int n, double x, double y) {
    static const char *const shapes[] = {"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
                                         "m-2.7-2.7h5.4v5.4h-5.4z", "m0-3.9l3.6 6.2h-7.2z",
                                         "m0-3.9l3.9 3.9l-3.9 3.9l-3.9-3.9z"};
    fprintf(stream, "<path d=\"M%.1f %.1f%s\" fill=\"%s\"/>\n", x, y, shapes[n % 4],
            svg_series_color(n));
}
