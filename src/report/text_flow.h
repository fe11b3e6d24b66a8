/* Word wrap: words on stdout, separated by spaces, wrapped at the terminal's width. A word is never
 * cut; one that is too long for the indent of continuation lines is indented less. No line ends
 * with blanks. */
#ifndef KG_REPORT_TEXT_FLOW_H
#define KG_REPORT_TEXT_FLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct report_text_flow {
    size_t width;   /* of a line; 0: any */
    size_t indent;  /* of continuation lines */
    size_t column;  /* that the last word ended at */
    size_t blanks;  /* before the next word in the same line */
    bool is_broken; /* out of memory */
} report_text_flow;

/* Begins at `column` of a line that has `written` characters already. */
report_text_flow report_text_flow_open(size_t written, size_t column, size_t indent);

/* The next word, which is freed; NULL means that memory is short. */
void report_text_flow_word(report_text_flow *flow, char *word);

/* Some words, separated by spaces, as printf formats them, of at most 255 bytes in all. */
void report_text_flow_words(report_text_flow *flow, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the line. */
KG_MUST_CHECK kg_status report_text_flow_end(report_text_flow *flow, kg_error *error);

#endif
