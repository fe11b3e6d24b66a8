/* Blocks of candidates. A tile of vectors is multiplied with one block of the entities' rows after
 * the other, so that scores are looked at while they are in the cache: the whole matrix of scores
 * never exists.
 *
 * On top of the product there may be an offset: what the vacancy of a candidate
 * (evidence/vacancy.h) is worth in answers to a question. It depends on the directed relation that
 * is asked for and on the candidate alone. Who is asked about by a row has no evidence, and so no
 * offsets either: KG_NO_QUESTION stands in place of the relation.
 *
 * But the product only proposes. Its bits depend on the shapes of tile and block, so what matters
 * is scored again by kg__blocks_score, which is the same whoever asks, and that decides. How far a
 * proposed score can be off is known: see kg__blocks_bound. */
#ifndef KG_RANK_BLOCKS_H
#define KG_RANK_BLOCKS_H

#include "math/vector.h"
#include "model/params.h"

/* Large enough that BLAS copies little in proportion, small enough for the scores of a tile and a
 * block to stay in the cache. */
#define KG_TILE 512  /* vectors */
#define KG_BLOCK 384 /* candidates */
#define KG_STRIP 64  /* scores that are looked at together */

/* The first `candidates` entities of the params, which are borrowed. */
typedef struct kg_blocks {
    kg_params params;
    size_t candidates;
    size_t count;
    const kg_degree_prior *vacancies; /* that offsets are made of; NULL if there are none */
    real *longest; /* of each block: the length of its longest row; below 0 if not measured yet */
} kg_blocks;

KG_MUST_CHECK kg_status kg__blocks_open(kg_blocks *blocks, const kg_params *params,
                                        size_t candidates, kg_error *error);
void kg__blocks_close(kg_blocks *blocks);

/* Measures a block, if it is not yet: different threads may measure different blocks. */
void kg__blocks_measure(kg_blocks *blocks, size_t block);

static inline kg_id kg__blocks_first(size_t block) {
    return (kg_id)(block * KG_BLOCK);
}

static inline size_t kg__blocks_size(const kg_blocks *blocks, size_t block) {
    size_t left = blocks->candidates - block * KG_BLOCK;
    return left < KG_BLOCK ? left : KG_BLOCK;
}

/* Proposes scores, without offsets: scores[i * size + k] of vector i and candidate first + k. */
void kg__blocks_multiply(const kg_blocks *blocks, real *scores, const real *vectors, size_t count,
                         size_t block);

/* How far a proposed score, to which an offset has been added, can lie from the final one, for a
 * vector of that length, a block that was measured, and offsets of at most `reach`. Infinite, and
 * so never less than any difference, if a sum might overflow. */
real kg__blocks_bound(const kg_blocks *blocks, size_t block, real length, real reach);

/* The offset of a candidate with so many facts of what is asked for, seen from its side; the one of
 * a candidate by its facts, or 0 if there are no offsets; and how far from 0 any of them is. */
real kg__blocks_offset(const kg_blocks *blocks, kg_directed asked, size_t facts);
real kg__blocks_offset_of(const kg_blocks *blocks, kg_directed asked, kg_id candidate);
real kg__blocks_reach(const kg_blocks *blocks, kg_directed asked);

/* The final score. */
static inline real kg__blocks_score(const kg_blocks *blocks, const real *vector, kg_directed asked,
                                    kg_id candidate) {
    real product = kg__dot(kg__entity_row(&blocks->params, candidate), vector, blocks->params.dim);
    return product + kg__blocks_offset_of(blocks, asked, candidate);
}

#endif
