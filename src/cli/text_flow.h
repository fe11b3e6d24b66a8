/* Text that flows: words on stdout, separated by spaces, that go on in the next line where a
 * terminal's width ends. A word is never cut; one that is too long for the indent of these lines
 * stands as little further left as it can. No line ends with blanks. */
#ifndef KG_CLI_TEXT_FLOW_H
#define KG_CLI_TEXT_FLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct cli_text_flow {
    size_t width;   /* of a line; 0: any */
    size_t indent;  /* of lines that go on */
    size_t column;  /* that the last word ended at */
    size_t blanks;  /* before the next word in the same line */
    bool is_broken; /* memory was short */
} cli_text_flow;

/* Begins at `column` of a line that has `written` characters already. */
cli_text_flow cli_text_flow_open(size_t written, size_t column, size_t indent);

/* The next word, which is freed; NULL means that memory is short. */
void cli_text_flow_word(cli_text_flow *flow, char *word);

/* Some words, separated by spaces, as printf has them, of at most 255 bytes in all. */
void cli_text_flow_words(cli_text_flow *flow, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the line. */
KG_MUST_CHECK kg_status cli_text_flow_end(cli_text_flow *flow, kg_error *error);

#endif
