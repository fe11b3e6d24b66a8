/* The softmax loss over negatives that all queries of a batch share:
 *
 *     loss of a query = log(sum over its own candidates of e^score
 *                           + weight * sum over negatives of e^(vector . negative))
 *                       - score of the answer
 *
 * where the weight makes up for the entities that were not drawn, and negatives that are candidates
 * of the query anyhow are left out. Only the sums over negatives are made here: queries times
 * negatives are products of matrices, tile by tile, so that all scores are never there at once.
 *
 * The shapes of the tiles depend on the numbers of queries and negatives alone. */
#ifndef KG_TRAIN_SHARED_NEGATIVES_H
#define KG_TRAIN_SHARED_NEGATIVES_H

#include "terms/query_block.h"

/* A batch. Arrays of queries have `count` rows. */
typedef struct kg_shared_negatives_batch {
    size_t count;
    size_t dim;
    int threads;
    const real *vectors;   /* count x dim */
    size_t negative_count; /* at least 1 */
    const real *negatives; /* negative_count x dim */
    real log_weight;
    const kg_mask *masks; /* by `from`, ascending */
    size_t mask_count;

    const real *own_largest; /* count: the largest score of the query's own candidates */
    const real *own_sums;    /* count: their sum of e^(score - largest) */

    real *log_sums;           /* count, out: the logarithm of the sum over all */
    real *vector_gradients;   /* count x dim, out: of that by the vectors, through the negatives */
    real *negative_gradients; /* negative_count x dim, out: likewise, summed over queries */
} kg_shared_negatives_batch;

/* Memory is taken of the arena. */
KG_MUST_CHECK kg_status kg__shared_negatives_run(const kg_shared_negatives_batch *batch,
                                                 kg_arena *arena, kg_error *error);

#endif
