/* Heat maps: matrices of numbers as colours, in one PNG with title, axes, tick labels and a colour
 * bar. One panel, or a grid of panels of the same shape (one per layer and head) that share axes
 * and colour bar. The same map always gives the same bytes. */
#ifndef TINYLM_PICTURES_HEAT_MAP_H
#define TINYLM_PICTURES_HEAT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "pictures/canvas.h"

typedef enum HeatColors {
    HEAT_SEQUENTIAL, /* dark violet, blue, green, yellow (viridis): the more, the brighter */
    HEAT_DIVERGING   /* blue below zero, white at zero, red above; the scale is symmetric */
} HeatColors;

typedef struct HeatAxis {
    const char *title; /* NULL: none */
    const char *const
        *labels;        /* one per column or row, such as the tokens of a sentence; or NULL: */
    double first, step; /* cell n stands for the number first + n·step (step 0 means 1) */
} HeatAxis;

typedef struct HeatMap {
    const char *title, *bar_title;
    HeatAxis x, y; /* x: columns, from the left; y: rows, from the top */
    HeatColors colors;
    bool limited; /* colours run from low to high; otherwise over the finite numbers there are */
    double low, high;
    int64_t rows, columns;
    const double *const *panels; /* each [rows][columns]; what is not finite is drawn in grey */
    int64_t panel_count;
    int64_t panels_per_row;          /* 0: about as many as there are rows of panels */
    const char *const *panel_titles; /* NULL with one panel */
} HeatMap;

/* Writes the picture, about 600 to 1000 pixels on its longer side. A matrix with more than about a
 * thousand rows or columns is reduced by averages over blocks. Errors: an empty matrix, more panels
 * than fit, or the file cannot be written; then there is no file. */
bool heat_map_write(const char *path, const HeatMap *map, Error *error);

/* The colour for a share from 0 (low) to 1 (high). */
Color heat_color(HeatColors colors, double share);

#endif
