#include "pictures/svg.h"

#include <string.h>

#include <utf8proc.h>

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

void svg_text(FILE *stream, double x, double y, SvgText style, const char *text) {
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(stream, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" text-anchor=\"%s\" fill=\"%s\"",
            x, y, style.size, anchors[style.anchor], style.color ? style.color : ink);
    if (style.rotate != 0)
        fprintf(stream, " transform=\"rotate(%.0f %.1f %.1f)\"", style.rotate, x, y);
    if (style.bold) fputs(" font-weight=\"bold\"", stream);
    fputc('>', stream);
    svg_escape(stream, text);
    fputs("</text>\n", stream);
}

double svg_text_width(double size, const char *text) {
    double width = 0.6 * text_columns(text);
    for (const char *c = text; *c; c++)
        width += strchr("ijl.,:;'|!()[] ", *c) ? -0.24 : strchr("mwMW@%", *c) ? 0.3 : 0;
    return width * size;
}

void svg_escape(FILE *stream, const char *text) {
    const utf8proc_uint8_t *at = (const utf8proc_uint8_t *)text;
    utf8proc_ssize_t left = (utf8proc_ssize_t)strlen(text);
    while (left > 0) {
        utf8proc_int32_t c;
        utf8proc_ssize_t length = utf8proc_iterate(at, left, &c);
        if (length <= 0) {
            length = 1;
            c = -1;
        }
        if (c < 32 || (c >= 127 && c < 160) || c == 0xfffe || c == 0xffff)
            fputc('?', stream);
        else if (c == '<')
            fputs("&lt;", stream);
        else if (c == '>')
            fputs("&gt;", stream);
        else if (c == '&')
            fputs("&amp;", stream);
        else if (c == '"')
            fputs("&quot;", stream);
        else
            fwrite(at, 1, (size_t)length, stream);
        at += length;
        left -= length;
    }
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
    const char *color = svg_series_color(n);
    if (n % 4 == 0)
        fprintf(stream, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.0\" fill=\"%s\"/>\n", x, y, color);
    else if (n % 4 == 1)
        svg_rectangle(stream, x - 2.7, y - 2.7, 5.4, 5.4, color);
    else if (n % 4 == 2)
        fprintf(stream, "<path d=\"M%.1f %.1fl3.6 6.2h-7.2z\" fill=\"%s\"/>\n", x, y - 3.9, color);
    else
        fprintf(stream, "<path d=\"M%.1f %.1fl3.9 3.9l-3.9 3.9l-3.9 -3.9z\" fill=\"%s\"/>\n", x,
                y - 3.9, color);
}
