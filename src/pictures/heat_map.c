#include "pictures/heat_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <stb_image_write.h>

#include "base/file.h"
#include "pictures/axis.h"
#include "pictures/svg.h"

/* ---- colours ---- */

Color heat_color(HeatColors colors, double share) {
    /* Evenly spaced points of viridis (van der Walt and Smith) and of ColorBrewer's RdBu. */
    static const Color sequential[] = {{68, 1, 84},    {71, 44, 122},  {59, 81, 139},
                                       {44, 113, 142}, {33, 144, 141}, {39, 173, 129},
                                       {92, 200, 99},  {170, 220, 50}, {253, 231, 37}};
    static const Color diverging[] = {{5, 48, 97},     {33, 102, 172},  {67, 147, 195},
                                      {146, 197, 222}, {255, 255, 255}, {244, 165, 130},
                                      {214, 96, 77},   {178, 24, 43},   {103, 0, 31}};
    const Color *points = colors == HEAT_SEQUENTIAL ? sequential : diverging;
    double place = fmax(0, fmin(share, 1)) * 8;
    int below = place >= 8 ? 7 : (int)place;
    double rest = place - below;
    const Color *a = &points[below], *b = &points[below + 1];
    return (Color){(uint8_t)lround(a->red + rest * (b->red - a->red)),
                   (uint8_t)lround(a->green + rest * (b->green - a->green)),
                   (uint8_t)lround(a->blue + rest * (b->blue - a->blue))};
}

/* The range of the colours of panels [first, end). */
static Range color_range(const HeatMap *map, int64_t first, int64_t end) {
    Range range = RANGE_EMPTY;
    int64_t size = map->rows * map->columns;
    for (int64_t i = first * size; i < end * size; i++) {
        double value = map->values[i];
        if (map->limited && isfinite(value)) value = fmin(fmax(value, map->low), map->high);
        range_add(&range, value);
    }
    if (range_is_empty(&range)) range = (Range){0, 1};
    if (map->colors == HEAT_DIVERGING) range_add(&range, 0);
    range_widen(&range);
    return range;
}

static Color color_of(const HeatMap *map, Range range, double value) {
    if (isnan(value)) return (Color){190, 190, 190};
    double strongest = fmax(fabs(range.low), fabs(range.high));
    return heat_color(map->colors, map->colors == HEAT_DIVERGING
                                       ? 0.5 + value / strongest / 2
                                       : (value - range.low) / (range.high - range.low));
}

/* ---- layout ---- */

enum { GAP = 16, BAR_WIDTH = 14 }; /* pixels */

/* How the rows or the columns of a panel are drawn. */
typedef struct Cells {
    int64_t block; /* of the matrix, averaged into one that is drawn */
    int64_t count; /* drawn */
    int64_t size;  /* pixels of each */
} Cells;

typedef struct Layout {
    Cells rows, columns;
    int64_t across, down;             /* panels */
    double panel_width, panel_height; /* pixels */
    double left, top, step_x, step_y; /* of the first panel, and from panel to panel */
    double width, height;
    Axis x, y;   /* of the first panel */
    Range range; /* of the colours that panels share */
} Layout;

/* `count` cells on about `pixels` pixels; named cells are large enough for their names. */
static Cells cells_on(int64_t count, double pixels, bool named) {
    double block = fmax(round((double)count / pixels), 1), drawn = ceil((double)count / block);
    double size = fmin(fmax(round(pixels / drawn), 1), named ? 56 : 64);
    if (named && drawn <= 48) size = fmax(size, 18);
    return (Cells){(int64_t)block, (int64_t)drawn, (int64_t)size};
}

static double widest_title(const HeatMap *map) {
    double widest = 0;
    for (int64_t p = 0; map->panel_titles && p < map->panel_count; p++)
        widest = fmax(widest, svg_text_width(SVG_SMALL, map->panel_titles[p]));
    return widest;
}

static void size_panels(Layout *layout, const HeatMap *map) {
    double panels = (double)map->panel_count, across = (double)map->panels_per_row;
    across = fmin(across > 0 ? across : ceil(sqrt(panels)), panels);
    double down = ceil(panels / across), most = fmax(across, down);
    double pixels = most == 1 ? 720 : fmax(floor(840 / most), 72);
    layout->across = (int64_t)across;
    layout->down = (int64_t)down;
    layout->rows = cells_on(map->rows, pixels, map->y.labels && most == 1);
    layout->columns = cells_on(map->columns, pixels, map->x.labels && most == 1);
    if (map->rows == map->columns && layout->rows.size > layout->columns.size)
        layout->columns.size = layout->rows.size;
    if (map->rows == map->columns) layout->rows.size = layout->columns.size;
    layout->panel_width = (double)(layout->columns.count * layout->columns.size);
    layout->panel_height = (double)(layout->rows.count * layout->rows.size);
}

/* Cell n is around the number first + n, or the name number n. */
static Axis cell_axis(const HeatAxis *wish, int64_t count, double start, double end) {
    double first = wish->labels ? 0 : wish->first;
    Axis axis = {.title = wish->title,
                 .range = {first - 0.5, first + (double)count - 0.5},
                 .names = wish->labels,
                 .name_count = count};
    axis_place(&axis, start, end, fmax(40, fabs(end - start) / (double)count));
    return axis;
}

/* The vertical axis of a colour bar. */
static Axis bar_axis(Range range, double top, double bottom) {
    Axis axis = {.range = range};
    axis_place(&axis, bottom, top, fmax(30, (bottom - top) / 9));
    return axis;
}

static Range panel_range(const Layout *layout, const HeatMap *map, int64_t p) {
    return map->scale_per_panel ? color_range(map, p, p + 1) : layout->range;
}

static double bar_height(const Layout *layout, const HeatMap *map) {
    if (map->scale_per_panel) return layout->panel_height;
    return fmax((double)(layout->down - 1) * layout->step_y + layout->panel_height, 120);
}

static void place_everything(Layout *layout, const HeatMap *map) {
    size_panels(layout, map);
    Axis y = cell_axis(&map->y, map->rows, 0, layout->panel_height);
    layout->left = axis_room_left(&y) + 4;
    layout->top = GAP + (map->title ? 28 : 0) + (map->panel_titles ? 20 : 0);
    layout->x = cell_axis(&map->x, map->columns, layout->left, layout->left + layout->panel_width);
    layout->y = cell_axis(&map->y, map->rows, layout->top, layout->top + layout->panel_height);
    layout->step_x = fmax(layout->panel_width, widest_title(map)) + GAP;
    layout->step_y = layout->panel_height + GAP + (map->panel_titles ? 12 : 0);
    double bars = 0, height = bar_height(layout, map);
    layout->range = color_range(map, 0, map->panel_count);
    for (int64_t p = 0; p < map->panel_count; p++) {
        Axis bar = bar_axis(panel_range(layout, map, p), 0, height);
        bars = fmax(bars, BAR_WIDTH + axis_room_left(&bar));
        if (!map->scale_per_panel) break;
    }
    layout->step_x += map->scale_per_panel ? bars : 0;
    layout->width = layout->left + (double)layout->across * layout->step_x +
                    (map->scale_per_panel ? 0 : bars) + (map->bar_title ? 28 : GAP);
    if (map->title)
        layout->width = fmax(layout->width, svg_text_width(SVG_LARGE, map->title) + 2 * GAP);
    double bottom = layout->top + fmax(height, (double)(layout->down - 1) * layout->step_y +
                                                   layout->panel_height);
    layout->height =
        bottom + axis_room_below(&layout->x, layout->panel_width / (double)map->columns);
}

/* ---- drawing ---- */

typedef struct Bytes {
    uint8_t *data;
    size_t size;
} Bytes;

static void bytes_add(void *context, void *data, int count) {
    Bytes *bytes = context;
    bytes->data = reallocate(bytes->data, bytes->size + (size_t)count, 1);
    memcpy(bytes->data + bytes->size, data, (size_t)count);
    bytes->size += (size_t)count;
}

/* An image of (rows, columns) pixels as PNG in base64 (RFC 4648), stretched over a rectangle with a thin
 * frame. */
static void draw_image(FILE *out, double x, double y, double width, double height,
                       const Color *pixels, int64_t rows, int64_t columns) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    Bytes png = {NULL, 0};
    if (!stbi_write_png_to_func(bytes_add, &png, (int)columns, (int)rows, 3, pixels,
                                3 * (int)columns))
        out_of_memory((uint64_t)(rows * columns), sizeof *pixels);
    svg_rectangle(out, x - 1, y - 1, width + 2, height + 2, SVG_FRAME);
    fprintf(out,
            "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "preserveAspectRatio=\"none\" image-rendering=\"pixelated\" "
            "href=\"data:image/png;base64,",
            x, y, width, height);
    for (size_t i = 0; i < png.size; i += 3) {
        uint32_t left = (uint32_t)(png.size - i), bits = (uint32_t)png.data[i] << 16;
        if (left > 1) bits |= (uint32_t)png.data[i + 1] << 8;
        if (left > 2) bits |= png.data[i + 2];
        for (uint32_t k = 0; k < 4; k++)
            fputc(k > left ? '=' : digits[bits >> (18 - 6 * k) & 63], out);
    }
    fputs("\"/>\n", out);
    free(png.data);
}

/* The mean of the finite numbers in a block of cells, NaN if there are none: of the block that is drawn
 * in this row and column. */
static double block_mean(const HeatMap *map, const Layout *layout, const double *panel, int64_t row,
                         int64_t column) {
    int64_t height = layout->rows.block, width = layout->columns.block;
    double sum = 0, count = 0;
    for (int64_t i = row * height; i < (row + 1) * height && i < map->rows; i++)
        for (int64_t j = column * width; j < (column + 1) * width && j < map->columns; j++)
            if (isfinite(panel[i * map->columns + j])) {
                sum += panel[i * map->columns + j];
                count++;
            }
    return sum / count;
}

static void draw_cells(FILE *out, const HeatMap *map, const Layout *layout, const double *panel,
                       Range range, double left, double top) {
    const Cells *rows = &layout->rows, *columns = &layout->columns;
    int64_t width = columns->count * columns->size, height = rows->count * rows->size;
    Color *pixels = allocate((uint64_t)(width * height), sizeof *pixels);
    for (int64_t n = 0; n < width * height; n++)
        pixels[n] = color_of(
            map, range,
            block_mean(map, layout, panel, n / width / rows->size, n % width / columns->size));
    draw_image(out, left, top, layout->panel_width, layout->panel_height, pixels, height, width);
    free(pixels);
}

static void draw_bar(FILE *out, const HeatMap *map, Range range, double left, double top,
                     double height) {
    enum { STEPS = 256 };
    Color pixels[STEPS];
    for (int i = 0; i < STEPS; i++)
        pixels[i] = color_of(map, range, range.high + (i + 0.5) / STEPS * (range.low - range.high));
    draw_image(out, left, top, BAR_WIDTH, height, pixels, STEPS, 1);
    Axis axis = bar_axis(range, top, top + height);
    axis_draw(out, &axis, AXIS_RIGHT, left + BAR_WIDTH, NAN);
}

static void draw_panel(FILE *out, const HeatMap *map, const Layout *layout, int64_t p) {
    double right = (double)(p % layout->across) * layout->step_x;
    double down = (double)(p / layout->across) * layout->step_y;
    double left = layout->left + right, top = layout->top + down;
    Range range = panel_range(layout, map, p);
    draw_cells(out, map, layout, map->values + p * map->rows * map->columns, range, left, top);
    SvgText style = {.size = SVG_SMALL, .anchor = SVG_MIDDLE};
    if (map->panel_titles)
        svg_text(out, left + layout->panel_width / 2, top - 6, style, map->panel_titles[p]);
    Axis x = layout->x, y = layout->y;
    x.start += right, x.end += right, y.start += down, y.end += down;
    x.title = y.title = NULL; /* one for all panels */
    if (p + layout->across >= map->panel_count)
        axis_draw(out, &x, AXIS_BELOW, top + layout->panel_height, NAN);
    if (p % layout->across == 0) axis_draw(out, &y, AXIS_LEFT, left, NAN);
    if (map->scale_per_panel)
        draw_bar(out, map, range, left + layout->panel_width + 8, top, layout->panel_height);
    else if (p == 0)
        draw_bar(out, map, range, layout->left + (double)layout->across * layout->step_x,
                 layout->top, bar_height(layout, map));
}

bool heat_map_write(const char *path, const HeatMap *map, Error *error) {
    if (map->rows < 1 || map->columns < 1 || map->panel_count < 1)
        return error_set(error, "%s: nothing to draw: the matrix is empty", path);
    Layout layout = {0};
    place_everything(&layout, map);
    if (layout.width > 8000 || layout.height > 8000)
        return error_set(error, "%s: %lld panels do not fit into one picture; draw fewer", path,
                         (long long)map->panel_count);
    FileWriter writer;
    if (!file_writer_open(&writer, path, error)) return false;
    FILE *out = writer.stream;
    svg_begin(out, layout.width, layout.height);
    for (int64_t p = 0; p < map->panel_count; p++) draw_panel(out, map, &layout, p);
    SvgText style = {.size = SVG_LARGE, .anchor = SVG_MIDDLE, .bold = 1};
    if (map->title) svg_text(out, layout.width / 2, 26, style, map->title);
    double middle = layout.left + ((double)layout.across * layout.step_x - GAP) / 2;
    style = (SvgText){.size = SVG_NORMAL, .anchor = SVG_MIDDLE};
    if (map->x.title) svg_text(out, middle, layout.height - 12, style, map->x.title);
    style.rotate = -90;
    middle = layout.top + ((double)layout.down * layout.step_y - GAP) / 2;
    if (map->y.title) svg_text(out, 16, middle, style, map->y.title);
    if (map->bar_title)
        svg_text(out, layout.width - 10, layout.top + bar_height(&layout, map) / 2, style,
                 map->bar_title);
    svg_end(out);
    return file_writer_commit(&writer, NULL, error);
}
