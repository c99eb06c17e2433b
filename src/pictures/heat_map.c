#include "pictures/heat_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pictures/axis.h"

static const Color ink = {34, 34, 34}, frame = {120, 120, 120}, missing = {190, 190, 190};

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

static Range color_range(const HeatMap *map) {
    Range range = RANGE_EMPTY;
    if (map->limited) {
        range = (Range){map->low, map->high};
    } else {
        for (int64_t p = 0; p < map->panel_count; p++)
            for (int64_t i = 0; i < map->rows * map->columns; i++)
                range_add(&range, map->panels[p][i]);
        if (range_is_empty(&range)) range = (Range){0, 1};
        if (map->colors == HEAT_DIVERGING) {
            double size = fmax(fabs(range.low), fabs(range.high));
            range = (Range){-size, size};
        }
    }
    range_widen(&range);
    return range;
}

/* ---- layout ---- */

enum { LABEL = 2, TITLE = 3, GAP = 8 }; /* pixels per dot of the font; pixels between things */

typedef struct Layout {
    int64_t block_rows, block_columns; /* cells of the matrix averaged into one cell drawn */
    int64_t rows, columns;             /* cells drawn per panel */
    int64_t cell_width, cell_height;   /* pixels */
    int64_t panel_width, panel_height; /* pixels */
    int64_t across, down;              /* panels */
    int64_t left, top, step_x, step_y; /* of the first panel, and from panel to panel */
    int64_t bar_left, bar_top, bar_height;
    bool upwards; /* column labels are turned */
    Range range;
    Ticks bar_ticks;
    int64_t width, height;
} Layout;

static const int64_t bar_width = 22;

static int64_t at_least(int64_t value, int64_t low) {
    return value < low ? low : value;
}
static int64_t at_most(int64_t value, int64_t high) {
    return value > high ? high : value;
}

static int64_t divide_rounded(int64_t a, int64_t b) {
    return (a + b / 2) / b;
}

/* How many cells of the matrix share one pixel when there are too many. */
static int64_t block_size(int64_t count, int64_t pixels) {
    return at_least(divide_rounded(count, pixels), 1);
}

/* Cells as large as `pixels` allow; those with names large enough to read the names. */
static int64_t cell_size(int64_t count, int64_t pixels, bool named) {
    int64_t size = at_most(at_least(divide_rounded(pixels, count), 1), named ? 56 : 64);
    if (named && count <= 48) size = at_least(size, canvas_text_height(LABEL) + 4);
    return size;
}

static int64_t widest_label(const HeatAxis *axis, int64_t count) {
    int64_t widest = 0;
    for (int64_t i = 0; axis->labels && i < count; i++)
        widest = at_least(canvas_text_width(LABEL, axis->labels[i]), widest);
    if (axis->labels) return at_most(widest, 220);
    double step = axis->step == 0 ? 1 : axis->step;
    char first[TICK_LABEL_SIZE], last[TICK_LABEL_SIZE];
    tick_number(first, axis->first, 6);
    tick_number(last, axis->first + step * (double)(count - 1), 6);
    return at_least(canvas_text_width(LABEL, first), canvas_text_width(LABEL, last));
}

static int64_t widest_title(const HeatMap *map) {
    int64_t widest = 0;
    for (int64_t p = 0; map->panel_titles && p < map->panel_count; p++)
        widest = at_least(canvas_text_width(LABEL, map->panel_titles[p]), widest);
    return widest;
}

static void place_panels(Layout *layout, const HeatMap *map) {
    layout->across = map->panels_per_row;
    if (layout->across <= 0) layout->across = (int64_t)ceil(sqrt((double)map->panel_count));
    layout->across = at_most(layout->across, map->panel_count);
    layout->down = (map->panel_count + layout->across - 1) / layout->across;
    int64_t most = at_least(at_least(layout->across, layout->down), 1);
    int64_t pixels = most == 1 ? 720 : at_least(840 / most, at_least(72, widest_title(map) + 8));
    layout->block_rows = block_size(map->rows, pixels);
    layout->block_columns = block_size(map->columns, pixels);
    layout->rows = (map->rows + layout->block_rows - 1) / layout->block_rows;
    layout->columns = (map->columns + layout->block_columns - 1) / layout->block_columns;
    layout->cell_width = cell_size(layout->columns, pixels, map->x.labels && most == 1);
    layout->cell_height = cell_size(layout->rows, pixels, map->y.labels && most == 1);
    if (map->rows == map->columns)
        layout->cell_width = layout->cell_height =
            at_least(layout->cell_width, layout->cell_height);
    layout->panel_width = layout->columns * layout->cell_width;
    layout->panel_height = layout->rows * layout->cell_height;
}

static void place_everything(Layout *layout, const HeatMap *map) {
    int64_t text = canvas_text_height(LABEL);
    layout->range = color_range(map);
    place_panels(layout, map);

    int64_t y_labels = widest_label(&map->y, map->rows);
    int64_t x_labels = widest_label(&map->x, map->columns);
    layout->upwards = map->x.labels && x_labels + 6 > layout->cell_width * layout->block_columns;
    int64_t below = (layout->upwards ? x_labels : text) + 2 * GAP;
    int64_t panel_title = map->panel_titles ? text + GAP : 0;
    layout->left = GAP + (map->y.title ? text + 2 * GAP : 0) + y_labels + GAP + 6;
    layout->top = 2 * GAP + (map->title ? canvas_text_height(TITLE) + 2 * GAP : 0) + panel_title;
    layout->step_x = at_least(layout->panel_width, widest_title(map)) + 2 * GAP;
    layout->step_y = layout->panel_height + GAP + at_least(panel_title, GAP);
    int64_t right = layout->left + layout->across * layout->step_x;
    int64_t bottom = layout->top + (layout->down - 1) * layout->step_y + layout->panel_height;

    layout->bar_left = right + GAP;
    layout->bar_top = layout->top;
    layout->bar_height = at_least(bottom - layout->top, 120);
    ticks_linear(&layout->bar_ticks, layout->range, (int)at_most(layout->bar_height / 45, 9));
    int64_t bar_labels = 0;
    for (int i = 0; i < layout->bar_ticks.count; i++)
        bar_labels = at_least(canvas_text_width(LABEL, layout->bar_ticks.labels[i]), bar_labels);
    layout->width = layout->bar_left + bar_width + 2 * GAP + bar_labels + GAP +
                    (map->bar_title ? text + GAP : 0);
    int64_t title = map->title ? canvas_text_width(TITLE, map->title) + 4 * GAP : 0;
    layout->width = at_least(layout->width, title);
    layout->height = at_least(bottom, layout->bar_top + layout->bar_height) + below +
                     (map->x.title ? text + GAP : 0) + GAP;
}

/* ---- drawing ---- */

/* The mean of the finite numbers in a block of cells; NaN when there are none. */
static double block_mean(const HeatMap *map, const Layout *layout, const double *panel, int64_t row,
                         int64_t column) {
    int64_t last_row = at_most((row + 1) * layout->block_rows, map->rows);
    int64_t last_column = at_most((column + 1) * layout->block_columns, map->columns);
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = row * layout->block_rows; i < last_row; i++)
        for (int64_t j = column * layout->block_columns; j < last_column; j++)
            if (isfinite(panel[i * map->columns + j])) {
                sum += panel[i * map->columns + j];
                count++;
            }
    return count ? sum / (double)count : NAN;
}

static void draw_cells(Canvas *canvas, const HeatMap *map, const Layout *layout, int64_t p,
                       int64_t left, int64_t top) {
    for (int64_t row = 0; row < layout->rows; row++)
        for (int64_t column = 0; column < layout->columns; column++) {
            double value = block_mean(map, layout, map->panels[p], row, column);
            double share = (value - layout->range.low) / (layout->range.high - layout->range.low);
            Color color = isnan(value) ? missing : heat_color(map->colors, share);
            canvas_fill(canvas, left + column * layout->cell_width, top + row * layout->cell_height,
                        layout->cell_width, layout->cell_height, color);
        }
    canvas_outline(canvas, left, top, layout->panel_width, layout->panel_height, frame);
}

/* Which cells get a label: every n-th, n a round number, such that labels keep their distance. */
static int64_t label_step(int64_t pixels_per_label, double pixels_per_cell) {
    static const int64_t multiples[] = {1, 2, 5};
    for (int64_t decade = 1;; decade *= 10)
        for (int i = 0; i < 3; i++)
            if ((double)(multiples[i] * decade) * pixels_per_cell >= (double)pixels_per_label)
                return multiples[i] * decade;
}

static const char *cell_label(const HeatAxis *axis, int64_t n, char number[TICK_LABEL_SIZE]) {
    if (axis->labels) return axis->labels[n];
    tick_number(number, axis->first + (double)n * (axis->step == 0 ? 1 : axis->step), 6);
    return number;
}

static void draw_x_labels(Canvas *canvas, const HeatMap *map, const Layout *layout, int64_t left,
                          int64_t bottom) {
    double per_cell = (double)layout->cell_width / (double)layout->block_columns;
    int64_t room =
        layout->upwards ? canvas_text_height(LABEL) + 2 : widest_label(&map->x, map->columns) + 14;
    if (map->x.labels && !layout->upwards) room = 1; /* they fit: place_everything has looked */
    int64_t step = label_step(room, per_cell);
    for (int64_t n = 0; n < map->columns; n += step) {
        char number[TICK_LABEL_SIZE];
        const char *label = cell_label(&map->x, n, number);
        int64_t center = left + (int64_t)(((double)n + 0.5) * per_cell);
        int64_t width = canvas_text_width(LABEL, label);
        canvas_fill(canvas, center, bottom + 1, 1, 5, frame);
        /* It must not run into the first label of the next panel. */
        bool sticks_out = center + width / 2 > left + layout->panel_width + 2;
        if (sticks_out && !layout->upwards && layout->across > 1) continue;
        if (layout->upwards)
            canvas_text_upwards(canvas, center - canvas_text_height(LABEL) / 2 + 1,
                                bottom + GAP + width, LABEL, ink, label);
        else
            canvas_text(canvas, center - width / 2, bottom + GAP, LABEL, ink, label);
    }
}

static void draw_y_labels(Canvas *canvas, const HeatMap *map, const Layout *layout, int64_t left,
                          int64_t top) {
    double per_cell = (double)layout->cell_height / (double)layout->block_rows;
    int64_t text = canvas_text_height(LABEL);
    int64_t step = label_step(text + (map->y.labels ? 2 : 22), per_cell);
    for (int64_t n = 0; n < map->rows; n += step) {
        char number[TICK_LABEL_SIZE];
        const char *label = cell_label(&map->y, n, number);
        int64_t center = top + (int64_t)(((double)n + 0.5) * per_cell);
        canvas_fill(canvas, left - 6, center, 5, 1, frame);
        canvas_text(canvas, left - 6 - 4 - canvas_text_width(LABEL, label), center - text / 2 + 1,
                    LABEL, ink, label);
    }
}

static void draw_bar(Canvas *canvas, const HeatMap *map, const Layout *layout) {
    int64_t left = layout->bar_left, top = layout->bar_top, height = layout->bar_height;
    for (int64_t y = 0; y < height; y++)
        canvas_fill(canvas, left, top + y, bar_width, 1,
                    heat_color(map->colors, 1 - ((double)y + 0.5) / (double)height));
    canvas_outline(canvas, left, top, bar_width, height, frame);
    Range range = layout->range;
    for (int i = 0; i < layout->bar_ticks.count; i++) {
        double share = (layout->bar_ticks.values[i] - range.low) / (range.high - range.low);
        int64_t y = top + height - 1 - (int64_t)(share * (double)(height - 1));
        canvas_fill(canvas, left + bar_width + 1, y, 5, 1, frame);
        canvas_text(canvas, left + bar_width + GAP + 2, y - canvas_text_height(LABEL) / 2 + 1,
                    LABEL, ink, layout->bar_ticks.labels[i]);
    }
    if (!map->bar_title) return;
    int64_t length = canvas_text_width(LABEL, map->bar_title);
    canvas_text_upwards(canvas, layout->width - GAP - canvas_text_height(LABEL) - 2,
                        top + (height + length) / 2, LABEL, ink, map->bar_title);
}

static void draw_titles(Canvas *canvas, const HeatMap *map, const Layout *layout) {
    int64_t right = layout->left + layout->across * layout->step_x - 2 * GAP;
    int64_t bottom =
        layout->top + layout->down * layout->step_y - (layout->step_y - layout->panel_height);
    if (map->title)
        canvas_text(canvas,
                    at_least((layout->width - canvas_text_width(TITLE, map->title)) / 2, GAP),
                    2 * GAP, TITLE, ink, map->title);
    if (map->x.title)
        canvas_text(canvas, (layout->left + right - canvas_text_width(LABEL, map->x.title)) / 2,
                    layout->height - GAP - canvas_text_height(LABEL), LABEL, ink, map->x.title);
    if (map->y.title)
        canvas_text_upwards(canvas, GAP,
                            (layout->top + bottom + canvas_text_width(LABEL, map->y.title)) / 2,
                            LABEL, ink, map->y.title);
}

static void draw_panel(Canvas *canvas, const HeatMap *map, const Layout *layout, int64_t p) {
    int64_t left = layout->left + p % layout->across * layout->step_x;
    int64_t top = layout->top + p / layout->across * layout->step_y;
    draw_cells(canvas, map, layout, p, left, top);
    if (map->panel_titles) {
        int64_t width = canvas_text_width(LABEL, map->panel_titles[p]);
        canvas_text(canvas, left + (layout->panel_width - width) / 2,
                    top - canvas_text_height(LABEL) - 4, LABEL, ink, map->panel_titles[p]);
    }
    bool lowest = p + layout->across >= map->panel_count;
    if (lowest) draw_x_labels(canvas, map, layout, left, top + layout->panel_height);
    if (p % layout->across == 0) draw_y_labels(canvas, map, layout, left, top);
}

bool heat_map_write(const char *path, const HeatMap *map, Error *error) {
    if (map->rows < 1 || map->columns < 1 || map->panel_count < 1)
        return error_set(error, "%s: nothing to draw: the matrix is empty", path);
    Layout layout = {0};
    place_everything(&layout, map);
    if (layout.width > 8000 || layout.height > 8000)
        return error_set(error, "%s: %lld panels do not fit into one picture; draw fewer", path,
                         (long long)map->panel_count);
    Canvas canvas = canvas_new(layout.width, layout.height);
    for (int64_t p = 0; p < map->panel_count; p++) draw_panel(&canvas, map, &layout, p);
    draw_bar(&canvas, map, &layout);
    draw_titles(&canvas, map, &layout);
    bool done = canvas_write_png(&canvas, path, error);
    canvas_free(&canvas);
    return done;
}
