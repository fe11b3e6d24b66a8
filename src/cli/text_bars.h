/* Bars of text: histograms, and parts of a whole that may be negative. */
#ifndef KG_CLI_TEXT_BARS_H
#define KG_CLI_TEXT_BARS_H

#include <stddef.h>
#include <stdint.h>

typedef struct cli_bar_row {
    char label[32];
    uint64_t count;
} cli_bar_row;

/* A line for each bar: `label`, a bar in proportion to the largest, the count. */
void cli_print_bars(const cli_bar_row *rows, size_t count);

/* Room for the longest bar. */
#define CLI_BAR_MAX 64

/* A bar of at most `width` characters, of which an axis is one: to its right, or to its left if
 * `value` is negative. `least` and `most` are the smallest and the largest of the values that are
 * compared, 0 where these have the other sign. What is not a number has no bar. */
typedef struct cli_bar {
    char text[CLI_BAR_MAX + 1];
} cli_bar;
cli_bar cli_signed_bar(size_t width, double value, double least, double most);

#endif
