/* Sorting items by a number, many at once: digit by digit, the lowest first. */
#ifndef KG_BASE_RADIX_SORT_H
#define KG_BASE_RADIX_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KG_RADIX_BITS 11
#define KG_RADIX (1U << KG_RADIX_BITS)

/* Turns the counts of each digit to where its items begin. False if all have the same digit. */
static inline int kg__radix_starts(size_t starts[KG_RADIX], size_t count) {
    size_t start = 0;
    for (size_t digit = 0; digit < KG_RADIX; digit++) {
        size_t items = starts[digit];
        if (items == count)
            return 0;
        starts[digit] = start;
        start += items;
    }
    return 1;
}

/* Sorts `count` items of `size` bytes each by their key, a uint32_t at `offset`. Items with the
 * same key stay in their order, so that sorting by the least of several keys first sorts by all of
 * them. `spare` has room for as many. Linear, and a single look if they are in order already;
 * inline, so that size and offset are constants where it is called. */
static inline void kg__radix_sort(void *items, void *spare, size_t count, size_t size,
                                  size_t offset) {
    char *from = items;
    char *to = spare;
    for (unsigned shift = 0; shift < 32; shift += KG_RADIX_BITS) {
        size_t starts[KG_RADIX] = {0};
        uint32_t before = 0;
        int is_sorted = 1;
        for (size_t i = 0; i < count; i++) {
            uint32_t key = *(const uint32_t *)(from + i * size + offset);
            starts[key >> shift & (KG_RADIX - 1)]++;
            is_sorted &= before <= key;
            before = key;
        }
        if (is_sorted)
            break;
        if (!kg__radix_starts(starts, count))
            continue;
        for (size_t i = 0; i < count; i++) {
            const char *item = from + i * size;
            size_t digit = *(const uint32_t *)(item + offset) >> shift & (KG_RADIX - 1);
            memcpy(to + starts[digit]++ * size, item, size);
        }
        char *other = from;
        from = to;
        to = other;
    }
    if (from != items)
        memcpy(items, from, count * size);
}

#endif
