/* Cells are stored as they are printed, and measured in characters. */
#include "report/text_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/text_flow.h"

void report_table_open(report_table *table, const report_column *columns, size_t column_count) {
    *table = (report_table){.columns = columns, .column_count = column_count};
}

void report_table_close(report_table *table) {
    for (size_t i = 0; i < table->count; i++)
        kg__free(table->cells[i]);
    kg__free(table->cells);
    *table = (report_table){0};
}

char *report_show_text(kg_text text) {
    char *copy = kg__copy_string(text.bytes, text.length);
    size_t room = sizeof "\\xNN" * text.length + 1;
    char *shown = copy == NULL ? NULL : kg__resize(NULL, room, 1);
    if (shown != NULL)
        kg__show_controls(shown, room, copy);
    kg__free(copy);
    return shown;
}

void report_table_take(report_table *table, char *cell) {
    char **cells = cell == NULL
                       ? NULL
                       : kg__grow(table->cells, &table->capacity, table->count + 1, sizeof *cells);
    if (cells == NULL) {
        kg__free(cell);
        table->is_broken = true;
        return;
    }
    table->cells = cells;
    cells[table->count++] = cell;
}

void report_table_addf(report_table *table, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is started in the line above */
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    report_table_take(table, kg__copy_string(text, strlen(text)));
}

/* Bytes that are not UTF-8 count one each. */
size_t report_text_width(const char *text) {
    size_t width = 0;
    size_t length = strlen(text);
    for (size_t i = 0; i < length; width++) {
        size_t step = kg__utf8_length(text + i, length - i);
        i += step == 0 ? 1 : step;
    }
    return width;
}

static size_t widest_of(const report_table *table, size_t column) {
    size_t widest = strlen(table->columns[column].heading);
    for (size_t i = column; i < table->count; i += table->column_count) {
        size_t width = report_text_width(table->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* A row: the headings, if there are no cells. */
struct row {
    const report_table *table;
    const size_t *widths;
    char *const *cells;
};

static const char *text_of(const struct row *row, size_t column) {
    return row->cells == NULL ? row->table->columns[column].heading : row->cells[column];
}

/* Returns the column of the line's end. */
static size_t print_numbers(const struct row *row, size_t count) {
    size_t end = 0;
    for (size_t k = 0; k < count; k++) {
        const char *text = text_of(row, k);
        printf("%*s%s", (int)(row->widths[k] - report_text_width(text) + 2), "", text);
        end += row->widths[k] + 2;
    }
    return end;
}

static void print_names(const struct row *row, size_t from) {
    for (size_t k = from; k < row->table->column_count; k++) {
        const char *text = text_of(row, k);
        bool is_last = k + 1 == row->table->column_count;
        size_t after = is_last ? 0 : row->widths[k] - report_text_width(text);
        printf("  %s%*s", text, (int)after, "");
    }
    putchar('\n');
}

static kg_status print_row(const struct row *row, size_t numbers, bool flows, kg_error *error) {
    size_t end = print_numbers(row, numbers);
    if (!flows) {
        print_names(row, numbers);
        return KG_OK;
    }
    report_text_flow flow = report_text_flow_open(end, end + 2, end + 4);
    for (size_t k = numbers; k < row->table->column_count; k++) {
        const char *text = text_of(row, k);
        report_text_flow_word(&flow, kg__copy_string(text, strlen(text)));
    }
    return report_text_flow_end(&flow, error);
}

static kg_status print_rows(const report_table *table, const size_t *widths, kg_error *error) {
    size_t numbers = 0;
    size_t whole = 0;
    size_t terminal = report_terminal_width();
    while (numbers < table->column_count && table->columns[numbers].kind == REPORT_NUMBERS)
        numbers++;
    for (size_t k = 0; k < table->column_count; k++)
        whole += widths[k] + 2;
    bool flows = terminal > 0 && whole > terminal;
    struct row row = {table, widths, NULL};
    KG_TRY(print_row(&row, numbers, flows, error));
    for (size_t i = 0; i < table->count; i += table->column_count) {
        row.cells = table->cells + i;
        KG_TRY(print_row(&row, numbers, flows, error));
    }
    return KG_OK;
}

kg_status report_table_print(const report_table *table, kg_error *error) {
    size_t *widths = kg__alloc(table->column_count, sizeof *widths);
    if (widths == NULL || table->is_broken) {
        kg__free(widths);
        return kg__fail_memory(error);
    }
    for (size_t k = 0; k < table->column_count; k++)
        widths[k] = widest_of(table, k);
    kg_status status = print_rows(table, widths, error);
    kg__free(widths);
    return status;
}

size_t report_terminal_width(void) {
    const char *told = getenv("COLUMNS");
    long columns = told == NULL ? 0 : strtol(told, NULL, 10);
    if (columns > 0 && columns < 1 << 20)
        return (size_t)columns;
    struct winsize size;
    if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}
