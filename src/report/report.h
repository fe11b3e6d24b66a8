/* Results as a report: a page as HTML and as Markdown, and tables for the terminal. results.h
 * specifies the format of results; anything else is refused as KG_BAD_INPUT. */
#ifndef KG_REPORT_REPORT_H
#define KG_REPORT_REPORT_H

#include <stdio.h>

#include "base/json.h"

/* Writes report.html and report.md into a folder, and each plot as NAME.svg beside them: all of
 * them or none. */
KG_MUST_CHECK kg_status report_write(const char *folder, const json_t *results, kg_error *error);

/* Prints the tables of one experiment as Markdown, aligned for the terminal. The caller checks the
 * stream for write errors (cli_flush). */
KG_MUST_CHECK kg_status report_print(const json_t *experiment, FILE *stream, kg_error *error);

/* Prints all of results as Markdown. */
KG_MUST_CHECK kg_status report_print_page(const json_t *results, FILE *stream, kg_error *error);

#endif
