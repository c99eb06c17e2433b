#include "pictures/svg_chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "pictures/axis.h"
#include "pictures/svg.h"

static const char *marker_color = "#666666";

/* The layout of a chart: the data area and the axes along it. */
typedef struct Plot {
    double width, end;               /* of the chart: its right and lower edges, in pixels */
    double left, top, right, bottom; /* of the data area */
    Axis x, y;
} Plot;

static double series_x(const ChartSeries *series, int64_t i) {
    return series->x ? series->x[i] : (double)i;
}

static bool can_draw(const Chart *chart, const ChartSeries *series, int64_t i) {
    double x = series_x(series, i), y = series->y[i];
    return isfinite(x) && isfinite(y) && (x > 0 || !chart->x.logarithmic) &&
           (y > 0 || !chart->y.logarithmic);
}

/* ---- layout ---- */

/* The data's range with a margin on both sides, as a share of its length. */
static Range axis_range(const ChartAxis *axis, Range data, double air) {
    if (axis->logarithmic) {
        range_widen_log(&data);
        double ratio = pow(data.high / data.low, air);
        return (Range){data.low / ratio, data.high * ratio};
    }
    range_widen(&data);
    double more = (data.high - data.low) * air;
    /* No margin below zero for data that are never negative. */
    bool from_zero = data.low >= 0 && data.low - more < 0;
    return (Range){from_zero ? 0 : data.low - more, data.high + more};
}

static const double legend_row = 19, legend_sample = 34;

/* Width of the legend at the right; a single series has none, the title names it. */
static double legend_width(const Chart *chart) {
    if (chart->series_count < 2) return 0;
    double widest = 0;
    for (int s = 0; s < chart->series_count; s++)
        widest = fmax(widest, svg_text_width(SVG_SMALL, chart->series[s].name));
    return legend_sample + 14 + widest;
}

static bool plot_prepare(Plot *plot, const Chart *chart, double top_edge) {
    Range x = RANGE_EMPTY, y = RANGE_EMPTY;
    for (int s = 0; s < chart->series_count; s++)
        for (int64_t i = 0; i < chart->series[s].count; i++) {
            const ChartSeries *series = &chart->series[s];
            if (!can_draw(chart, series, i)) continue;
            range_add(&x, series_x(series, i));
            range_add(&y, series->y[i]);
        }
    if (range_is_empty(&x)) return false;
    for (int m = 0; m < chart->marker_count; m++)
        range_add(chart->markers[m].vertical ? &x : &y, chart->markers[m].value);

    if (chart->groups) {
        range_add(&y,
                  0); /* bars start at 0, so that their lengths are proportional to their values */
        x = (Range){-0.5, chart->group_count - 0.5};
    }

    double legend = legend_width(chart);
    *plot = (Plot){.x = {.title = chart->x.title,
                         .range = chart->groups ? x : axis_range(&chart->x, x, 0.015),
                         .logarithmic = chart->x.logarithmic,
                         .names = chart->groups,
                         .name_count = chart->group_count},
                   .y = {.title = chart->y.title,
                         .range = axis_range(&chart->y, y, chart->groups ? 0.06 : 0.04),
                         .logarithmic = chart->y.logarithmic}};
    plot->width = chart->width ? chart->width : 800;
    plot->top = top_edge + (chart->title ? 42 : 16);
    plot->right = plot->width - 22 - legend;
    double below = axis_room_below(&plot->x, (plot->right - 70) / fmax(chart->group_count, 1));
    double least = plot->top + fmax(legend > 0 ? chart->series_count * legend_row : 0, 120);
    plot->bottom = fmax(top_edge + (chart->height ? chart->height : 440) - below, least);
    plot->end = plot->bottom + below;
    axis_place(&plot->y, plot->bottom, plot->top, 32);
    plot->left = axis_room_left(&plot->y);
    plot->right = fmax(plot->right, plot->left + 100);
    return true;
}

/* Charts below each other share their left and right edges, so that equal x are in line. */
static void plots_align(Plot *plots, int count) {
    double left = 0, right = INFINITY;
    for (int i = 0; i < count; i++) {
        left = fmax(left, plots[i].left);
        right = fmin(right, plots[i].right);
    }
    for (int i = 0; i < count; i++) {
        plots[i].left = left;
        plots[i].right = right;
        axis_place(&plots[i].x, left, right, 72);
    }
}

/* ---- drawing ---- */

static void draw_markers(FILE *out, const Plot *plot, const Chart *chart) {
    for (int m = 0; m < chart->marker_count; m++) {
        const ChartMarker *marker = &chart->markers[m];
        double x = axis_pixel(&plot->x, marker->value), y = axis_pixel(&plot->y, marker->value);
        SvgText style = {.size = SVG_SMALL, .color = "#444444"};
        if (marker->vertical) {
            svg_line(out, x, plot->top, x, plot->bottom, marker_color, 1.2, "5 4");
            /* Beside the line, on the side with more room. */
            bool right_half = x > (plot->left + plot->right) / 2;
            style.anchor = right_half ? SVG_END : SVG_START;
            if (marker->label)
                svg_text(out, x + (right_half ? -5 : 5), plot->top + 14, style, marker->label);
        } else {
            svg_line(out, plot->left, y, plot->right, y, marker_color, 1.2, "5 4");
            style.anchor = SVG_END;
            double above = y - 5 < plot->top + 12 ? 15 : -5;
            if (marker->label) svg_text(out, plot->right - 5, y + above, style, marker->label);
        }
    }
}

static double half_pixel(const Plot *plot, const ChartSeries *series, int64_t i) {
    return round(2 * axis_pixel(&plot->x, series_x(series, i))) / 2;
}

/* The line through points [i, end). Of those that fall on one half pixel of x in a row only the lowest
 * and the highest are drawn: a line of very many points looks the same. */
static void draw_line(FILE *out, const Plot *plot, const ChartSeries *series, int s, int64_t i,
                      int64_t end) {
    fputs("<polyline points=\"", out);
    for (int64_t k = i; k < end;) {
        double x = half_pixel(plot, series, k), low = INFINITY, high = -INFINITY;
        for (; k < end && half_pixel(plot, series, k) == x; k++) {
            double y = axis_pixel(&plot->y, series->y[k]);
            low = fmin(low, y);
            high = fmax(high, y);
        }
        fprintf(out, "%.1f,%.1f ", x, low);
        if (high > low) fprintf(out, "%.1f,%.1f ", x, high);
    }
    const char *dash = svg_series_dash(s);
    fprintf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"", svg_series_color(s));
    if (dash) fprintf(out, " stroke-dasharray=\"%s\"", dash);
    fputs("/>\n", out);
}

/* A line for each run of points without a gap. */
static void draw_series(FILE *out, const Plot *plot, const Chart *chart, int s) {
    const ChartSeries *series = &chart->series[s];
    for (int64_t i = 0, end; i < series->count; i = end + 1) {
        for (end = i; end < series->count && can_draw(chart, series, end); end++) continue;
        if (end > i) draw_line(out, plot, series, s, i, end);
        for (int64_t k = i; k < end && (series->points || end == i + 1); k++)
            svg_series_point(out, s, axis_pixel(&plot->x, series_x(series, k)),
                             axis_pixel(&plot->y, series->y[k]));
    }
}

/* A bar per group, beside those of the other series, with its value if the bar is wide enough. */
static void draw_bars(FILE *out, const Plot *plot, const Chart *chart, int s) {
    double group = (plot->right - plot->left) / chart->group_count;
    double width = fmin(0.8 * group / chart->series_count, 60), zero = axis_pixel(&plot->y, 0);
    SvgText style = {.size = 10, .anchor = SVG_MIDDLE};
    for (int g = 0; g < chart->group_count; g++) {
        double value = chart->series[s].y[g], y = axis_pixel(&plot->y, value);
        if (!isfinite(value)) continue;
        double x = axis_pixel(&plot->x, g) + (s - chart->series_count / 2.0) * width;
        svg_rectangle(out, x, fmin(y, zero), fmax(width - 1, 1), fabs(zero - y),
                      svg_series_color(s));
        char label[TICK_LABEL_SIZE];
        tick_number(label, value, 3);
        if (width >= 26) svg_text(out, x + width / 2, value < 0 ? y + 12 : y - 4, style, label);
    }
    if (s == 0) svg_line(out, plot->left, zero, plot->right, zero, SVG_FRAME, 1, NULL);
}

static void draw_legend(FILE *out, const Plot *plot, const Chart *chart) {
    if (chart->series_count < 2) return;
    double x = plot->right + 12;
    for (int s = 0; s < chart->series_count; s++) {
        double y = plot->top + (s + 0.5) * legend_row;
        if (chart->groups)
            svg_rectangle(out, x + 8, y - 7, 13, 13, svg_series_color(s));
        else
            svg_line(out, x, y, x + legend_sample - 4, y, svg_series_color(s), 1.8,
                     svg_series_dash(s));
        if (chart->series[s].points) svg_series_point(out, s, x + (legend_sample - 4) / 2, y);
        SvgText style = {.size = SVG_SMALL};
        svg_text(out, x + legend_sample + 2, y + 4, style, chart->series[s].name);
    }
}

static void draw_chart(FILE *out, const Plot *plot, const Chart *chart) {
    axis_draw(out, &plot->x, AXIS_BELOW, plot->bottom, chart->groups ? NAN : plot->top);
    axis_draw(out, &plot->y, AXIS_LEFT, plot->left, plot->right);
    SvgText style = {.size = SVG_LARGE, .anchor = SVG_MIDDLE, .bold = 1};
    if (chart->title)
        svg_text(out, (plot->left + plot->right) / 2, plot->top - 16, style, chart->title);
    draw_markers(out, plot, chart);
    for (int s = 0; s < chart->series_count; s++)
        (chart->groups ? draw_bars : draw_series)(out, plot, chart, s);
    svg_line(out, plot->left, plot->top, plot->left, plot->bottom, SVG_FRAME, 1, NULL);
    svg_line(out, plot->left, plot->bottom, plot->right, plot->bottom, SVG_FRAME, 1, NULL);
    draw_legend(out, plot, chart);
}

/* ---- the picture ---- */

static bool plots_prepare(Plot *plots, const char *path, const Chart *charts, int count,
                          Error *error) {
    for (int i = 0; i < count; i++)
        if (!plot_prepare(&plots[i], &charts[i], i ? plots[i - 1].end : 0))
            return error_set(error,
                             "%s: nothing to draw: no series of the chart \"%s\" has a point with "
                             "finite numbers%s",
                             path, charts[i].title ? charts[i].title : "",
                             charts[i].y.logarithmic ? " above 0" : "");
    plots_align(plots, count);
    return true;
}

bool svg_chart_write(const char *path, const Chart *charts, int count, Error *error) {
    Plot *plots = allocate_zeroed((size_t)count, sizeof *plots);
    FileWriter writer;
    bool done =
        plots_prepare(plots, path, charts, count, error) && file_writer_open(&writer, path, error);
    if (done) {
        double width = 0;
        for (int i = 0; i < count; i++) width = fmax(width, plots[i].width);
        svg_begin(writer.stream, width, plots[count - 1].end);
        for (int i = 0; i < count; i++) draw_chart(writer.stream, &plots[i], &charts[i]);
        svg_end(writer.stream);
        done = file_writer_commit(&writer, NULL, error);
    }
    free(plots);
    return done;
}
