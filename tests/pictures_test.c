/* Charts, heat maps and tables as files: well formed, of the right size, with the right colours in
 * the right places, and not written at all when there is nothing to show. */
#include "helpers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <stb_image.h>

#include "base/error.h"
#include "base/file.h"
#include "pictures/axis.h"
#include "pictures/heat_map.h"
#include "pictures/loss_chart.h"
#include "pictures/svg_chart.h"
#include "pictures/table.h"

static char folder[64];
static char paths[8][96];

/* A path in the test's folder; the last few stay valid. */
static const char *in_folder(const char *name) {
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int folder_create(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/pictures.XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state) {
    (void)state;
    char *command = string_format("rm -r '%s'", folder);
    int status = system(command);
    free(command);
    return status;
}

static char *content(const char *path) {
    size_t size;
    Error error;
    char *text = file_read(path, 1 << 24, &size, &error);
    if (!text) fail_msg("%s", error.message);
    return text;
}

static int occurrences(const char *text, const char *part) {
    int count = 0;
    for (; (text = strstr(text, part)); text += strlen(part)) count++;
    return count;
}

/* Parses with Python's XML reader where there is one. */
static void assert_well_formed(const char *path) {
    char *command = string_format("command -v python3 >/dev/null || exit 0; python3 -c "
                                  "\"import sys, xml.dom.minidom; "
                                  "xml.dom.minidom.parse(sys.argv[1])\" '%s'",
                                  path);
    assert_int_equal(system(command), 0);
    free(command);
}

/* ---- axis ---- */

static void assert_ticks(const Ticks *ticks, const char *expected) {
    char joined[1024] = "";
    for (int i = 0; i < ticks->count; i++) {
        if (i) strcat(joined, " ");
        strcat(joined, ticks->labels[i]);
    }
    assert_string_equal(joined, expected);
}

TEST(ticks_are_round_numbers) {
    Ticks ticks;
    ticks_linear(&ticks, (Range){0, 1000}, 8);
    assert_ticks(&ticks, "0 200 400 600 800 1000");
    ticks_linear(&ticks, (Range){-0.25, 1.04}, 8);
    assert_ticks(&ticks, "-0.2 0 0.2 0.4 0.6 0.8 1.0");
    ticks_linear(&ticks, (Range){2.001, 2.0149}, 5);
    assert_ticks(&ticks, "2.005 2.010");
    ticks_linear(&ticks, (Range){0, 3.2e6}, 5);
    assert_ticks(&ticks, "0 1e6 2e6 3e6");
    ticks_linear(&ticks, (Range){1.2e-7, 2.6e-7}, 4);
    assert_ticks(&ticks, "1.5e-7 2e-7 2.5e-7");
    ticks_linear(&ticks, (Range){-1e300, 1e300}, 5);
    assert_ticks(&ticks, "-1e300 -5e299 0 5e299 1e300");
    ticks_log(&ticks, (Range){8, 220}, 8);
    assert_ticks(&ticks, "10 20 50 100 200");
    ticks_log(&ticks, (Range){1e-5, 1e4}, 8);
    assert_ticks(&ticks, "0.0001 0.01 1 100 10000");
    ticks_log(&ticks, (Range){1e-300, 1e300}, 6);
    assert_true(ticks.count >= 3 && ticks.count <= 6);
    ticks_log(&ticks, (Range){2.1, 2.6}, 6);
    assert_ticks(&ticks, "2.1 2.2 2.3 2.4 2.5 2.6");
}

TEST(ranges_of_awkward_data) {
    Range range = RANGE_EMPTY;
    range_add(&range, NAN);
    range_add(&range, INFINITY);
    assert_true(range_is_empty(&range));
    range_add(&range, 7);
    range_widen(&range);
    assert_true(range.low < 7 && range.high > 7);
    range = (Range){0, 0};
    range_widen(&range);
    assert_true(range.low < 0 && range.high > 0);
    range = (Range){1e15, 1e15 + 1}; /* neighbours, as far as labels go */
    range_widen(&range);
    Ticks ticks;
    ticks_linear(&ticks, range, 6);
    assert_true(ticks.count >= 2 && strcmp(ticks.labels[0], ticks.labels[1]) != 0);
    range = RANGE_EMPTY;
    range_add(&range, -1.7e308);
    range_add(&range, 1.7e308);
    assert_true(isfinite(range.high - range.low));
}

/* ---- line charts ---- */

/* The text of an SVG with one chart. */
static char *chart_text(const Chart *chart) {
    Error error;
    const char *path = in_folder("chart.svg");
    if (!svg_chart_write(path, chart, 1, &error)) fail_msg("%s", error.message);
    return content(path);
}

TEST(chart_is_well_formed_whatever_the_names) {
    Error error;
    double y[] = {1, 2, 3};
    ChartSeries series[] = {{.name = "a<b> & \"c\" 'd'", .y = y, .count = 3, .points = true},
                            {.name = "broken \xff\xc3 \x01 \n utf-8", .y = y, .count = 3},
                            {.name = "\xe2\x9f\xa8p\xe2\x9f\xa9", .y = y, .count = 3}};
    ChartMarker markers[] = {{.value = 1.5, .vertical = true, .label = "<x>"},
                             {.value = 2.5, .label = "&y"}};
    Chart chart = {.title = "\"<&>\"",
                   .x = {.title = "x & y"},
                   .y = {.title = "<y>"},
                   .series = series,
                   .series_count = 3,
                   .markers = markers,
                   .marker_count = 2};
    const char *path = in_folder("names.svg");
    assert_true(svg_chart_write(path, &chart, 1, &error));
    assert_well_formed(path);
    char *text = content(path);
    assert_int_equal(occurrences(text, "a&lt;b&gt; &amp; &quot;c&quot; 'd'"), 1);
    assert_int_equal(occurrences(text, "broken ?? ? ? utf-8"), 1);
    assert_int_equal(occurrences(text, "\xe2\x9f\xa8p\xe2\x9f\xa9"), 1);
    assert_int_equal(occurrences(text, "<polyline"), 3);
    free(text);
}

TEST(chart_has_gaps_where_values_are_missing) {
    double y[] = {1, 2, NAN, 4, INFINITY, 6, 7, -1, 9};
    ChartSeries series = {.name = "s", .y = y, .count = 9};
    Chart chart = {.series = &series, .series_count = 1};
    char *text = chart_text(&chart);
    assert_int_equal(occurrences(text, "<polyline"), 3); /* 1 2 | 4 | 6 7 −1 9 */
    assert_int_equal(occurrences(text, "<path"), 1);     /* 4 stands alone */
    free(text);
    chart.y.logarithmic = true; /* then −1 is one more gap, and 9 stands alone too */
    text = chart_text(&chart);
    assert_int_equal(occurrences(text, "<polyline"), 4);
    assert_int_equal(occurrences(text, "<path"), 2);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
}

TEST(chart_points_are_where_they_belong) {
    double x[] = {0, 10}, y[] = {0, 1};
    ChartSeries series = {.name = "s", .x = x, .y = y, .count = 2, .points = true};
    Chart chart = {.series = &series, .series_count = 1, .width = 500, .height = 300};
    char *text = chart_text(&chart);
    double cx[2], cy[2];
    const char *at = text;
    for (int i = 0; i < 2; i++) {
        at = strstr(at, "<path");
        assert_non_null(at);
        assert_int_equal(sscanf(at++, "<path d=\"M%lf %lfm", &cx[i], &cy[i]), 2);
    }
    assert_true(cx[0] < 80 && cx[1] > 470 && cx[1] < 500);
    assert_true(cy[0] > 260 && cy[0] < 300 && cy[1] < 30);
    free(text);
}

TEST(chart_thins_long_series_but_keeps_the_peaks) {
    int64_t count = 200000;
    double *y = allocate_zeroed(count, sizeof *y);
    y[123456] = 1;
    y[123450] = -1;
    ChartSeries series = {.name = "s", .y = y, .count = count};
    Chart chart = {.series = &series, .series_count = 1};
    char *text = chart_text(&chart);
    assert_true(strlen(text) < 60000);
    assert_non_null(strstr(text, ",30.6 ")); /* y of 1, and of −1 */
    assert_non_null(strstr(text, ",395.4 "));
    free(text);
    free(y);
}

TEST(chart_of_huge_and_constant_values) {
    Error error;
    double values[][3] = {
        {1.7e308, -1.7e308, 0}, {5, 5, 5}, {0, 0, 0}, {1e-310, 2e-310, 0}, {1e300, 1e300, 1e300}};
    for (int i = 0; i < 5; i++) {
        ChartSeries series = {.name = "s", .y = values[i], .count = 3};
        Chart chart = {.series = &series, .series_count = 1};
        const char *path = in_folder("huge.svg");
        assert_true(svg_chart_write(path, &chart, 1, &error));
        assert_well_formed(path);
        char *text = content(path);
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        assert_true(strlen(text) < 8000);
        free(text);
    }
}

TEST(nothing_to_draw_is_an_error_and_no_file) {
    Error error;
    double y[] = {NAN, -INFINITY}, negative[] = {-1, -2};
    ChartSeries series[] = {{.name = "s", .y = y, .count = 2}, {.name = "t", .y = y, .count = 0}};
    Chart chart = {.title = "empty", .series = series, .series_count = 2};
    const char *path = in_folder("nothing.svg");
    assert_false(svg_chart_write(path, &chart, 1, &error));
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, "empty"));
    chart.series_count = 0;
    assert_false(svg_chart_write(path, &chart, 1, &error));
    series[0] = (ChartSeries){.name = "s", .y = negative, .count = 2};
    chart.series_count = 1;
    chart.y.logarithmic = true;
    assert_false(svg_chart_write(path, &chart, 1, &error));
    chart = (Chart){.groups = (char *[]){"a", "b"},
                    .group_count = 2,
                    .series = &(ChartSeries){.name = "s", .y = y, .count = 2},
                    .series_count = 1};
    assert_false(svg_chart_write(path, &chart, 1, &error));
    HeatMap map = {.rows = 0, .columns = 3, .panel_count = 1};
    assert_false(heat_map_write(path, &map, &error));
    assert_false(file_exists(path));
    assert_false(svg_chart_write(in_folder("missing/chart.svg"), &chart, 1, &error));
}

TEST(bars_stand_on_zero) {
    Error error;
    char *groups[] = {"one & two", "three", "four"};
    const ChartSeries series[] = {{.name = "1\xc3\x97", .y = (double[]){1, 2, 0.5}, .count = 3},
                                  {.name = "<2>", .y = (double[]){-1, NAN, 0.25}, .count = 3}};
    Chart chart = {.title = "t",
                   .y = {.title = "y"},
                   .series = series,
                   .series_count = 2,
                   .groups = groups,
                   .group_count = 3};
    const char *path = in_folder("bars.svg");
    assert_true(svg_chart_write(path, &chart, 1, &error));
    assert_well_formed(path);
    char *text = content(path);
    assert_int_equal(occurrences(text, "<rect"), 1 + 2 + 5); /* background, legend, bars */
    assert_non_null(strstr(text, "one &amp; two"));
    free(text);
    /* heights are in proportion although all values are far from zero */
    chart = (Chart){.series = &(ChartSeries){.name = "s", .y = (double[]){10, 12}, .count = 2},
                    .series_count = 1,
                    .groups = groups,
                    .group_count = 2};
    assert_true(svg_chart_write(path, &chart, 1, &error));
    text = content(path);
    double heights[3] = {0};
    const char *at = text;
    for (int i = 0; i < 3; i++) { /* the background, then two bars */
        at = strstr(at, "<rect");
        assert_non_null(at);
        assert_non_null(at = strstr(at, "height=\""));
        assert_int_equal(sscanf(at, "height=\"%lf", &heights[i]), 1);
    }
    assert_true(heights[1] > 50 && fabs(heights[2] - 1.2 * heights[1]) < 0.2);
    free(text);
}

TEST(same_chart_gives_same_bytes) {
    double y[] = {3, 1, 4, 1, 5};
    ChartSeries series = {.name = "s", .y = y, .count = 5};
    Chart chart = {.title = "t", .series = &series, .series_count = 1};
    char *first = chart_text(&chart);
    char *second = chart_text(&chart);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

/* ---- the loss chart ---- */

static const char *header =
    "step,tokens,seconds,learning_rate,train_loss,valid_loss,grad_norm,tokens_per_second\n";

static bool draw_log(const char *rows, Error *error) {
    char *log = string_format("%s%s", header, rows);
    const char *path = in_folder("log.csv");
    assert_true(file_write(path, log, strlen(log), error));
    free(log);
    return loss_chart_from_log(path, "tiny", in_folder("loss.svg"), error);
}

TEST(loss_chart_reads_a_log) {
    Error error;
    assert_true(draw_log("1,64,0.1,0.001,8.3,8.2,1,640\n"
                         "10,640,1.0,0.01,5.5,,2,640\n"
                         "\n"
                         "20,1280,2.0,0.009,4.5,4.6,,\r\n"
                         "30,1920",
                         &error));
    const char *path = in_folder("loss.svg");
    assert_well_formed(path);
    char *text = content(path);
    assert_int_equal(occurrences(text, "<polyline"), 3);
    assert_int_equal(occurrences(text, "learning rate"), 1);
    assert_int_equal(occurrences(text, "validation"), 1);
    assert_non_null(strstr(text, "Loss of tiny"));
    free(text);
    assert_true(draw_log("1,64,0.1,,8.3,,,\n", &error)); /* one point, no learning rate */
    assert_int_equal(remove(in_folder("loss.svg")), 0);
}

TEST(loss_chart_refuses_what_is_no_log) {
    Error error;
    const char *svg = in_folder("loss.svg");
    assert_false(draw_log("", &error));
    assert_false(draw_log("1,64,0.1,0.001,8.3x,8.2,1,640\n", &error));
    assert_non_null(strstr(error.message, "line 2"));
    assert_non_null(strstr(error.message, "train_loss"));
    const char *other = in_folder("other.csv");
    assert_true(file_write(other, "a,b\n1,2\n", 8, &error));
    assert_false(loss_chart_from_log(other, "tiny", svg, &error));
    assert_non_null(strstr(error.message, "\"step\""));
    assert_true(file_write(other, "", 0, &error));
    assert_false(loss_chart_from_log(other, "tiny", svg, &error));
    assert_false(loss_chart_from_log(in_folder("absent.csv"), "tiny", svg, &error));
    assert_false(file_exists(svg));
}

/* ---- heat maps ---- */

typedef struct Image {
    int width, height;
    unsigned char *pixels;
} Image;

static unsigned digit_value(char digit) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, digit);
    assert_non_null(at);
    return (unsigned)(at - digits);
}

/* The picture number n inside an SVG: a PNG in base64. */
static Image image_inside(const char *svg, int n) {
    for (int i = 0; i <= n; i++) {
        svg = strstr(svg, "base64,");
        assert_non_null(svg);
        svg += strlen("base64,");
    }
    int size = (int)strcspn(svg, "=\"") * 3 / 4;
    assert_int_equal(strcspn(svg, "\"") % 4, 0);
    unsigned char *png = allocate((uint64_t)size + 3, 1);
    for (int i = 0; 3 * i < size; i++) {
        unsigned bits = 0;
        for (int k = 0; k < 4; k++)
            bits = bits << 6 | (svg[4 * i + k] == '=' ? 0 : digit_value(svg[4 * i + k]));
        for (int k = 0; k < 3; k++) png[3 * i + k] = (unsigned char)(bits >> (16 - 8 * k));
    }
    Image image;
    int channels;
    image.pixels = stbi_load_from_memory(png, size, &image.width, &image.height, &channels, 3);
    assert_non_null(image.pixels);
    assert_int_equal(channels, 3);
    free(png);
    return image;
}

static int64_t pixels_of(const Image *image, Color color) {
    int64_t count = 0;
    for (int64_t i = 0; i < (int64_t)image->width * image->height; i++)
        count += memcmp(image->pixels + 3 * i, &color, 3) == 0;
    return count;
}

/* The text of a map's SVG. */
static char *map_text(const HeatMap *map) {
    Error error;
    const char *path = in_folder("map.svg");
    if (!heat_map_write(path, map, &error)) fail_msg("%s", error.message);
    assert_well_formed(path);
    return content(path);
}

/* The cells of its first panel. */
static Image map_image(const HeatMap *map) {
    char *svg = map_text(map);
    Image image = image_inside(svg, 0);
    free(svg);
    return image;
}

static const Color grey = {190, 190, 190};

TEST(heat_map_puts_colours_into_cells) {
    double values[] = {0, 1, 2, NAN, 4, 2};
    HeatMap map = {.title = "t", .rows = 2, .columns = 3, .values = values, .panel_count = 1};
    Image image = map_image(&map);
    int64_t cell = 64 * 64;
    assert_int_equal(pixels_of(&image, grey), cell);
    assert_int_equal(pixels_of(&image, heat_color(HEAT_SEQUENTIAL, 0.5)), 2 * cell);
    assert_int_equal(pixels_of(&image, heat_color(HEAT_SEQUENTIAL, 0)), cell);
    assert_int_equal(pixels_of(&image, heat_color(HEAT_SEQUENTIAL, 0.25)), cell);
    assert_int_equal(pixels_of(&image, heat_color(HEAT_SEQUENTIAL, 1)), cell);
    /* the grey cell is the first of the second row */
    int64_t first_grey = 0, first_dark = 0;
    Color dark = heat_color(HEAT_SEQUENTIAL, 0);
    while (memcmp(image.pixels + 3 * first_grey, &grey, 3) != 0) first_grey++;
    while (memcmp(image.pixels + 3 * first_dark, &dark, 3) != 0) first_dark++;
    assert_int_equal(first_grey - first_dark, 64 * (int64_t)image.width);
    stbi_image_free(image.pixels);
}

TEST(diverging_colours_are_white_at_zero) {
    Color low = heat_color(HEAT_DIVERGING, 0), high = heat_color(HEAT_DIVERGING, 1);
    Color zero = heat_color(HEAT_DIVERGING, 0.5);
    assert_true(low.blue > 2 * low.red && high.red > 2 * high.blue);
    assert_true(zero.red == 255 && zero.green == 255 && zero.blue == 255);
    double values[] = {-1, 0, 4}; /* as strong below zero as above: −1 is a quarter of the way */
    HeatMap map = {
        .colors = HEAT_DIVERGING, .rows = 1, .columns = 3, .values = values, .panel_count = 1};
    char *svg = map_text(&map);
    Image image = image_inside(svg, 0);
    assert_int_equal(pixels_of(&image, high), 64 * 64);
    assert_int_equal(pixels_of(&image, heat_color(HEAT_DIVERGING, 0.375)), 64 * 64);
    stbi_image_free(image.pixels);
    image = image_inside(svg, 1); /* the colour bar: from 4 down to −1, and no further */
    const unsigned char *lowest = image.pixels + 3 * (image.height - 1);
    Color quarter = heat_color(HEAT_DIVERGING, 0.375);
    assert_in_range(abs(image.pixels[0] - high.red), 0, 3);
    assert_in_range(abs(lowest[0] - quarter.red), 0, 3);
    assert_in_range(abs(lowest[2] - quarter.blue), 0, 3);
    stbi_image_free(image.pixels);
    free(svg);
}

/* A weak head beside a strong one: each has all the colours, and a bar of its own. */
TEST(panels_with_scales_of_their_own) {
    double values[] = {0, -0.125, 0, -1000};
    HeatMap map = {.colors = HEAT_DIVERGING,
                   .scale_per_panel = true,
                   .limited = true,
                   .low = -8,
                   .high = 0,
                   .rows = 1,
                   .columns = 2,
                   .values = values,
                   .panel_count = 2,
                   .panel_titles = (char *[]){"weak", "strong"}};
    char *svg = map_text(&map);
    assert_int_equal(occurrences(svg, "base64,"), 4);
    for (int i = 0; i < 4; i += 2) {
        Image image = image_inside(svg, i);
        int64_t half = (int64_t)image.width * image.height / 2;
        assert_int_equal(pixels_of(&image, heat_color(HEAT_DIVERGING, 0)), half);
        assert_int_equal(pixels_of(&image, heat_color(HEAT_DIVERGING, 0.5)), half);
        stbi_image_free(image.pixels);
    }
    assert_non_null(strstr(svg, ">-0.1<"));
    assert_non_null(strstr(svg, ">-5<"));
    free(svg);
}

TEST(constant_tiny_and_huge_matrices) {
    double one[] = {3.5}, same[] = {2, 2, 2, 2}, none[] = {NAN, NAN, INFINITY, -INFINITY};
    double huge[] = {-1.7e308, 1.7e308, 0, 1};
    struct {
        double *values;
        int64_t rows, columns;
        double share; /* of the colour of the first cell; NaN: grey */
    } cases[] = {{one, 1, 1, 0.5}, {same, 2, 2, 0.5}, {none, 2, 2, NAN}, {huge, 2, 2, 0}};
    for (int i = 0; i < 4; i++) {
        HeatMap map = {.rows = cases[i].rows,
                       .columns = cases[i].columns,
                       .values = cases[i].values,
                       .panel_count = 1};
        Image image = map_image(&map);
        Color color = isnan(cases[i].share) ? grey : heat_color(HEAT_SEQUENTIAL, cases[i].share);
        assert_true(pixels_of(&image, color) >= 64 * 64);
        assert_int_equal(pixels_of(&image, grey), isnan(cases[i].share) ? 4 * 64 * 64 : 0);
        stbi_image_free(image.pixels);
    }
}

TEST(pictures_have_a_sensible_size) {
    static const int64_t shapes[][2] = {{2, 2},     {8, 8},      {64, 64},  {256, 256}, {256, 64},
                                        {1024, 64}, {5000, 128}, {1, 3000}, {300, 1},   {999, 999}};
    for (int i = 0; i < 10; i++) {
        int64_t rows = shapes[i][0], columns = shapes[i][1];
        double *values = allocate(rows * columns, sizeof *values);
        for (int64_t n = 0; n < rows * columns; n++) values[n] = sin((double)n);
        HeatMap map = {.title = "title",
                       .x = {.title = "x"},
                       .y = {.title = "y"},
                       .rows = rows,
                       .columns = columns,
                       .values = values,
                       .panel_count = 1};
        char *svg = map_text(&map);
        int width = 0, height = 0;
        assert_int_equal(sscanf(strstr(svg, "width="), "width=\"%d\" height=\"%d", &width, &height),
                         2);
        if (i >= 1) assert_in_range(width > height ? width : height, 500, 1250);
        free(svg);
        free(values);
    }
}

TEST(long_matrices_are_averaged) {
    /* 0 and 1 in turn down the rows: averaged, the middle colour everywhere */
    int64_t rows = 2880; /* blocks of 4 */
    double *values = allocate(rows, sizeof *values);
    for (int64_t n = 0; n < rows; n++) values[n] = (double)(n % 2);
    HeatMap map = {.rows = rows, .columns = 1, .values = values, .panel_count = 1};
    Image image = map_image(&map);
    assert_true(pixels_of(&image, heat_color(HEAT_SEQUENTIAL, 0.5)) >= 720 * 64);
    stbi_image_free(image.pixels);
    free(values);
}

TEST(panels_share_axes_and_colour_bar) {
    double values[5 * 4];
    for (int i = 0; i < 20; i++) values[i] = i < 4 ? 0 : i < 8 || i >= 16 ? 1 : NAN;
    char *titles[] = {"a", "b", "c", "d", "e"};
    char *tokens[] = {"the", " cat\n"};
    HeatMap map = {.title = "panels",
                   .bar_title = "weight",
                   .x = {.title = "key", .labels = tokens},
                   .y = {.title = "query", .labels = tokens},
                   .rows = 2,
                   .columns = 2,
                   .values = values,
                   .panel_count = 5,
                   .panel_titles = titles};
    char *svg = map_text(&map);
    assert_int_equal(occurrences(svg, "base64,"), 6);
    const Color colors[] = {heat_color(HEAT_SEQUENTIAL, 0), heat_color(HEAT_SEQUENTIAL, 1), grey,
                            grey, heat_color(HEAT_SEQUENTIAL, 1)};
    for (int i = 0, n = 0; i < 5; i++) {
        Image image = image_inside(svg, n++);
        assert_int_equal(pixels_of(&image, colors[i]), (int64_t)image.width * image.height);
        stbi_image_free(image.pixels);
        if (i == 0) n++; /* the colour bar */
    }
    assert_int_equal(occurrences(svg, ">the<"), 2 + 3); /* rows of panels and columns of them */
    assert_int_equal(occurrences(svg, ">key<") + occurrences(svg, ">query<"), 2);
    free(svg);
    Error error;
    map.panel_count = 1000; /* below each other */
    map.panels_per_row = 1;
    map.panel_titles = NULL;
    map.values = allocate_zeroed(4000, sizeof(double));
    assert_false(heat_map_write(in_folder("many.svg"), &map, &error));
    assert_non_null(strstr(error.message, "draw fewer"));
    assert_false(file_exists(in_folder("many.svg")));
    free((double *)map.values);
}

/* ---- tables ---- */

TEST(tables_keep_the_numbers) {
    Error error;
    const double values[3][2] = {{1, -2e-7}, {NAN, 1.0 / 3}, {0.1, 1e300}};
    const char *names[] = {"a,b", "say \"x\"", "c"};
    Table table = {.rows = 2}, read;
    for (int n = 0; n < 3; n++)
        memcpy(table_add(&table, string_copy(names[n])), values[n], sizeof values[n]);
    const char *path = in_folder("t.csv");
    for (int named = 0; named < 2; named++) {
        assert_true(table_write(&table, path, &error));
        char *text = content(path);
        assert_string_equal(
            text, named
                      ? ",\"a,b\",\"say \"\"x\"\"\",c\n0,1,,0.1\n\"1,\",-2e-07,0.333333333,1e+300\n"
                      : "\"a,b\",\"say \"\"x\"\"\",c\n1,,0.1\n-2e-07,0.333333333,1e+300\n");
        free(text);
        if (!table_read(&read, path, named, &error)) fail_msg("%s", error.message);
        assert_int_equal(read.rows, 2);
        assert_int_equal(read.columns, 3);
        for (int n = 0; n < 3; n++) {
            assert_string_equal(read.series[n].name, names[n]);
            assert_true(fabs(read.series[n].y[1] / values[n][1] - 1) < 1e-8);
        }
        assert_true(isnan(read.series[1].y[0]));
        if (named) assert_string_equal(read.row_names[1], "1,");
        table_free(&read);
        if (named) break;
        table.row_names = allocate(2, sizeof *table.row_names);
        table.row_names[0] = string_copy("0");
        table.row_names[1] = string_copy("1,");
    }
    table_free(&table);
}

int main(void) {
    return run_all_tests(folder_create, folder_remove);
}
