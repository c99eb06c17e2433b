/* The pictures of ./inspect: each is FOLDER/NAME.svg, titled "SUBJECT: WHAT", with its numbers beside it
 * in FOLDER/NAME.csv; then its path and what it shows are printed. */
#ifndef TINYLM_COMMANDS_INSPECT_PICTURES_H
#define TINYLM_COMMANDS_INSPECT_PICTURES_H

#include "commands/inspect/subject.h"
#include "pictures/heat_map.h"
#include "pictures/table.h"

/* Adds a panel to a map: (rows, columns) numbers, to be filled before the next is added. The map becomes
 * the owner of the title, which is NULL if the panel is the only one. */
double *map_add(HeatMap *map, char *title);

/* Draws a map and frees its panels. The CSV, written if `numbers`, has a line per panel and row. */
bool inspect_draw_map(const InspectSubject *subject, const char *name, const char *what,
                      HeatMap *map, bool numbers, Error *error);
/* Draws charts below each other, the first under the picture's title, and frees their table. */
bool inspect_draw_charts(const InspectSubject *subject, const char *name, const char *what,
                         Chart *charts, int count, Table *table, Error *error);

#endif
