/* Rows of entities that a model's file has in half precision (`store_dim_type` f16), in single
 * precision for all that computes with them. They have the addresses of one whole table, whose
 * memory is there from when it is written: a group of rows is widened when one of them is first
 * needed. So such a model opens at once, and what takes memory are the rows that are read. */
#ifndef KG_MODEL_HALF_ROWS_H
#define KG_MODEL_HALF_ROWS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/file_mapping.h"
#include "math/real.h"

/* All zeroes if there are none. Threads may share it. */
typedef struct kg_half_rows {
    const uint16_t *halves; /* count x dim, borrowed */
    size_t count;
    size_t dim;
    real *rows; /* the same; only what was widened is there */
    kg_mapping space;
    _Atomic unsigned char *states; /* of each group */
} kg_half_rows;

KG_MUST_CHECK kg_status kg__half_rows_open(kg_half_rows *out, const uint16_t *halves, size_t count,
                                           size_t dim, kg_error *error);
void kg__half_rows_close(kg_half_rows *half);

/* Makes sure of `count` rows from `first` on, at least one. */
void kg__half_rows_need(const kg_half_rows *half, size_t first, size_t count);

#endif
