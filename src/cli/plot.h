/* Plots as SVG: what is to be seen, drawn by gnuplot. */
#ifndef KG_CLI_PLOT_H
#define KG_CLI_PLOT_H

#include <stdbool.h>

#include "base/status.h"

typedef enum cli_style { CLI_LINE, CLI_DASHED, CLI_POINTS, CLI_BARS } cli_style;

typedef struct cli_point {
    double x;
    double y;
    double sd; /* drawn as an error bar if it is over 0 */
} cli_point;

typedef struct cli_range {
    double from;
    double to; /* included */
} cli_range;

typedef struct cli_series {
    const char *name; /* in the legend, which is drawn when there are several */
    cli_style style;
    const cli_point *points;
    size_t count;            /* at least 1 */
    const cli_range *groups; /* of x: bars of a group have a colour of their own */
    size_t group_count;
} cli_series;

/* Every text may hold anything. */
typedef struct cli_plot {
    const char *title; /* or NULL */
    const char *x;
    const char *y;
    bool log_x;
    bool log_y;
    bool y_from_zero;
    const char *const *x_labels; /* for x = 0, 1, 2, ..., in place of numbers; or NULL */
    size_t x_label_count;
    const cli_series *series;
    size_t series_count;
} cli_plot;

enum { CLI_PLOT_WIDTH = 640, CLI_PLOT_HEIGHT = 360 };

/* Draws the plots below each other. `*svg` is a document with a zero behind it, to be kg_freed. */
KG_MUST_CHECK kg_status cli_draw(char **svg, size_t *size, const cli_plot *plots, size_t count,
                                 kg_error *error);

#endif
