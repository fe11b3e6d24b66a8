/* Quickselect, then a sort of the selected items. */
#include "terms/propagation/select_top.h"

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

/* Puts the median of three at the front, so that sorted input is not the worst case. */
static void choose_pivot(kg_selectable *items, size_t count) {
    kg_selectable *middle = &items[count / 2];
    kg_selectable *last = &items[count - 1];
    if (is_better(middle, items))
        swap(middle, items);
    if (is_better(last, items))
        swap(last, items);
    if (is_better(last, middle))
        swap(last, middle);
    swap(items, middle);
}

/* Moves the items that are better than the pivot before it; returns their number. */
static size_t partition(kg_selectable *items, size_t count) {
    choose_pivot(items, count);
    size_t better = 0;
    for (size_t i = 1; i < count; i++)
        if (is_better(&items[i], &items[0]))
            swap(&items[++better], &items[i]);
    swap(&items[0], &items[better]);
    return better;
}

size_t kg__select_top(kg_selectable *items, size_t count, size_t most) {
    size_t from = 0;
    size_t to = count;
    while (most < count && to - from > 1) {
        size_t pivot = from + partition(items + from, to - from);
        if (pivot < most)
            from = pivot + 1;
        else
            to = pivot;
    }
    size_t kept = most < count ? most : count;
    qsort(items, kept, sizeof *items, compare);
    return kept;
}
