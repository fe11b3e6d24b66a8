/* Parts of HTML pages: text that is shown as it is, and drawings that are part of the page. */
#ifndef KG_REPORT_HTML_H
#define KG_REPORT_HTML_H

#include <stdio.h>

/* Any text, between tags or between double quotes; control characters become spaces. */
void report_html_text(FILE *page, const char *text);

/* A drawing of gnuplot's as an element of a page, as wide as there is room. Its ids start with
 * `name`, so that drawings on the same page do not take each other's parts; `label` is what a
 * screen reader says in its place. */
void report_html_svg(FILE *page, const char *svg, const char *name, const char *label);

#endif
