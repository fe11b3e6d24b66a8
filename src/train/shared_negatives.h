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
 * Gradients on negatives are those of shards of the batch, added up by the tree (grad_tree.h) as
 * far as its branches go that this process has all of. The shapes of products depend on the numbers
 * of negatives and of a shard's queries alone. */
#ifndef KG_TRAIN_SHARED_NEGATIVES_H
#define KG_TRAIN_SHARED_NEGATIVES_H

#include "terms/query_block.h"
#include "train/grad_tree.h"

/* The next `shards` of the process's shards, a power of two. */
typedef struct kg_shared_negatives_branch {
    size_t shards;
    real *gradients; /* negative_count x dim, out: of the sum of log_sums, by the negatives */
} kg_shared_negatives_branch;

/* Arrays of queries are about the whole batch; what is not in a shard of this process is not
 * touched. */
typedef struct kg_shared_negatives_batch {
    size_t shard_count;
    const size_t *cuts; /* shard i has the queries cuts[i] up to cuts[i + 1], perhaps none */
    kg_shared_negatives_branch branches[KG_MOST_BRANCHES];
    size_t branch_count;
    size_t dim;
    int threads;
    const real *vectors;   /* queries x dim */
    size_t negative_count; /* at least 1 */
    const real *negatives; /* negative_count x dim */
    real log_weight;
    const kg_mask *masks; /* by `from`, ascending */
    size_t mask_count;

    const real *own_largest; /* queries: the largest score of the query's own candidates */
    const real *own_sums;    /* queries: their sum of e^(score - largest) */

    real *log_sums;         /* queries, out: the logarithm of the sum over all */
    real *vector_gradients; /* queries x dim, out: of that by the vectors, through the negatives */
} kg_shared_negatives_batch;

/* Memory is taken of the arena. */
KG_MUST_CHECK kg_status kg__shared_negatives_run(const kg_shared_negatives_batch *batch,
                                                 kg_arena *arena, kg_error *error);

#endif
