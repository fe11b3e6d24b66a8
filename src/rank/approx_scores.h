/* Approximate scores of a tile of queries and a block of candidates: matrix products, plus priors
 * (candidate_blocks.h), plus score offsets.
 *
 * Priors are computed block by block, for all relations of the tile's queries in one pass over the
 * candidates' facts: a table of all relations and candidates would be too large. */
#ifndef KG_RANK_APPROX_SCORES_H
#define KG_RANK_APPROX_SCORES_H

#include "rank/candidate_blocks.h"
#include "terms/scorer.h"

/* Sorted by entity; those of entities that are no candidates have no effect. */
typedef struct kg_offset_run {
    const kg_score_offset *items; /* may be NULL if there are none */
    size_t count;
} kg_offset_run;

/* Of one entity: 0 if there is none. */
real kg__offset_of(kg_offset_run offsets, kg_id entity);

/* One per thread. */
typedef struct kg_approx_scores {
    real *scores;                   /* KG_TILE x KG_BLOCK */
    real *priors;                   /* KG_BLOCK for each relation; NULL if the model has none */
    kg_directed queries[KG_TILE];   /* relation of each query, or KG_NO_QUERY; set by the caller */
    size_t rows[KG_TILE];           /* of each query: index into `relations`, if any */
    kg_directed relations[KG_TILE]; /* of the queries, seen from the answer, sorted and distinct */
    real largest[KG_TILE];          /* of each of these: the largest absolute prior */
    size_t relation_count;

    /* Offsets of each query, sorted by entity; and those that are not added yet. */
    kg_offset_run offsets[KG_TILE];
    kg_offset_run left[KG_TILE];
    real largest_offset[KG_TILE]; /* absolute value */
} kg_approx_scores;

KG_MUST_CHECK kg_status kg__approx_scores_open(kg_approx_scores *approx, const kg_blocks *blocks,
                                               kg_error *error);
void kg__approx_scores_close(kg_approx_scores *approx);

/* Starts a tile of at most KG_TILE queries, whose relations are in `queries` and whose offsets are
 * in `offsets`, and of which blocks from `block` on, or some of them, will be computed in order. */
void kg__approx_scores_set_queries(kg_approx_scores *approx, const kg_blocks *blocks, size_t count,
                                   size_t block);

/* Computes scores[i * size + k] of query i and candidate first + k, priors and offsets included.
 * The vectors are count x dim. The second one computes final scores. */
void kg__approx_scores_compute(kg_approx_scores *approx, const kg_blocks *blocks,
                               const real *vectors, size_t count, size_t block);
void kg__approx_scores_compute_final(kg_approx_scores *approx, const kg_blocks *blocks,
                                     const real *vectors, size_t count, size_t block);

/* Adds priors and offsets to products in `scores` that were computed otherwise; and the largest
 * absolute value of both together that query i can get. */
void kg__approx_scores_add_rest(kg_approx_scores *approx, const kg_blocks *blocks, size_t count,
                                size_t block);
real kg__approx_scores_largest_rest(const kg_approx_scores *approx, size_t i);

/* Error bound of the approximate scores of query i, whose vector has that length. */
real kg__approx_scores_bound(const kg_approx_scores *approx, const kg_blocks *blocks, size_t block,
                             size_t i, real length);

#endif
