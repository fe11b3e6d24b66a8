/* gnuplot as a child process: a script goes in, SVG comes out.
 *
 * A script can run any command of the shell, so nothing from outside may stand in one but through
 * cli_gnuplot_quote, or as a number. */
#ifndef KG_CLI_GNUPLOT_H
#define KG_CLI_GNUPLOT_H

#include <stdio.h>

#include "base/status.h"

/* Writes any text as a string of gnuplot's that stands for just that text; control characters
 * become spaces. Where gnuplot draws it, `noenhanced` must follow. */
void cli_gnuplot_quote(FILE *script, const char *text);

/* The same for a label of a tic, which gnuplot takes for a format. */
void cli_gnuplot_quote_tic(FILE *script, const char *text);

/* Runs a script, which must be a file, from its beginning. `*out` is what gnuplot wrote,
 * with a zero behind it, to be kg_freed. */
KG_MUST_CHECK kg_status cli_gnuplot_run(char **out, size_t *size, FILE *script, kg_error *error);

#endif
