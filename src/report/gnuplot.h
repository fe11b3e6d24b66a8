/* gnuplot as a child process: from a script to SVG.
 *
 * A script can run any shell command, so text from outside may only be in one through
 * report_gnuplot_quote, or as a number. */
#ifndef KG_REPORT_GNUPLOT_H
#define KG_REPORT_GNUPLOT_H

#include <stdio.h>

#include "base/status.h"

/* Writes any text as a gnuplot string with exactly that text; control characters become spaces, and
 * ']]>' is broken up. Where gnuplot draws it, `noenhanced` must follow. */
void report_gnuplot_quote(FILE *script, const char *text);

/* The same for the label of a tic, which gnuplot treats as a format; it is cut if it is long. */
void report_gnuplot_quote_tic(FILE *script, const char *text);

/* Runs a script, which must be a file, from its beginning. `*out` is gnuplot's output, terminated
 * by a zero, to be kg_freed. */
KG_MUST_CHECK kg_status report_gnuplot_run(char **out, size_t *size, FILE *script, kg_error *error);

#endif
