/* Quickselect, and then only the best are sorted. */
#include "terms/features/select_top.h"

#include <stdbool.h>
#include <stdlib.h>

static bool is_better(const kg_selectable *a, const kg_selectable *b) {
    return a->value != b->value ? a->value > b->value : a->id < b->id;
}

static int compare(const void *a, const void *b) {
    return is_better(a, b) ? -1 : is_better(b, a);
}

static void swap(kg_selectable *a, kg_selectable *b) {
    kg_selectable kept = *a;
    *a = *b;
    *b = kept;
}

/* Puts the median of three at the front: bad luck then takes more than a list in order. */
static void choose_pivot(kg_selectable *picks, size_t count) {
    kg_selectable *middle = &picks[count / 2];
    kg_selectable *last = &picks[count - 1];
    if (is_better(middle, picks))
        swap(middle, picks);
    if (is_better(last, picks))
        swap(last, picks);
    if (is_better(last, middle))
        swap(last, middle);
    swap(picks, middle);
}

/* How many are better than the first, which goes behind them. */
static size_t partition(kg_selectable *picks, size_t count) {
    choose_pivot(picks, count);
    size_t better = 0;
    for (size_t i = 1; i < count; i++)
        if (is_better(&picks[i], &picks[0]))
            swap(&picks[++better], &picks[i]);
    swap(&picks[0], &picks[better]);
    return better;
}

size_t kg__select_top(kg_selectable *picks, size_t count, size_t most) {
    size_t from = 0;
    size_t to = count;
    while (most < count && to - from > 1) {
        size_t pivot = from + partition(picks + from, to - from);
        if (pivot < most)
            from = pivot + 1;
        else
            to = pivot;
    }
    size_t kept = most < count ? most : count;
    qsort(picks, kept, sizeof *picks, compare);
    return kept;
}
