/* Items in the order of an id that each of them has, a digit at a time: there may be as many as a
 * graph has entities. Stable, and O(1 + n) if they are in order already. Inlined, so that sizes are
 * constants. */
#ifndef KG_BASE_SORT_BY_ID_H
#define KG_BASE_SORT_BY_ID_H

#include <string.h>

#include "base/names.h"

#define KG_DIGIT_BITS 11
#define KG_DIGITS ((size_t)1 << KG_DIGIT_BITS)

/* `spare` is as long as `items`, and the result is one of both. `offset` is that of the id. */
__attribute__((always_inline)) static inline void *
kg__sort_by_id(void *items, void *spare, size_t count, size_t size, size_t offset) {
    char *from = items;
    char *to = spare;
    for (unsigned shift = 0; shift < 32; shift += KG_DIGIT_BITS) {
        size_t places[KG_DIGITS + 1] = {0};
        bool is_sorted = true;
        kg_id before = 0;
        kg_id id = 0;
        for (size_t i = 0; i < count; i++, before = id) {
            memcpy(&id, from + i * size + offset, sizeof id);
            places[(id >> shift) % KG_DIGITS + 1]++;
            is_sorted = is_sorted && before <= id;
        }
        if (is_sorted)
            return from;
        for (size_t i = 0; i < KG_DIGITS; i++)
            places[i + 1] += places[i];
        for (size_t i = 0; i < count; i++) {
            memcpy(&id, from + i * size + offset, sizeof id);
            memcpy(to + places[(id >> shift) % KG_DIGITS]++ * size, from + i * size, size);
        }
        char *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

#endif
