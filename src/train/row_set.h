/* The rows of a parameter that a step reads or changes, and the gradient vectors that go to each,
 * in an order that does not depend on threads. */
#ifndef KG_TRAIN_ROW_SET_H
#define KG_TRAIN_ROW_SET_H

#include "model/grads.h"

typedef struct kg_row_set {
    uint32_t *slots; /* row -> its place in `rows`; UINT32_MAX if it is not in the set */
    uint32_t *rows;
    size_t count;
    size_t *starts; /* count + 1: row i's vectors are vectors[starts[i]] up to starts[i + 1] */
    const real **vectors;
    size_t vector_capacity;
} kg_row_set;

KG_MUST_CHECK kg_status kg__row_set_open(kg_row_set *set, size_t row_count, kg_error *error);
void kg__row_set_close(kg_row_set *set);

/* Empties it. */
void kg__row_set_clear(kg_row_set *set);

static inline void kg__row_set_add(kg_row_set *set, uint32_t row) {
    if (set->slots[row] != UINT32_MAX)
        return;
    set->slots[row] = (uint32_t)set->count;
    set->rows[set->count++] = row;
}

/* Groups by row what the parts of a step hold for parameter `param`, adding the rows that it goes
 * to. */
KG_MUST_CHECK kg_status kg__row_set_group(kg_row_set *set, const kg_grads *parts, size_t part_count,
                                          size_t param, kg_error *error);

#endif
