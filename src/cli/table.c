/* Cells are kept as they are shown, and measured in characters. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

void cli_table_open(cli_table *table, const cli_column *columns, size_t column_count) {
    *table = (cli_table){.columns = columns, .column_count = column_count};
}

void cli_table_clear(cli_table *table) {
    for (size_t i = 0; i < table->count; i++)
        kg_free(table->cells[i]);
    table->count = 0;
}

void cli_table_close(cli_table *table) {
    cli_table_clear(table);
    kg_free(table->cells);
    *table = (cli_table){0};
}

/* The text as it is shown, to be kg_freed; NULL if memory is short. */
static char *show(kg_text text) {
    char *copy = kg_copy_string(text.bytes, text.length);
    size_t room = sizeof "\\xNN" * text.length + 1;
    char *shown = copy == NULL ? NULL : kg_resize(NULL, room, 1);
    if (shown != NULL)
        kg_show_controls(shown, room, copy);
    kg_free(copy);
    return shown;
}

/* Takes the cell, NULL meaning that memory is short. */
static void add(cli_table *table, char *cell) {
    char **cells = cell == NULL
                       ? NULL
                       : kg_grow(table->cells, &table->capacity, table->count + 1, sizeof *cells);
    if (cells == NULL) {
        kg_free(cell);
        table->is_broken = true;
        return;
    }
    table->cells = cells;
    cells[table->count++] = cell;
}

void cli_table_add(cli_table *table, kg_text text) {
    add(table, show(text));
}

void cli_table_addf(cli_table *table, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is started in the line above */
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add(table, kg_copy_string(text, strlen(text)));
}

/* Characters of UTF-8; bytes that are none count one each. */
static size_t measure(const char *text) {
    size_t width = 0;
    size_t length = strlen(text);
    for (size_t i = 0; i < length; width++) {
        size_t step = kg_utf8_length(text + i, length - i);
        i += step == 0 ? 1 : step;
    }
    return width;
}

size_t cli_table_width(const cli_table *table, size_t column) {
    size_t widest = 0;
    for (size_t i = column; i < table->count; i += table->column_count) {
        size_t width = measure(table->cells[i]);
        widest = width > widest ? width : widest;
    }
    bool may_be_cut = table->widest > 0 && table->columns[column].kind == CLI_NAMES;
    if (may_be_cut && widest > table->widest)
        widest = table->widest;
    size_t heading = strlen(table->columns[column].heading);
    return widest > heading ? widest : heading;
}

static void print_spaces(size_t count) {
    for (size_t i = 0; i < count; i++)
        putchar(' ');
}

/* As much of a text as fits, "..." in place of the rest. */
static void print_cut(const char *text, size_t width) {
    size_t length = strlen(text);
    size_t end = 0;
    for (size_t shown = 0; shown + 3 < width; shown++) {
        size_t step = kg_utf8_length(text + end, length - end);
        end += step == 0 ? 1 : step;
    }
    fwrite(text, 1, end, stdout);
    fputs("...", stdout);
}

static void print_cell(const char *text, size_t width, bool is_number, bool is_last) {
    size_t used = measure(text);
    if (is_last && used == 0)
        return;
    print_spaces(2);
    if (used > width) {
        print_cut(text, width);
        return;
    }
    if (is_number)
        print_spaces(width - used);
    fputs(text, stdout);
    if (!is_number && !is_last)
        print_spaces(width - used);
}

/* The headings, if there are no cells. */
static void print_row(const cli_table *table, const size_t *widths, char *const *cells) {
    for (size_t k = 0; k < table->column_count; k++) {
        const cli_column *column = &table->columns[k];
        print_cell(cells == NULL ? column->heading : cells[k], widths[k],
                   column->kind == CLI_NUMBERS, k + 1 == table->column_count);
    }
    putchar('\n');
}

kg_status cli_table_print(const cli_table *table, kg_error *error) {
    size_t *widths = kg_alloc(table->column_count, sizeof *widths);
    if (widths == NULL || table->is_broken) {
        kg_free(widths);
        return kg_fail_memory(error);
    }
    for (size_t k = 0; k < table->column_count; k++)
        widths[k] = cli_table_width(table, k);
    print_row(table, widths, NULL);
    for (size_t i = 0; i < table->count; i += table->column_count)
        print_row(table, widths, table->cells + i);
    kg_free(widths);
    return KG_OK;
}

kg_status cli_print_text(kg_text text, kg_error *error) {
    char *shown = show(text);
    if (shown == NULL)
        return kg_fail_memory(error);
    fputs(shown, stdout);
    kg_free(shown);
    return KG_OK;
}

size_t cli_terminal_width(void) {
    struct winsize size;
    if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}
