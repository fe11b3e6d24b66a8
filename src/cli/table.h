/* Tables for people: cells of text, in columns that are as wide as what stands in them. */
#ifndef KG_CLI_TABLE_H
#define KG_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef enum cli_column_kind {
    CLI_NAMES,   /* may be cut */
    CLI_NUMBERS, /* aligned to the right */
    CLI_OTHERS,
} cli_column_kind;

typedef struct cli_column {
    const char *heading;
    cli_column_kind kind;
} cli_column;

typedef struct cli_table {
    const cli_column *columns; /* borrowed */
    size_t column_count;
    size_t widest; /* names that are longer are cut; 0: none are */
    char **cells;  /* row by row */
    size_t count;
    size_t capacity;
    bool is_broken; /* memory was short */
} cli_table;

void cli_table_open(cli_table *table, const cli_column *columns, size_t column_count);
void cli_table_close(cli_table *table);

/* The next cell: bytes from outside, with control characters as \xNN, or as printf does it.
 * Failures are kept until the table is printed. */
void cli_table_add(cli_table *table, kg_text text);
void cli_table_addf(cli_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Characters of a column's longest cell, or its heading. */
size_t cli_table_width(const cli_table *table, size_t column);

/* Prints it to stdout, indented by two. */
KG_MUST_CHECK kg_status cli_table_print(const cli_table *table, kg_error *error);

/* Forgets the cells. */
void cli_table_clear(cli_table *table);

/* Prints a text from outside to stdout. */
KG_MUST_CHECK kg_status cli_print_text(kg_text text, kg_error *error);

/* The width of the terminal that stdout is; 0 if it is none. */
size_t cli_terminal_width(void);

#endif
