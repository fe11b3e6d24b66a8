/* Breaking lines between words. */
#include "report/text_flow.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "report/text_table.h"

report_text_flow report_text_flow_open(size_t written, size_t column, size_t indent) {
    return (report_text_flow){.width = report_terminal_width(),
                              .indent = indent,
                              .column = written,
                              .blanks = column - written};
}

/* Of a word that is too long for the usual indent: it ends at the end of the line, if it fits. */
#define LEAST_INDENT 4

static size_t indent_of(const report_text_flow *flow, size_t width) {
    size_t room = flow->width > width ? flow->width - width : 0;
    size_t indent = room > LEAST_INDENT ? room : LEAST_INDENT;
    return indent < flow->indent ? indent : flow->indent;
}

static void put(report_text_flow *flow, const char *word) {
    size_t width = report_text_width(word);
    size_t indent = indent_of(flow, width);
    size_t start = flow->column + flow->blanks;
    bool fits = flow->width == 0 || start + width <= flow->width;
    if (!fits && start > indent) {
        putchar('\n');
        flow->column = 0;
        flow->blanks = indent;
    }
    printf("%*s%s", (int)flow->blanks, "", word);
    flow->column += flow->blanks + width;
    flow->blanks = 1;
}

void report_text_flow_word(report_text_flow *flow, char *word) {
    if (word == NULL)
        flow->is_broken = true;
    else
        put(flow, word);
    kg__free(word);
}

void report_text_flow_words(report_text_flow *flow, const char *format, ...) {
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

kg_status report_text_flow_end(report_text_flow *flow, kg_error *error) {
    putchar('\n');
    return flow->is_broken ? kg__fail_memory(error) : KG_OK;
}
