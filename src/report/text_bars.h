/* Bars made of characters: histograms, and parts of a sum that may be negative. */
#ifndef KG_REPORT_TEXT_BARS_H
#define KG_REPORT_TEXT_BARS_H

#include <stddef.h>
#include <stdint.h>

typedef struct report_bar_row {
    char label[32];
    uint64_t count;
} report_bar_row;

/* A line for each bar: `label`, a bar proportional to the count, the count. */
void report_print_bars(const report_bar_row *rows, size_t count);

/* Length of the longest bar. */
#define REPORT_BAR_MAX 64

/* A bar of at most `width` characters, including the axis: to its right, or to its left if `value`
 * is negative. `least` and `most` are the smallest and the largest of the values that are compared,
 * 0 where these have the other sign. NaN has no bar. */
typedef struct report_bar {
    char text[REPORT_BAR_MAX + 1];
} report_bar;
report_bar report_signed_bar(size_t width, double value, double least, double most);

#endif
