/* Parts of HTML pages: escaped text, and plots embedded in the page. */
#ifndef KG_REPORT_HTML_ESCAPE_H
#define KG_REPORT_HTML_ESCAPE_H

#include <stdio.h>

/* Any text, between tags or between double quotes; control characters become spaces. */
void report_html_text(FILE *page, const char *text);

/* gnuplot's SVG as an element of a page, as wide as its container. Its ids are prefixed with
 * `name`, so that those of several plots on a page differ; `label` is the text for screen readers.
 */
void report_html_svg(FILE *page, const char *svg, const char *name, const char *label);

#endif
