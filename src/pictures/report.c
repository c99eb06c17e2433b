#include "pictures/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "pictures/svg.h"

static const char *page_start =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\"/>\n"
    "<style>\n"
    "body { font: 15px/1.5 Helvetica, Arial, sans-serif; color: #222;\n"
    "  max-width: 860px; margin: 2em auto; padding: 0 1em; }\n"
    "h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }\n"
    "table { border-collapse: collapse; }\n"
    "td { border-bottom: 1px solid #ddd; padding: 3px 18px 3px 0; }\n"
    "td + td { font-family: monospace; }\n"
    "pre { background: #f5f5f5; padding: 1em; white-space: pre-wrap; }\n"
    "body > svg { max-width: 100%; height: auto; }\n"
    "</style>\n";

static void write_element(FILE *out, const char *tag, const char *text) {
    fprintf(out, "<%s>", tag);
    svg_escape(out, text);
    fprintf(out, "</%s>", tag);
}

static void write_lines(FILE *out, const char *text) {
    fputs("<pre>", out);
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = string_format("%.*s", (int)length, text);
        svg_escape(out, line);
        free(line);
        text += length;
        if (*text) fputc(*text++, out);
    }
    fputs("</pre>\n", out);
}

static void write_section(FILE *out, const ReportSection *section) {
    write_element(out, "h2", section->heading);
    fputc('\n', out);
    if (section->kind == REPORT_TEXT) {
        write_lines(out, section->text);
    } else if (section->kind == REPORT_CHART) {
        fputs(section->text, out);
    } else {
        fputs("<table>\n", out);
        for (int r = 0; r < section->row_count; r++) {
            fputs("<tr>", out);
            write_element(out, "td", section->rows[r][0]);
            write_element(out, "td", section->rows[r][1]);
            fputs("</tr>\n", out);
        }
        fputs("</table>\n", out);
    }
}

bool report_write(const char *path, const char *title, const ReportSection *sections, int count,
                  Error *error) {
    FileWriter writer;
    if (!file_writer_open(&writer, path, error)) return false;
    FILE *out = writer.stream;
    fputs(page_start, out);
    write_element(out, "title", title);
    fputs("\n</head>\n<body>\n", out);
    write_element(out, "h1", title);
    fputc('\n', out);
    for (int i = 0; i < count; i++) write_section(out, &sections[i]);
    fputs("</body>\n</html>\n", out);
    return file_writer_commit(&writer, NULL, error);
}
