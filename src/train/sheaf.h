/* Gradient vectors on their way to the rows of params: what a part of a step leaves behind, to be
 * grouped by row and added up (touched.h). One vector may go to many rows. */
#ifndef KG_TRAIN_SHEAF_H
#define KG_TRAIN_SHEAF_H

#include <stddef.h>

#include "base/status.h"
#include "math/real.h"

/* The params of rows that steps learn. */
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

void kg__sheaf_free(kg_sheaf *sheaf);

/* Forgets all vectors and keeps the room. */
void kg__sheaf_clear(kg_sheaf *sheaf);

/* A new vector of `dim` numbers, not filled in. It may move when the next one is asked for. */
KG_MUST_CHECK kg_status kg__sheaf_add(kg_sheaf *sheaf, real **out, size_t dim, kg_error *error);

/* The newest vector goes to `row`. */
KG_MUST_CHECK kg_status kg__sheaf_send(kg_sheaf *sheaf, kg_learned table, uint32_t row,
                                       kg_error *error);

#endif
