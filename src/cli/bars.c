/* Bars of text. */
#include "cli/bars.h"

#include <stdio.h>

#include "cli/cli.h"

#define BAR_WIDTH 40

void cli_print_bars(const cli_bar_row *rows, size_t count) {
    uint64_t largest = 1;
    for (size_t i = 0; i < count; i++)
        largest = rows[i].count > largest ? rows[i].count : largest;
    for (size_t i = 0; i < count; i++) {
        uint64_t width = (rows[i].count * BAR_WIDTH + largest / 2) / largest;
        printf("  %12s ", rows[i].label);
        for (uint64_t j = 0; j < BAR_WIDTH; j++)
            putchar(j < width ? '#' : ' ');
        printf(" %s\n", cli_grouped(rows[i].count).text);
    }
}
