/* Heat maps: matrices of numbers as colours, in one SVG with title, axes, labels and colour bars; the
 * cells are embedded PNG images. One panel, or a grid of panels of the same shape (one per layer and
 * head) that share axes and colour bar. The same map always gives the same bytes. */
#ifndef TINYLM_PICTURES_HEAT_MAP_H
#define TINYLM_PICTURES_HEAT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct Color {
    uint8_t red, green, blue;
} Color;

typedef enum HeatColors {
    HEAT_SEQUENTIAL, /* viridis: dark violet, blue, green, yellow from low to high */
    HEAT_DIVERGING   /* blue below zero, white at zero, red above, symmetric */
} HeatColors;

typedef struct HeatAxis {
    const char *title;   /* NULL: none */
    char *const *labels; /* one per column or row, such as the tokens of a sentence; or NULL: */
    double first;        /* cell n is the number first + n */
} HeatAxis;

typedef struct HeatMap {
    const char *title, *bar_title;
    HeatAxis x, y; /* x: columns, from the left; y: rows, from the top */
    HeatColors colors;
    /* The colour scale spans the finite values, and 0 if diverging: those of all panels, or of each panel,
     * which then has its own colour bar. If `limited`, values are clamped to [low, high]. */
    bool scale_per_panel;
    bool limited;
    double low, high;
    int64_t rows, columns;
    double *values; /* [panel][rows][columns]; non-finite values are drawn grey */
    int64_t panel_count;
    int64_t panels_per_row; /* 0: as close to a square as possible */
    char **panel_titles;    /* NULL with one panel */
} HeatMap;

/* Writes the picture, about 600 to 1000 pixels on its longer side. A matrix with more than about a
 * thousand rows or columns is reduced by averages over blocks. Errors: an empty matrix, more panels
 * than fit, or the file cannot be written; then no file is left. */
bool heat_map_write(const char *path, const HeatMap *map, Error *error);

/* The colour for a share from 0 (low) to 1 (high) of a scale; for diverging colours 0.5 is zero. */
Color heat_color(HeatColors colors, double share);

#endif
