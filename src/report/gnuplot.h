/* gnuplot as a child process: a script goes in, SVG comes out.
 *
 * A script can run any command of the shell, so nothing from outside may stand in one but through
 * report_gnuplot_quote, or as a number. */
#ifndef KG_REPORT_GNUPLOT_H
#define KG_REPORT_GNUPLOT_H

#include <stdio.h>

#include "base/status.h"

/* Writes any text as a string of gnuplot's that stands for just that text; control characters
 * become spaces, and ']]>' is torn apart. Where gnuplot draws it, `noenhanced` must follow. */
void report_gnuplot_quote(FILE *script, const char *text);

/* The same for the label of a tic, which gnuplot takes for a format; it is cut if it is long. */
void report_gnuplot_quote_tic(FILE *script, const char *text);

/* Runs a script, which must be a file, from its beginning. `*out` is what gnuplot wrote,
 * with a zero behind it, to be kg_freed. */
KG_MUST_CHECK kg_status report_gnuplot_run(char **out, size_t *size, FILE *script, kg_error *error);

#endif
