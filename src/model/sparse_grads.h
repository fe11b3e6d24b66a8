/* Gradients on parameters, as one part of a training step leaves them behind: vectors, and the rows
 * of parameters that each is to be added to. They are grouped by row and added up later
 * (train/param.h), in an order that does not depend on threads. */
#ifndef KG_MODEL_SPARSE_GRADS_H
#define KG_MODEL_SPARSE_GRADS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "math/real.h"

/* The vector with that number goes to that row. */
typedef struct kg_grad_target {
    uint32_t row;
    uint32_t vector;
} kg_grad_target;

/* Those on one parameter. */
typedef struct kg_param_grads {
    size_t rows;
    size_t columns;
    real *vectors; /* vector_count x columns */
    size_t vector_count;
    size_t vector_capacity;
    kg_grad_target *targets;
    size_t target_count;
    size_t target_capacity;
    uint32_t *sums; /* of each row: 1 + the vector that sums what goes to it, 0: none; or NULL */
} kg_param_grads;

/* An empty one is all zeroes. */
typedef struct kg_grads {
    kg_param_grads *params;
    size_t count;
    uint8_t node; /* what they are part of when gradients are added up (train/grad_tree.h) */
} kg_grads;

/* Adds a parameter of that shape, whose number is the next. */
KG_MUST_CHECK kg_status kg__grads_add_param(kg_grads *grads, size_t rows, size_t columns,
                                            kg_error *error);
void kg__grads_free(kg_grads *grads);

/* Forgets all vectors and keeps the memory. */
void kg__grads_clear(kg_grads *grads);

/* A new vector, not filled in. It may move when the next one of the parameter is asked for. */
KG_MUST_CHECK kg_status kg__grads_add(kg_grads *grads, real **out, size_t param, kg_error *error);

/* The newest vector goes to `row`, too. */
KG_MUST_CHECK kg_status kg__grads_send(kg_grads *grads, size_t param, size_t row, kg_error *error);

/* The vector that sums what goes to `row` in this part, zero at first: for parameters with few
 * rows, which many gradients share. It may move likewise. */
KG_MUST_CHECK kg_status kg__grads_sum(kg_grads *grads, real **out, size_t param, size_t row,
                                      kg_error *error);

#endif
