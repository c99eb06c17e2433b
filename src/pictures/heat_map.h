/* Heat maps: matrices of numbers as colours, in one SVG with title, axes, labels and colour bars; the
 * cells are PNG images inside it. One panel, or a grid of panels of the same shape (one per layer and
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
    HEAT_SEQUENTIAL, /* dark violet, blue, green, yellow (viridis): the more, the brighter */
    HEAT_DIVERGING   /* blue below zero, white at zero, red above, of the same strength */
} HeatColors;

typedef struct HeatAxis {
    const char *title;   /* NULL: none */
    char *const *labels; /* one per column or row, such as the tokens of a sentence; or NULL: */
    double first;        /* cell n stands for the number first + n */
} HeatAxis;

typedef struct HeatMap {
    const char *title, *bar_title;
    HeatAxis x, y; /* x: columns, from the left; y: rows, from the top */
    HeatColors colors;
    /* Colours run over the finite numbers there are, and 0 for diverging ones: of all panels, or of each
     * panel with a colour bar of its own. What lies outside of the limits has the colour at the limit. */
    bool scale_per_panel;
    bool limited;
    double low, high;
    int64_t rows, columns;
    double *values; /* [panel][rows][columns]; what is not finite is drawn in grey */
    int64_t panel_count;
    int64_t panels_per_row; /* 0: about as many as there are rows of panels */
    char **panel_titles;    /* NULL with one panel */
} HeatMap;

/* Writes the picture, about 600 to 1000 pixels on its longer side. A matrix with more than about a
 * thousand rows or columns is reduced by averages over blocks. Errors: an empty matrix, more panels
 * than fit, or the file cannot be written; then there is no file. */
bool heat_map_write(const char *path, const HeatMap *map, Error *error);

/* The colour for a share from 0 (low) to 1 (high) of a scale; for diverging colours 0.5 is zero. */
Color heat_color(HeatColors colors, double share);

#endif
