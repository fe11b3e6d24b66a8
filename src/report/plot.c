/* gnuplot's script for plots. Each series is a block of data (x, y, deviation, colour) and an
 * element of a plot command; series differ in colour and in the shape of their points. */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/gnuplot.h"

/* Colours that people with colour blindness can distinguish. */
static const unsigned colors[] = {0x3b6ea5, 0xd1603d, 0x2f8f6b, 0x8e5ba6, 0xb8860b, 0x5f6b7a};
static const int point_types[] = {7, 5, 9, 13, 11, 15};
#define COLOR_COUNT (sizeof colors / sizeof *colors)

/* Left and right of the data, as a share of their range. */
#define AIR 0.03

/* ---- Bars ---- */

/* How all bars of a plot are placed side by side. */
struct bars {
    size_t series;
    double width;
};

/* The smallest distance between neighbouring bars, 1 if there are none. */
static double find_gap(const report_series *series) {
    double gap = INFINITY;
    for (size_t i = 1; i < series->count; i++) {
        double distance = fabs(series->points[i].x - series->points[i - 1].x);
        if (distance > 0 && distance < gap)
            gap = distance;
    }
    return isfinite(gap) ? gap : 1;
}

static struct bars lay_out_bars(const report_plot *plot) {
    struct bars bars = {0, 0};
    double gap = INFINITY;
    for (size_t i = 0; i < plot->series_count; i++)
        if (plot->series[i].style == REPORT_BARS) {
            gap = fmin(gap, find_gap(&plot->series[i]));
            bars.series++;
        }
    if (bars.series > 0)
        bars.width = 0.86 * gap / (double)bars.series;
    return bars;
}

/* The offset of a series' bars from their x. */
static double bar_shift(const report_plot *plot, struct bars bars, size_t number) {
    size_t before = 0;
    if (plot->series[number].style != REPORT_BARS)
        return 0;
    for (size_t i = 0; i < number; i++)
        before += plot->series[i].style == REPORT_BARS;
    return bars.width * ((double)before - (double)(bars.series - 1) / 2);
}

/* ---- Data ---- */

static unsigned find_color(const report_series *series, size_t number, double x) {
    for (size_t i = 0; i < series->group_count; i++)
        if (x >= series->groups[i].from && x <= series->groups[i].to)
            return colors[i % COLOR_COUNT];
    return colors[number % COLOR_COUNT];
}

static void write_data(FILE *script, const report_plot *plot, size_t number) {
    const report_series *series = &plot->series[number];
    double shift = bar_shift(plot, lay_out_bars(plot), number);
    fprintf(script, "$data%zu << EOD\n", number);
    for (size_t i = 0; i < series->count; i++) {
        const report_point *point = &series->points[i];
        fprintf(script, "%.17g %.17g %.17g %u\n", point->x + shift, point->y, point->sd,
                find_color(series, number, point->x));
    }
    fputs("EOD\n", script);
}

/* ---- Axes ---- */

static void write_text(FILE *script, const char *what, const char *text) {
    fprintf(script, "set %s ", what);
    report_gnuplot_quote(script, text);
    fputs(" noenhanced\n", script);
}

/* Long labels are rotated, so that they do not overlap. */
static void write_labels(FILE *script, const report_plot *plot) {
    size_t bytes = 0;
    for (size_t i = 0; i < plot->x_label_count; i++)
        bytes += strlen(plot->x_labels[i]) + 2;
    fprintf(script, "set xrange [-0.6:%.17g]\nset xtics %s noenhanced (",
            (double)plot->x_label_count - 0.4, bytes > 75 ? "rotate by 30 right" : "norotate");
    for (size_t i = 0; i < plot->x_label_count; i++) {
        report_gnuplot_quote_tic(script, plot->x_labels[i]);
        fprintf(script, " %zu%s", i, i + 1 < plot->x_label_count ? ", " : "");
    }
    fputs(")\n", script);
}

/* Whether all numbers of an axis are integers, and so few that gnuplot would put tics between them.
 */
#define MOST_WHOLE_TICS 10

static bool is_whole(const report_plot *plot, bool is_x, double *low, double *high) {
    *low = !is_x && plot->y_from_zero ? 0 : INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < plot->series_count; i++)
        for (size_t k = 0; k < plot->series[i].count; k++) {
            const report_point *point = &plot->series[i].points[k];
            double value = is_x ? point->x : point->y;
            if (value != floor(value) || point->sd > 0)
                return false;
            *low = fmin(*low, value);
            *high = fmax(*high, value);
        }
    return *high - *low < MOST_WHOLE_TICS;
}

static void write_tics(FILE *script, const report_plot *plot, bool is_x) {
    double low = 0;
    double high = 0;
    const char *axis = is_x ? "x" : "y";
    if (!is_whole(plot, is_x, &low, &high)) {
        fprintf(script, "set %stics autofreq norotate\n", axis);
        return;
    }
    fprintf(script, "set %stics norotate (", axis);
    for (int i = 0; low + i <= high; i++)
        fprintf(script, "%s%.17g", i > 0 ? ", " : "", low + i);
    fputs(")\n", script);
}

/* From the first to the last x, with a margin on both sides; gnuplot's default would extend to the
 * next tic. */
static void write_x_range(FILE *script, const report_plot *plot) {
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = 0; i < plot->series_count; i++)
        for (size_t k = 0; k < plot->series[i].count; k++) {
            double x = plot->series[i].points[k].x;
            if (plot->log_x && x <= 0)
                continue;
            low = fmin(low, x);
            high = fmax(high, x);
        }
    if (!(low < high))
        fputs("set xrange [*:*]\n", script);
    else if (plot->log_x)
        fprintf(script, "set xrange [%.17g:%.17g]\n", low * pow(high / low, -AIR),
                high * pow(high / low, AIR));
    else
        fprintf(script, "set xrange [%.17g:%.17g]\n", low - AIR * (high - low),
                high + AIR * (high - low));
}

static void write_axes(FILE *script, const report_plot *plot) {
    write_text(script, "title", plot->title == NULL ? "" : plot->title);
    write_text(script, "xlabel", plot->x);
    write_text(script, "ylabel", plot->y);
    fprintf(script, "unset logscale\n%s%s", plot->log_x ? "set logscale x\n" : "",
            plot->log_y ? "set logscale y\n" : "");
    fprintf(script, "set yrange [%s:*]\n", plot->y_from_zero && !plot->log_y ? "0" : "*");
    write_tics(script, plot, true);
    write_tics(script, plot, false);
    if (plot->x_label_count > 0)
        write_labels(script, plot);
    else
        write_x_range(script, plot);
}

/* ---- Series ---- */

static bool has_deviations(const report_series *series) {
    for (size_t i = 0; i < series->count; i++)
        if (series->points[i].sd > 0)
            return true;
    return false;
}

static void write_look(FILE *script, const report_series *series, size_t number) {
    unsigned color = colors[number % COLOR_COUNT];
    int point = point_types[number % COLOR_COUNT];
    switch (series->style) {
    case REPORT_LINE:
        fprintf(script,
                "using 1:2 with linespoints linecolor rgb %u linewidth 2 pointtype %d "
                "pointsize 0.6",
                color, point);
        return;
    case REPORT_DASHED:
        fprintf(script, "using 1:2 with lines linecolor rgb %u linewidth 2 dashtype (8,5)", color);
        return;
    case REPORT_POINTS:
        fprintf(script, "using 1:2 with points linecolor rgb %u pointtype %d pointsize 0.5", color,
                point);
        return;
    case REPORT_BARS:
        if (series->group_count > 0)
            fputs("using 1:2:4 with boxes linecolor rgb variable", script);
        else
            fprintf(script, "using 1:2 with boxes linecolor rgb %u", color);
        return;
    }
}

/* Not `with yerrorbars`, which paints over what is below its points. */
static void write_deviations(FILE *script, const report_series *series, size_t number) {
    fprintf(script,
            ", $data%zu using 1:($3 > 0 ? $2 - $3 : NaN):(0):(2 * $3) with vectors heads "
            "size screen 0.006,90 linecolor rgb %u notitle",
            number, series->style == REPORT_BARS ? 0x333333 : colors[number % COLOR_COUNT]);
}

static void write_series(FILE *script, const report_series *series, size_t number) {
    fprintf(script, "%s$data%zu ", number == 0 ? "plot " : ", ", number);
    write_look(script, series, number);
    fputs(" title ", script);
    report_gnuplot_quote(script, series->name);
    fputs(" noenhanced", script);
    if (has_deviations(series))
        write_deviations(script, series, number);
}

static void write_plot(FILE *script, const report_plot *plot) {
    struct bars bars = lay_out_bars(plot);
    for (size_t i = 0; i < plot->series_count; i++)
        write_data(script, plot, i);
    write_axes(script, plot);
    if (bars.series > 0)
        fprintf(script, "set boxwidth %.17g absolute\n", bars.width);
    fputs(plot->series_count > 1 ? "set key on\n" : "set key off\n", script);
    for (size_t i = 0; i < plot->series_count; i++)
        write_series(script, &plot->series[i], i);
    fputc('\n', script);
}

static void write_script(FILE *script, const report_plot *plots, size_t count) {
    fprintf(script,
            "set encoding utf8\n"
            "set terminal svg size %d,%zu font 'sans-serif,14' background 'white'\n"
            "set border 3 linecolor rgb '#777777'\n"
            "set tics nomirror out scale 0.5 textcolor rgb '#333333'\n"
            "set format '%%g'\n"
            "set grid ytics linetype 1 linecolor rgb '#e4e4e4'\n"
            "set style fill solid noborder\n"
            "set key above left horizontal Left reverse samplen 1.5 textcolor rgb '#333333'\n"
            "set multiplot layout %zu,1\n",
            REPORT_PLOT_WIDTH, count * REPORT_PLOT_HEIGHT, count);
    for (size_t i = 0; i < count; i++)
        write_plot(script, &plots[i]);
    fputs("unset multiplot\n", script);
}

kg_status report_draw(char **svg, size_t *size, const report_plot *plots, size_t count,
                      kg_error *error) {
    FILE *script = tmpfile();
    if (script == NULL)
        return kg__fail_errno(error, "gnuplot's script", "create it");
    write_script(script, plots, count);
    kg_status status = report_gnuplot_run(svg, size, script, error);
    fclose(script);
    return status;
}
