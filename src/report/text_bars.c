/* A bar is a number of characters, scaled to a width; of negative values, to the left of zero. */
#include "report/text_bars.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/number_text.h"

#define BAR_WIDTH 40

void report_print_bars(const report_bar_row *rows, size_t count) {
    uint64_t largest = 1;
    for (size_t i = 0; i < count; i++)
        largest = rows[i].count > largest ? rows[i].count : largest;
    for (size_t i = 0; i < count; i++) {
        uint64_t width = (rows[i].count * BAR_WIDTH + largest / 2) / largest;
        printf("  %12s ", rows[i].label);
        for (uint64_t j = 0; j < BAR_WIDTH; j++)
            putchar(j < width ? '#' : ' ');
        printf(" %s\n", report_grouped(rows[i].count).text);
    }
}

report_bar report_signed_bar(size_t width, double value, double least, double most) {
    report_bar out = {""};
    if (!isfinite(value) || !isfinite(least) || !isfinite(most))
        return out;
    double room = (double)(width < REPORT_BAR_MAX ? width : REPORT_BAR_MAX) - 1;
    double scale = most > least ? room / (most - least) : 0;
    size_t axis = (size_t)lround(-least * scale);
    size_t end = (size_t)lround((value - least) * scale);
    size_t from = end < axis ? end : axis;
    size_t to = end < axis ? axis : end;
    memset(out.text, ' ', from);
    memset(out.text + from, '#', axis - from);
    out.text[axis] = '|';
    memset(out.text + axis + 1, '#', to - axis);
    return out;
}
