/* The rows of a table that a step touches, and the gradient vectors that go to each, in an order
 * that does not depend on threads. */
#ifndef KG_TRAIN_TOUCHED_H
#define KG_TRAIN_TOUCHED_H

#include "train/sheaf.h"

typedef struct kg_touched {
    uint32_t *slots; /* row -> its place in `rows`; UINT32_MAX if it is not touched */
    uint32_t *rows;
    size_t count;
    size_t *starts; /* count + 1: row i's vectors are vectors[starts[i]] up to starts[i + 1] */
    const real **vectors;
    size_t vector_capacity;
    size_t row_count; /* of the table */
} kg_touched;

KG_MUST_CHECK kg_status kg__touched_open(kg_touched *touched, size_t row_count, kg_error *error);
void kg__touched_close(kg_touched *touched);

/* Forgets all rows. */
void kg__touched_clear(kg_touched *touched);

static inline void kg__touched_add(kg_touched *touched, uint32_t row) {
    if (touched->slots[row] != UINT32_MAX)
        return;
    touched->slots[row] = (uint32_t)touched->count;
    touched->rows[touched->count++] = row;
}

/* Groups what the sheaves hold for this table by row. Every row that a target names must have been
 * added. */
KG_MUST_CHECK kg_status kg__touched_group(kg_touched *touched, const kg_sheaf *sheaves,
                                          size_t count, kg_learned table, size_t dim,
                                          kg_error *error);

#endif
