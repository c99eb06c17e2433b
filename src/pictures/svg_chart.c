#include "pictures/svg_chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "pictures/axis.h"
#include "pictures/svg.h"

static const char *frame_color = "#888888", *grid_color = "#e3e3e3", *marker_color = "#666666";

/* Where things are: the rectangle of the data inside a picture, and how values map to it. */
typedef struct Plot {
    double width, height;            /* of the chart, in pixels */
    double left, top, right, bottom; /* of the data area */
    Range x, y;
    bool log_x, log_y;
    Ticks x_ticks, y_ticks;
} Plot;

static double fraction(double value, Range range, bool logarithmic) {
    if (logarithmic) return log(value / range.low) / log(range.high / range.low);
    return (value - range.low) / (range.high - range.low);
}

/* Values far outside of a limited axis must not become coordinates with 300 digits. */
static double bounded(double share) {
    return fmax(-10, fmin(share, 10));
}

static double plot_x(const Plot *plot, double value) {
    return plot->left + bounded(fraction(value, plot->x, plot->log_x)) * (plot->right - plot->left);
}

static double plot_y(const Plot *plot, double value) {
    return plot->bottom -
           bounded(fraction(value, plot->y, plot->log_y)) * (plot->bottom - plot->top);
}

static double series_x(const ChartSeries *series, int64_t i) {
    return series->x ? series->x[i] : (double)i;
}

static bool can_draw(const Chart *chart, double x, double y) {
    return isfinite(x) && isfinite(y) && (x > 0 || !chart->x.logarithmic) &&
           (y > 0 || !chart->y.logarithmic);
}

/* ---- layout ---- */

/* The data's range, with a little air around it, or the limits that were asked for. */
static Range axis_range(const ChartAxis *axis, Range data, double air) {
    if (axis->limited) data = (Range){axis->low, axis->high};
    if (axis->logarithmic)
        range_widen_log(&data);
    else
        range_widen(&data);
    if (axis->limited) return data;
    if (axis->logarithmic) {
        double ratio = pow(data.high / data.low, air);
        return (Range){data.low / ratio, data.high * ratio};
    }
    double more = (data.high - data.low) * air;
    /* No empty strip below zero for data that only touch it from above. */
    bool from_zero = data.low >= 0 && data.low - more < 0;
    return (Range){from_zero ? 0 : data.low - more, data.high + more};
}

static void axis_ticks(Ticks *ticks, const ChartAxis *axis, Range range, double pixels_per_tick,
                       double pixels) {
    int most = (int)fmax(2, fmin(pixels / pixels_per_tick, TICKS_MAX));
    if (axis->ticks)
        ticks_given(ticks, range, axis->ticks, axis->tick_count);
    else if (axis->logarithmic)
        ticks_log(ticks, range, most);
    else
        ticks_linear(ticks, range, most);
}

static const double legend_row = 19, legend_sample = 34;

/* Room at the right for the legend; a single series needs none, the title says what it is. */
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
            if (!can_draw(chart, series_x(series, i), series->y[i])) continue;
            range_add(&x, series_x(series, i));
            range_add(&y, series->y[i]);
        }
    if (range_is_empty(&x)) return false;
    for (int m = 0; m < chart->marker_count; m++)
        range_add(chart->markers[m].vertical ? &x : &y, chart->markers[m].value);

    double legend = legend_width(chart);
    *plot = (Plot){.log_x = chart->x.logarithmic, .log_y = chart->y.logarithmic};
    plot->width = chart->width ? chart->width : 800;
    plot->height = chart->height ? chart->height : 440;
    plot->top = top_edge + (chart->title ? 42 : 16);
    plot->bottom = top_edge + plot->height - (chart->x.title ? 52 : 32);
    double legend_height = legend > 0 ? chart->series_count * legend_row : 0;
    if (plot->bottom - plot->top < legend_height) {
        plot->height += legend_height - (plot->bottom - plot->top);
        plot->bottom = plot->top + legend_height;
    }
    plot->x = axis_range(&chart->x, x, 0.015);
    plot->y = axis_range(&chart->y, y, 0.04);
    axis_ticks(&plot->y_ticks, &chart->y, plot->y, 32, plot->bottom - plot->top);
    double label_width = 0;
    for (int i = 0; i < plot->y_ticks.count; i++)
        label_width = fmax(label_width, svg_text_width(SVG_SMALL, plot->y_ticks.labels[i]));
    plot->left = (chart->y.title ? 34 : 12) + label_width + 8;
    plot->right = fmax(plot->width - 22 - legend, plot->left + 100);
    return true;
}

/* Charts below each other have their left and right edges in line, so that equal x meet. */
static void plots_align(Plot *plots, const Chart *charts, int count) {
    double left = 0, right = INFINITY;
    for (int i = 0; i < count; i++) {
        left = fmax(left, plots[i].left);
        right = fmin(right, plots[i].right);
    }
    for (int i = 0; i < count; i++) {
        plots[i].left = left;
        plots[i].right = right;
        axis_ticks(&plots[i].x_ticks, &charts[i].x, plots[i].x, 72, right - left);
    }
}

/* ---- drawing ---- */

static void draw_frame(FILE *out, const Plot *plot, const Chart *chart) {
    SvgText tick_style = {.size = SVG_SMALL, .anchor = SVG_MIDDLE};
    for (int i = 0; i < plot->x_ticks.count; i++) {
        double x = plot_x(plot, plot->x_ticks.values[i]);
        svg_line(out, x, plot->top, x, plot->bottom, grid_color, 1, NULL);
        svg_line(out, x, plot->bottom, x, plot->bottom + 5, frame_color, 1, NULL);
        svg_text(out, x, plot->bottom + 18, tick_style, plot->x_ticks.labels[i]);
    }
    tick_style.anchor = SVG_END;
    for (int i = 0; i < plot->y_ticks.count; i++) {
        double y = plot_y(plot, plot->y_ticks.values[i]);
        svg_line(out, plot->left, y, plot->right, y, grid_color, 1, NULL);
        svg_line(out, plot->left - 5, y, plot->left, y, frame_color, 1, NULL);
        svg_text(out, plot->left - 8, y + 4, tick_style, plot->y_ticks.labels[i]);
    }
    double middle_x = (plot->left + plot->right) / 2, middle_y = (plot->top + plot->bottom) / 2;
    SvgText title_style = {.size = SVG_LARGE, .anchor = SVG_MIDDLE, .bold = 1};
    if (chart->title) svg_text(out, middle_x, plot->top - 16, title_style, chart->title);
    SvgText axis_style = {.size = SVG_NORMAL, .anchor = SVG_MIDDLE};
    if (chart->x.title) svg_text(out, middle_x, plot->bottom + 40, axis_style, chart->x.title);
    axis_style.rotate = -90;
    if (chart->y.title) svg_text(out, 20, middle_y, axis_style, chart->y.title);
}

static void draw_border(FILE *out, const Plot *plot) {
    svg_line(out, plot->left, plot->top, plot->left, plot->bottom, frame_color, 1, NULL);
    svg_line(out, plot->left, plot->bottom, plot->right, plot->bottom, frame_color, 1, NULL);
}

static void draw_markers(FILE *out, const Plot *plot, const Chart *chart) {
    for (int m = 0; m < chart->marker_count; m++) {
        const ChartMarker *marker = &chart->markers[m];
        double x = plot_x(plot, marker->value), y = plot_y(plot, marker->value);
        SvgText style = {.size = SVG_SMALL, .color = "#444444"};
        if (marker->vertical) {
            if (!(x >= plot->left && x <= plot->right)) continue;
            svg_line(out, x, plot->top, x, plot->bottom, marker_color, 1.2, "5 4");
            /* Beside the line, on the side that has room. */
            bool right_half = x > (plot->left + plot->right) / 2;
            style.anchor = right_half ? SVG_END : SVG_START;
            if (marker->label)
                svg_text(out, x + (right_half ? -5 : 5), plot->top + 14, style, marker->label);
        } else {
            if (!(y >= plot->top && y <= plot->bottom)) continue;
            svg_line(out, plot->left, y, plot->right, y, marker_color, 1.2, "5 4");
            style.anchor = SVG_END;
            double above = y - 5 < plot->top + 12 ? 15 : -5;
            if (marker->label) svg_text(out, plot->right - 5, y + above, style, marker->label);
        }
    }
}

/* A line of very many points is thinned: of all that fall on one half pixel of x in a row, the
 * first, the lowest, the highest and the last are enough to look the same. */
typedef struct Line {
    FILE *out;
    int series;
    int64_t points; /* of the piece that is open */
    double column, first, low, high, last;
} Line;

static void line_point(Line *line, double y) {
    fprintf(line->out, "%s%.1f,%.1f", line->points++ ? " " : "", line->column, y);
}

static void line_flush_column(Line *line) {
    if (isnan(line->column)) return;
    line_point(line, line->first);
    if (line->low < fmin(line->first, line->last)) line_point(line, line->low);
    if (line->high > fmax(line->first, line->last)) line_point(line, line->high);
    if (line->last != line->first) line_point(line, line->last);
    line->column = NAN;
}

static void line_add(Line *line, double x, double y) {
    if (line->points == 0 && isnan(line->column)) fputs("<polyline points=\"", line->out);
    double column = round(2 * x) / 2;
    if (column != line->column) {
        line_flush_column(line);
        line->column = column;
        line->first = line->low = line->high = y;
    }
    line->low = fmin(line->low, y);
    line->high = fmax(line->high, y);
    line->last = y;
}

static void line_end(Line *line) {
    line_flush_column(line);
    if (line->points == 0) return;
    const char *dash = svg_series_dash(line->series);
    fprintf(line->out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"",
            svg_series_color(line->series));
    if (dash) fprintf(line->out, " stroke-dasharray=\"%s\"", dash);
    fputs("/>\n", line->out);
    line->points = 0;
}

static void draw_series(FILE *out, const Plot *plot, const Chart *chart, int s) {
    const ChartSeries *series = &chart->series[s];
    Line line = {.out = out, .series = s, .column = NAN};
    for (int64_t i = 0; i < series->count; i++) {
        double x = series_x(series, i), y = series->y[i];
        if (can_draw(chart, x, y))
            line_add(&line, plot_x(plot, x), plot_y(plot, y));
        else
            line_end(&line);
    }
    line_end(&line);
    bool before = false; /* is there a neighbour on the left? */
    for (int64_t i = 0; i < series->count; i++) {
        double x = series_x(series, i), y = series->y[i];
        bool here = can_draw(chart, x, y);
        bool after =
            i + 1 < series->count && can_draw(chart, series_x(series, i + 1), series->y[i + 1]);
        if (here && (series->points || (!before && !after)))
            svg_series_point(out, s, plot_x(plot, x), plot_y(plot, y));
        before = here;
    }
}

static void draw_legend(FILE *out, const Plot *plot, const Chart *chart) {
    if (chart->series_count < 2) return;
    double x = plot->right + 12;
    for (int s = 0; s < chart->series_count; s++) {
        double y = plot->top + (s + 0.5) * legend_row;
        svg_line(out, x, y, x + legend_sample - 4, y, svg_series_color(s), 1.8, svg_series_dash(s));
        if (chart->series[s].points) svg_series_point(out, s, x + (legend_sample - 4) / 2, y);
        SvgText style = {.size = SVG_SMALL};
        svg_text(out, x + legend_sample + 2, y + 4, style, chart->series[s].name);
    }
}

static void draw_chart(FILE *out, const Plot *plot, const Chart *chart) {
    draw_frame(out, plot, chart);
    draw_markers(out, plot, chart);
    /* An inner picture with its own edges cuts off what lies outside of a limited axis; a little
     * wider than the data area, so that points on its border stay whole. */
    double left = plot->left - 4, top = plot->top - 4;
    double width = plot->right + 4 - left, height = plot->bottom + 4 - top;
    fprintf(out,
            "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "viewBox=\"%.1f %.1f %.1f %.1f\">\n",
            left, top, width, height, left, top, width, height);
    for (int s = 0; s < chart->series_count; s++) draw_series(out, plot, chart, s);
    svg_end(out);
    draw_border(out, plot);
    draw_legend(out, plot, chart);
}

/* ---- the public functions ---- */

char *svg_chart_text(const char *name, const Chart *charts, int count, Error *error) {
    Plot *plots = allocate_zeroed(count, sizeof *plots);
    double width = 0, height = 0;
    for (int i = 0; i < count; i++) {
        if (!plot_prepare(&plots[i], &charts[i], height)) {
            error_set(error,
                      "%s: nothing to draw: no series of the chart \"%s\" has a point with "
                      "finite numbers%s",
                      name, charts[i].title ? charts[i].title : "",
                      charts[i].y.logarithmic ? " above 0" : "");
            free(plots);
            return NULL;
        }
        width = fmax(width, plots[i].width);
        height += plots[i].height;
    }
    plots_align(plots, charts, count);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        error_set(error, "%s: no memory for the picture", name);
        free(plots);
        return NULL;
    }
    svg_begin(out, width, height);
    for (int i = 0; i < count; i++) draw_chart(out, &plots[i], &charts[i]);
    svg_end(out);
    fclose(out);
    free(plots);
    return text;
}

bool svg_chart_write(const char *path, const Chart *charts, int count, Error *error) {
    char *text = svg_chart_text(path, charts, count, error);
    bool done = text && file_write(path, text, strlen(text), error);
    free(text);
    return done;
}
