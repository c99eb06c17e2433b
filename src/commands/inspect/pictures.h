/* The pictures of ./inspect: each is FOLDER/NAME.svg, titled "SUBJECT: WHAT", with its numbers beside it
 * in FOLDER/NAME.csv; then its path and what it shows are printed. */
#ifndef TINYLM_COMMANDS_INSPECT_PICTURES_H
#define TINYLM_COMMANDS_INSPECT_PICTURES_H

#include "commands/inspect/subject.h"
#include "pictures/heat_map.h"
#include "pictures/svg_chart.h"

/* Draws a map (its title is not looked at; no panels are one). The numbers have a line per panel and row;
 * they are written when `numbers`. */
bool inspect_draw_map(const InspectSubject *subject, const char *name, const char *what,
                      HeatMap map, bool numbers, Error *error);

/* Curves over the same x, which is the first column. */
typedef struct Curves {
    int64_t count, rows;
    char **names;        /* (count), owned */
    double **values;     /* (count), each (rows) */
    ChartSeries *series; /* (count) */
} Curves;

/* One more column, to be filled; its name is copied. */
double *curves_add(Curves *curves, const char *name);
void curves_free(Curves *curves);

/* Draws charts below each other; the first has the title. */
bool inspect_draw_charts(const InspectSubject *subject, const char *name, const char *what,
                         Chart *charts, int count, const Curves *curves, Error *error);

#endif
