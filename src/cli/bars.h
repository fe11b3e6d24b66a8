/* Histograms in the terminal, as bars of text. */
#ifndef KG_CLI_BARS_H
#define KG_CLI_BARS_H

#include <stddef.h>
#include <stdint.h>

typedef struct cli_bar_row {
    char label[32];
    uint64_t count;
} cli_bar_row;

/* A line for each bar: `label`, a bar in proportion to the largest, the count. */
void cli_print_bars(const cli_bar_row *rows, size_t count);

#endif
