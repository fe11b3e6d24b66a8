/* Plots as SVG, drawn by gnuplot. */
#ifndef KG_REPORT_PLOT_H
#define KG_REPORT_PLOT_H

#include <stdbool.h>

#include "base/status.h"

typedef enum report_style { REPORT_LINE, REPORT_DASHED, REPORT_POINTS, REPORT_BARS } report_style;

typedef struct report_point {
    double x;
    double y;
    double sd; /* drawn as an error bar if above 0 */
} report_point;

typedef struct report_range {
    double from;
    double to; /* included */
} report_range;

typedef struct report_series {
    const char *name; /* in the legend, which is drawn when there are several */
    report_style style;
    const report_point *points;
    size_t count;               /* at least 1 */
    const report_range *groups; /* of x: bars of a group share a colour */
    size_t group_count;
} report_series;

/* Texts may hold any bytes. */
typedef struct report_plot {
    const char *title; /* or NULL */
    const char *x;
    const char *y;
    bool log_x;
    bool log_y;
    bool y_from_zero;
    const char *const *x_labels; /* for x = 0, 1, 2, ..., in place of numbers; or NULL */
    size_t x_label_count;
    const report_series *series;
    size_t series_count;
} report_plot;

enum { REPORT_PLOT_WIDTH = 640, REPORT_PLOT_HEIGHT = 360 };

/* Draws the plots below each other. `*svg` is a document terminated by a zero, to be kg_freed. */
KG_MUST_CHECK kg_status report_draw(char **svg, size_t *size, const report_plot *plots,
                                    size_t count, kg_error *error);

#endif
