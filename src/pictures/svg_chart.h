/* Line charts and bar charts as SVG: one self-contained file for a browser or an HTML page. The same chart
 * always gives the same bytes. */
#ifndef TINYLM_PICTURES_SVG_CHART_H
#define TINYLM_PICTURES_SVG_CHART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct ChartSeries {
    char *name;      /* for the legend */
    const double *x; /* NULL: 0, 1, 2, … */
    double *y;
    int64_t count; /* non-finite points, or those ≤ 0 on a logarithmic axis, are gaps */
    bool points;   /* mark every point; otherwise only points without a neighbour */
} ChartSeries;

typedef struct ChartAxis {
    const char *title; /* NULL: none */
    bool logarithmic;
} ChartAxis;

typedef struct ChartMarker {
    double value; /* a line across the chart at this x (vertical) or y */
    bool vertical;
    const char *label; /* NULL: none */
} ChartMarker;

typedef struct Chart {
    const char *title;
    ChartAxis x, y;
    const ChartSeries *series;
    int series_count;
    const ChartMarker *markers;
    int marker_count;
    int width, height; /* pixels; 0: 800 and 440 */
    /* NULL: lines. Otherwise names of groups of bars: group g has a bar from 0 to y[g] for each series,
     * for instance one group per scheme and in it one bar per context length. */
    char *const *groups;
    int group_count;
} Chart;

/* Writes charts below each other into one file. Errors: no series, or none of its points can be
 * drawn (then no file is written); or the file cannot be written. */
bool svg_chart_write(const char *path, const Chart *charts, int count, Error *error);

#endif
