#include "commands/inspect/pictures.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/printable.h"

/* Draws the map, or if it is NULL the charts; writes the table unless it is NULL. */
static bool draw(const InspectSubject *subject, const char *name, const char *what, HeatMap *map,
                 Chart *charts, int count, const Table *table, Error *error) {
    char *base = path_join(subject->folder, name);
    char *svg = string_format("%s.svg", base), *csv = string_format("%s.csv", base);
    char *title = string_format("%s: %s", subject->title, what);
    *(map ? &map->title : &charts[0].title) = title;
    bool drawn =
        directory_create(subject->folder, error) &&
        (map ? heat_map_write(svg, map, error) : svg_chart_write(svg, charts, count, error)) &&
        (!table || table_write(table, csv, error));
    if (drawn) print_line(stdout, "%-44s %s", svg, what);
    free(base);
    free(svg);
    free(csv);
    free(title);
    return drawn;
}

double *map_add(HeatMap *map, char *title) {
    size_t n = (size_t)map->panel_count++, size = (size_t)(map->rows * map->columns);
    map->values = reallocate(map->values, (n + 1) * size, sizeof *map->values);
    if (title) {
        map->panel_titles = reallocate(map->panel_titles, n + 1, sizeof *map->panel_titles);
        map->panel_titles[n] = title;
    }
    return map->values + n * size;
}

static Table table_of(const HeatMap *map) {
    int64_t rows = map->panel_count * map->rows;
    Table table = {.rows = rows, .row_names = allocate((size_t)rows, sizeof *table.row_names)};
    for (int64_t n = 0; n < rows; n++) {
        int64_t i = n % map->rows;
        char *label = map->y.labels ? string_copy(map->y.labels[i])
                                    : string_format("%g", map->y.first + (double)i);
        table.row_names[n] = map->panel_titles
                                 ? string_format("%s: %s", map->panel_titles[n / map->rows], label)
                                 : string_copy(label);
        free(label);
    }
    for (int64_t j = 0; j < map->columns; j++) {
        double *column = table_add(&table, map->x.labels ? string_copy(map->x.labels[j])
                                                         : string_format("%lld", (long long)j));
        for (int64_t n = 0; n < rows; n++) column[n] = map->values[n * map->columns + j];
    }
    return table;
}

bool inspect_draw_map(const InspectSubject *subject, const char *name, const char *what,
                      HeatMap *map, bool numbers, Error *error) {
    Table table = numbers ? table_of(map) : (Table){0};
    bool drawn = draw(subject, name, what, map, NULL, 0, numbers ? &table : NULL, error);
    table_free(&table);
    for (int64_t n = 0; map->panel_titles && n < map->panel_count; n++) free(map->panel_titles[n]);
    free(map->panel_titles);
    free(map->values);
    return drawn;
}

bool inspect_draw_charts(const InspectSubject *subject, const char *name, const char *what,
                         Chart *charts, int count, Table *table, Error *error) {
    bool drawn = draw(subject, name, what, NULL, charts, count, table, error);
    table_free(table);
    return drawn;
}
