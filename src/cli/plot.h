/* Histograms for people: bars of text in the terminal, or an SVG file drawn by gnuplot. */
#ifndef KG_CLI_PLOT_H
#define KG_CLI_PLOT_H

#include "graph/stats.h"

/* A line for each bar: `label`, a bar in proportion to the largest, the count. */
typedef struct cli_bar_row {
    char label[32];
    uint64_t count;
} cli_bar_row;

void cli_print_bars(const cli_bar_row *rows, size_t count);

typedef struct cli_plot {
    const char *title;
    const char *x;
    const char *y;
    const kg_histogram *histogram;
    bool logarithmic; /* both axes, for what follows a power law */
} cli_plot;

/* Draws the plots below each other into an SVG file at `path`. */
KG_MUST_CHECK kg_status cli_write_svg(const char *path, const cli_plot *plots, size_t count,
                                      kg_error *error);

#endif
