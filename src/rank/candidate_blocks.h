/* Blocks of candidates. A tile of vectors is multiplied with one block of entity rows after the
 * other, so that scores are used while they are in the cache: the full score matrix never exists.
 *
 * The prior of a candidate is added to the product: what terms give it for the class of how many
 * facts of the query's relation it has. It depends on that relation and on the candidate alone.
 * Queries about an entity's row have no priors: KG_NO_QUERY takes the place of the relation.
 *
 * The product is approximate: its bits depend on the shapes of tile and block. Candidates that
 * could matter are scored again by kg__blocks_score, a fixed-order dot product that is the same for
 * every caller, and that score decides. The error of approximate scores is bounded: see
 * kg__blocks_bound.
 *
 * Rows of entities that came later are in pages of their own: each is a block. */
#ifndef KG_RANK_CANDIDATE_BLOCKS_H
#define KG_RANK_CANDIDATE_BLOCKS_H

#include "math/vector.h"
#include "model/term.h"

/* Large enough that BLAS copies little in proportion, small enough for the scores of a tile and a
 * block to stay in the cache. */
#define KG_TILE 512  /* vectors */
#define KG_BLOCK 384 /* candidates */
#define KG_STRIP 64  /* scores that are tested together */

/* The first `candidates` entities of the params, which are borrowed. */
typedef struct kg_blocks {
    kg_params params;
    size_t candidates;
    size_t own;       /* of these: that did not come later, */
    size_t own_count; /* and how many blocks they are */
    size_t count;
    bool has_priors;
    real *longest;   /* of each block: norm of its longest row; negative if not measured yet */
    size_t capacity; /* of it */
} kg_blocks;

KG_MUST_CHECK kg_status kg__blocks_open(kg_blocks *blocks, const kg_params *params,
                                        size_t candidates, kg_error *error);
void kg__blocks_close(kg_blocks *blocks);

/* To params on another overlay of the same graph, with other rows of entities that came later. */
KG_MUST_CHECK kg_status kg__blocks_move(kg_blocks *blocks, const kg_params *params,
                                        size_t candidates, kg_error *error);

/* Measures a block unless that was done before. Threads may measure different blocks in parallel.
 */
void kg__blocks_measure(kg_blocks *blocks, size_t block);

static inline kg_id kg__blocks_first(const kg_blocks *blocks, size_t block) {
    return (kg_id)(block < blocks->own_count ? block * KG_BLOCK
                                             : blocks->own + (block - blocks->own_count) * KG_PAGE);
}

static inline size_t kg__blocks_size(const kg_blocks *blocks, size_t block) {
    bool is_own = block < blocks->own_count;
    size_t most = is_own ? KG_BLOCK : KG_PAGE;
    size_t left =
        (is_own ? blocks->own : blocks->candidates) - (size_t)kg__blocks_first(blocks, block);
    return left < most ? left : most;
}

/* Names that ties are broken by; NULL if no entities came later. */
static inline const kg_names *kg__blocks_names(const kg_blocks *blocks) {
    return blocks->params.later == NULL ? NULL : blocks->params.later->names;
}

/* Approximate scores, without priors: scores[i * size + k] of vector i and candidate first + k. */
void kg__blocks_multiply(const kg_blocks *blocks, real *scores, const real *vectors, size_t count,
                         size_t block);

/* Bound on the difference between an approximate score, prior added, and the final one, for a
 * vector of that length, a measured block, and priors of at most `largest_prior`. Infinite if a sum
 * might overflow. */
real kg__blocks_bound(const kg_blocks *blocks, size_t block, real length, real largest_prior);

/* The prior for a class of degree; that of a candidate, or 0 if the model has none; and the largest
 * absolute value for a query. */
real kg__blocks_prior(const kg_blocks *blocks, kg_directed query, size_t class);
real kg__blocks_prior_of(const kg_blocks *blocks, kg_directed query, kg_id candidate);
real kg__blocks_largest_prior(const kg_blocks *blocks, kg_directed query);

/* The final score. */
static inline real kg__blocks_score(const kg_blocks *blocks, const real *vector, kg_directed query,
                                    kg_id candidate) {
    real product = kg__dot(kg__entity_row(&blocks->params, candidate), vector, blocks->params.dim);
    return product + kg__blocks_prior_of(blocks, query, candidate);
}

#endif
