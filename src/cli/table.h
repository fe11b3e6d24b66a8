/* Tables for people: cells of text, in columns that are as wide as what stands in them. Where a
 * terminal is too narrow for that, the cells behind the numbers of a row flow from line to line. */
#ifndef KG_CLI_TABLE_H
#define KG_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum cli_column_kind {
    CLI_NUMBERS, /* aligned to the right; they come first */
    CLI_NAMES,
} cli_column_kind;

typedef struct cli_column {
    const char *heading;
    cli_column_kind kind;
} cli_column;

typedef struct cli_table {
    const cli_column *columns; /* borrowed */
    size_t column_count;
    char **cells; /* row by row */
    size_t count;
    size_t capacity;
    bool is_broken; /* memory was short */
} cli_table;

void cli_table_open(cli_table *table, const cli_column *columns, size_t column_count);
void cli_table_close(cli_table *table);

/* The next cell: bytes from outside, with control characters as \xNN, or as printf does it.
 * Failures are kept until the table is printed. */
void cli_table_add(cli_table *table, kg_text text);
void cli_table_take(cli_table *table, char *cell); /* which it frees; NULL: memory is short */
void cli_table_addf(cli_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints it to stdout, indented by two. */
KG_MUST_CHECK kg_status cli_table_print(const cli_table *table, kg_error *error);

/* A text from outside as it is shown, to be kg_freed; NULL if memory is short. */
char *cli_show_text(kg_text text);

/* Its width, in characters. */
size_t cli_text_width(const char *text);

/* COLUMNS of the environment, or the width of the terminal that stdout is; 0 if there is neither.
 */
size_t cli_terminal_width(void);

#endif
