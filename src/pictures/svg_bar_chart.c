#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "pictures/axis.h"
#include "pictures/svg.h"
#include "pictures/svg_chart.h"

typedef struct Layout {
    double width, height, left, top, right, bottom;
    Range y;
    Ticks ticks;
    bool slanted; /* group names that do not fit beside each other are turned */
} Layout;

static double value_y(const Layout *layout, double value) {
    double share = (value - layout->y.low) / (layout->y.high - layout->y.low);
    share = fmax(-1, fmin(share, 2)); /* numbers beyond what a Range holds */
    return layout->bottom - share * (layout->bottom - layout->top);
}

static double widest_of(const char *const *names, int count) {
    double widest = 0;
    for (int i = 0; i < count; i++) widest = fmax(widest, svg_text_width(SVG_SMALL, names[i]));
    return widest;
}

static bool layout_prepare(Layout *layout, const BarChart *chart) {
    Range y = RANGE_EMPTY;
    for (int64_t i = 0; i < (int64_t)chart->group_count * chart->series_count; i++)
        range_add(&y, chart->values[i]);
    if (range_is_empty(&y)) return false;
    range_add(&y, 0); /* the length of a bar is its value only when bars start at 0 */
    range_widen(&y);
    if (y.high > 0) y.high += 0.06 * (y.high - y.low);
    if (y.low < 0) y.low -= 0.06 * (y.high - y.low);

    *layout = (Layout){.y = y};
    layout->width = chart->width ? chart->width : 800;
    layout->height = chart->height ? chart->height : 440;
    double label_width = widest_of(chart->groups, chart->group_count);
    ticks_linear(&layout->ticks, y, 8);
    double tick_width = 0;
    for (int i = 0; i < layout->ticks.count; i++)
        tick_width = fmax(tick_width, svg_text_width(SVG_SMALL, layout->ticks.labels[i]));
    layout->left = (chart->y_title ? 34 : 12) + tick_width + 8;
    layout->right = layout->width - 22;
    layout->slanted = label_width + 8 > (layout->right - layout->left) / chart->group_count;
    layout->top = (chart->title ? 42 : 16) + (chart->series_count > 1 ? 26 : 0);
    layout->bottom = layout->height - (layout->slanted ? 22 + label_width * 0.6 : 34);
    if (layout->bottom < layout->top + 120) {
        layout->height += layout->top + 120 - layout->bottom;
        layout->bottom = layout->top + 120;
    }
    return true;
}

static void draw_axes(FILE *out, const Layout *layout, const BarChart *chart) {
    SvgText tick_style = {.size = SVG_SMALL, .anchor = SVG_END};
    for (int i = 0; i < layout->ticks.count; i++) {
        double y = value_y(layout, layout->ticks.values[i]);
        svg_line(out, layout->left, y, layout->right, y, "#e3e3e3", 1, NULL);
        svg_text(out, layout->left - 8, y + 4, tick_style, layout->ticks.labels[i]);
    }
    double middle = (layout->left + layout->right) / 2;
    SvgText title_style = {.size = SVG_LARGE, .anchor = SVG_MIDDLE, .bold = 1};
    if (chart->title) svg_text(out, middle, 26, title_style, chart->title);
    SvgText axis_style = {.size = SVG_NORMAL, .anchor = SVG_MIDDLE, .rotate = -90};
    if (chart->y_title)
        svg_text(out, 20, (layout->top + layout->bottom) / 2, axis_style, chart->y_title);
}

static void draw_legend(FILE *out, const Layout *layout, const BarChart *chart) {
    if (chart->series_count < 2) return;
    double total = 0;
    for (int s = 0; s < chart->series_count; s++)
        total += svg_text_width(SVG_SMALL, chart->series[s]) + 36;
    double x = (layout->left + layout->right - total) / 2, y = layout->top - 22;
    for (int s = 0; s < chart->series_count; s++) {
        SvgText style = {.size = SVG_SMALL};
        svg_rectangle(out, x, y, 13, 13, svg_series_color(s));
        svg_text(out, x + 18, y + 11, style, chart->series[s]);
        x += svg_text_width(SVG_SMALL, chart->series[s]) + 36;
    }
}

static void draw_bars(FILE *out, const Layout *layout, const BarChart *chart) {
    double group_width = (layout->right - layout->left) / chart->group_count;
    double bar_width = fmin(0.8 * group_width / chart->series_count, 60);
    double zero = value_y(layout, 0);
    bool numbers = bar_width >= 26; /* room for about four digits above each bar */
    SvgText number_style = {.size = 10, .anchor = SVG_MIDDLE};
    for (int g = 0; g < chart->group_count; g++) {
        double center = layout->left + (g + 0.5) * group_width;
        double x = center - bar_width * chart->series_count / 2;
        for (int s = 0; s < chart->series_count; s++, x += bar_width) {
            double value = chart->values[(int64_t)g * chart->series_count + s];
            if (!isfinite(value)) continue;
            double y = value_y(layout, value);
            svg_rectangle(out, x, fmin(y, zero), fmax(bar_width - 1, 1), fabs(zero - y),
                          svg_series_color(s));
            char label[TICK_LABEL_SIZE];
            tick_number(label, value, 3);
            if (numbers)
                svg_text(out, x + bar_width / 2, value < 0 ? y + 12 : y - 4, number_style, label);
        }
        SvgText name_style = {.size = SVG_SMALL, .anchor = SVG_MIDDLE};
        if (layout->slanted)
            name_style = (SvgText){.size = SVG_SMALL, .anchor = SVG_END, .rotate = -35};
        svg_text(out, center, layout->bottom + 17, name_style, chart->groups[g]);
    }
    svg_line(out, layout->left, zero, layout->right, zero, "#888888", 1, NULL);
}

bool svg_bar_chart_write(const char *path, const BarChart *chart, Error *error) {
    Layout layout;
    if (!layout_prepare(&layout, chart))
        return error_set(error, "%s: nothing to draw: the chart \"%s\" has no finite number", path,
                         chart->title ? chart->title : "");
    FileWriter writer;
    if (!file_writer_open(&writer, path, error)) return false;
    svg_begin(writer.stream, layout.width, layout.height);
    draw_axes(writer.stream, &layout, chart);
    draw_legend(writer.stream, &layout, chart);
    draw_bars(writer.stream, &layout, chart);
    svg_end(writer.stream);
    return file_writer_commit(&writer, NULL, error);
}
