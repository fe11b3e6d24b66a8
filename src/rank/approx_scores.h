/* Approximate scores of a tile of queries and a block of candidates: matrix products, plus the
 * weighted degree priors (candidate_blocks.h).
 *
 * Priors are computed block by block, for all relations of the tile's queries in one pass over the
 * candidates' facts: a table of all relations and candidates would be too large. */
#ifndef KG_RANK_APPROX_SCORES_H
#define KG_RANK_APPROX_SCORES_H

#include "rank/candidate_blocks.h"

/* One per thread. */
typedef struct kg_approx_scores {
    real *scores;                   /* KG_TILE x KG_BLOCK */
    real *priors;                   /* KG_BLOCK for each relation; NULL if the model has none */
    kg_directed queries[KG_TILE];   /* relation of each query, or KG_NO_QUERY; set by the caller */
    size_t rows[KG_TILE];           /* of each query: index into `relations`, if any */
    kg_directed relations[KG_TILE]; /* of the queries, seen from the answer, sorted and distinct */
    real largest[KG_TILE];          /* of each of these: the largest absolute prior */
    size_t relation_count;
} kg_approx_scores;

KG_MUST_CHECK kg_status kg__approx_scores_open(kg_approx_scores *approx, const kg_blocks *blocks,
                                               kg_error *error);
void kg__approx_scores_close(kg_approx_scores *approx);

/* Starts a tile of at most KG_TILE queries, whose relations are in `queries`. */
void kg__approx_scores_set_queries(kg_approx_scores *approx, const kg_blocks *blocks, size_t count);

/* Computes the priors of a block; and those of query i, which may be NULL. */
void kg__approx_scores_fill_priors(kg_approx_scores *approx, const kg_blocks *blocks, size_t block);
const real *kg__approx_scores_priors(const kg_approx_scores *approx, size_t i);

/* Computes scores, priors included: scores[i * size + k] of query i and candidate first + k. The
 * vectors are count x dim. */
void kg__approx_scores_compute(kg_approx_scores *approx, const kg_blocks *blocks,
                               const real *vectors, size_t count, size_t block);

/* Error bound of the approximate scores of query i, whose vector has that length. */
real kg__approx_scores_bound(const kg_approx_scores *approx, const kg_blocks *blocks, size_t block,
                             size_t i, real length);

#endif
