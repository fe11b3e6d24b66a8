/* Gradient vectors on their way to the rows of tables: what a part of a step leaves behind, to be
 * grouped by row and added up (touched.h). One vector may go to many rows. */
#ifndef KG_LEARN_SHEAF_H
#define KG_LEARN_SHEAF_H

#include <stddef.h>

#include "base/status.h"
#include "math/real.h"

/* The tables of rows that steps learn. */
typedef enum kg_learned {
    KG_LEARN_ENTITIES,
    KG_LEARN_RELATIONS,
    KG_LEARN_AGGREGATE_RELATIONS,
    KG_LEARNED_COUNT,
} kg_learned;

/* A vector of a sheaf that goes to a row. */
typedef struct kg_target {
    uint32_t row;
    uint32_t vector;
} kg_target;

typedef struct kg_targets {
    kg_target *list;
    size_t count;
    size_t capacity;
} kg_targets;

/* An empty one is all zeroes. */
typedef struct kg_sheaf {
    real *vectors;
    size_t vector_count;
    size_t vector_capacity;
    kg_targets targets[KG_LEARNED_COUNT];
} kg_sheaf;

void kg_sheaf_free(kg_sheaf *sheaf);

/* Forgets all vectors and keeps the room. */
void kg_sheaf_clear(kg_sheaf *sheaf);

/* A new vector of `dim` numbers, not filled in. It may move when the next one is asked for. */
KG_MUST_CHECK kg_status kg_sheaf_add(kg_sheaf *sheaf, real **out, size_t dim, kg_error *error);

/* The newest vector goes to `row`. */
KG_MUST_CHECK kg_status kg_sheaf_send(kg_sheaf *sheaf, kg_learned table, uint32_t row,
                                      kg_error *error);

#endif
