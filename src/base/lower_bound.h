/* Binary search in items that are sorted by a number. */
#ifndef KG_BASE_LOWER_BOUND_H
#define KG_BASE_LOWER_BOUND_H

#include <stddef.h>
#include <stdint.h>

/* The position of the first of `count` items whose key is not below `key`, or `count`. Items have
 * `size` bytes each, and their key, a uint32_t, at `offset`. O(log count); inline, so that size and
 * offset are constants where it is called. */
static inline size_t kg__lower_bound(const void *items, size_t count, size_t size, size_t offset,
                                     uint32_t key) {
    size_t from = 0;
    while (from < count) {
        size_t middle = from + (count - from) / 2;
        if (*(const uint32_t *)((const char *)items + middle * size + offset) < key)
            from = middle + 1;
        else
            count = middle;
    }
    return from;
}

#endif
