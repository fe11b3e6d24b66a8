/* Breaking lines between words. */
#include "cli/flow.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/table.h"

cli_flow cli_flow_open(size_t column, size_t indent) {
    return (cli_flow){
        .width = cli_terminal_width(), .indent = indent, .column = column, .is_first = true};
}

/* Of a word that is too long for the usual indent. */
#define LEAST_INDENT 4

static void put(cli_flow *flow, const char *word) {
    size_t width = cli_text_width(word);
    size_t space = flow->is_first ? 0 : 1;
    size_t indent = flow->indent + width <= flow->width ? flow->indent : LEAST_INDENT;
    bool fits = flow->width == 0 || flow->column + space + width <= flow->width;
    if (!fits && flow->column > indent) {
        printf("\n%*s", (int)indent, "");
        flow->column = indent;
        space = 0;
    }
    printf("%s%s", space == 1 ? " " : "", word);
    flow->column += space + width;
    flow->is_first = false;
}

void cli_flow_word(cli_flow *flow, char *word) {
    if (word == NULL)
        flow->is_broken = true;
    else
        put(flow, word);
    kg_free(word);
}

void cli_flow_words(cli_flow *flow, const char *format, ...) {
    char text[256];
    char *rest = NULL;
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is started in the line above */
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        put(flow, word);
}

kg_status cli_flow_end(cli_flow *flow, kg_error *error) {
    putchar('\n');
    return flow->is_broken ? kg_fail_memory(error) : KG_OK;
}
