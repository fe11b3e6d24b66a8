/* Tables on a terminal: cells of text, in columns as wide as their contents. Where the terminal is
 * too narrow for that, the cells behind the numbers of a row are wrapped. */
#ifndef KG_REPORT_TEXT_TABLE_H
#define KG_REPORT_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum report_column_kind {
    REPORT_NUMBERS, /* aligned to the right; they come first */
    REPORT_NAMES,
} report_column_kind;

typedef struct report_column {
    const char *heading;
    report_column_kind kind;
} report_column;

typedef struct report_table {
    const report_column *columns; /* borrowed */
    size_t column_count;
    char **cells; /* row by row */
    size_t count;
    size_t capacity;
    bool is_broken; /* memory was short */
} report_table;

void report_table_open(report_table *table, const report_column *columns, size_t column_count);
void report_table_close(report_table *table);

/* The next cell, as printf does it, or a text that the table frees (NULL: memory is short).
 * Failures are kept until the table is printed. */
void report_table_addf(report_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void report_table_take(report_table *table, char *cell);

/* Prints it to stdout, indented by two. */
KG_MUST_CHECK kg_status report_table_print(const report_table *table, kg_error *error);

/* A text from outside as it is printed, control characters as \xNN, to be kg_freed; NULL if memory
 * is short. */
char *report_show_text(kg_text text);

/* Its width, in characters. */
size_t report_text_width(const char *text);

/* COLUMNS of the environment, or the width of the terminal that stdout is; 0 if neither is known.
 */
size_t report_terminal_width(void);

#endif
