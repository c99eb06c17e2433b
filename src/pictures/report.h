/* One HTML page that shows a run: headings, tables, texts and charts, without any other file. */
#ifndef TINYLM_PICTURES_REPORT_H
#define TINYLM_PICTURES_REPORT_H

#include <stdbool.h>

#include "base/error.h"

typedef enum ReportKind {
    REPORT_TABLE, /* rows of name and value */
    REPORT_TEXT,  /* text with its line ends kept, such as samples or a config */
    REPORT_CHART  /* the text of an SVG picture, from svg_chart_text or loss_chart_text */
} ReportKind;

typedef struct ReportSection {
    const char *heading;
    ReportKind kind;
    const char *text;             /* REPORT_TEXT, REPORT_CHART */
    const char *const (*rows)[2]; /* REPORT_TABLE */
    int row_count;
} ReportSection;

/* Everything but a chart is escaped. Errors: the file cannot be written; then there is none. */
bool report_write(const char *path, const char *title, const ReportSection *sections, int count,
                  Error *error);

#endif
