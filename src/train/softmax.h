/* The softmax loss over negatives that all questions of a batch share:
 *
 *     loss of a question = log(sum over its own candidates of e^score
 *                              + weight * sum over negatives of e^(vector . negative))
 *                          - score of the answer
 *
 * where the weight makes up for the entities that were not drawn, and negatives that are candidates
 * of the question anyhow are left out. Negatives may have a feature, another one for each kind of
 * question, whose worth to the question is added to their scores. Only the sums over negatives are
 * made here: questions times negatives are products of matrices, tile by tile, so that all scores
 * are never there at once.
 *
 * The shapes of the tiles depend on the numbers of questions and negatives alone. */
#ifndef KG_TRAIN_SOFTMAX_H
#define KG_TRAIN_SOFTMAX_H

#include "base/status.h"
#include "math/real.h"
#include "terms/query_block.h"

/* A batch. Arrays of questions have `count` rows. */
typedef struct kg_softmax_batch {
    size_t count;
    size_t dim;
    const real *vectors;   /* count x dim */
    size_t negative_count; /* at least 1 */
    const real *negatives; /* negative_count x dim */
    real log_weight;
    const kg_mask *masks; /* by `from`, ascending */
    size_t mask_count;

    /* Fills in the features of negatives `from` up to `from + some`, kinds x some; NULL if there
     * are none. Called by all threads, and more than once for each: of all negatives together they
     * may be too many to keep. */
    void (*fill_features)(const void *payload, real *out, size_t from, size_t some);
    const void *feature_payload;
    size_t feature_kind_count;
    const uint32_t *feature_kinds; /* count: which row */
    const real *feature_worths;    /* count */

    const real *own_largest; /* count: the largest score of the question's own candidates */
    const real *own_sums;    /* count: their sum of e^(score - largest) */

    real *log_sums;           /* count, out: the logarithm of the sum over all */
    real *vector_gradients;   /* count x dim, out: of that by the vectors, through the negatives */
    real *negative_gradients; /* negative_count x dim, out: likewise, summed over questions */
    real *worth_gradients;    /* count, out if there are features: of that by the worths */
} kg_softmax_batch;

typedef struct kg_softmax kg_softmax;

KG_MUST_CHECK kg_status kg__softmax_open(kg_softmax **out, int threads, kg_error *error);
void kg__softmax_close(kg_softmax *softmax);

KG_MUST_CHECK kg_status kg__softmax_run(kg_softmax *softmax, const kg_softmax_batch *batch,
                                        kg_error *error);

#endif
