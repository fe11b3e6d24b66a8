/* Proposed scores of a tile of questions and a block of candidates: products, and offsets on top.
 *
 * Offsets are made block by block, for all relations that the tile asks for in one pass over the
 * candidates' facts: of all relations and candidates together they would be too many to keep. */
#ifndef KG_RANK_APPROX_SCORES_H
#define KG_RANK_APPROX_SCORES_H

#include "rank/blocks.h"

/* One for each thread. */
typedef struct kg_approx_scores {
    real *scores;               /* KG_TILE x KG_BLOCK */
    real *offsets;              /* KG_BLOCK for each relation; NULL if there never are any */
    kg_directed asked[KG_TILE]; /* by each question, or KG_NO_QUESTION: for the caller to fill in */
    size_t rows[KG_TILE];       /* of each question: which of the relations below, if any */
    kg_directed held[KG_TILE];  /* what is asked for, each once, seen from the answer, sorted */
    real reach[KG_TILE];        /* of each of these: no offset is farther from 0 */
    size_t held_count;
} kg_approx_scores;

KG_MUST_CHECK kg_status kg__approx_scores_open(kg_approx_scores *proposals, const kg_blocks *blocks,
                                               kg_error *error);
void kg__approx_scores_close(kg_approx_scores *proposals);

/* Takes a tile of questions, at most KG_TILE, by what is `asked`. */
void kg__approx_scores_take(kg_approx_scores *proposals, const kg_blocks *blocks, size_t count);

/* Makes the offsets of a block; and those of question i, which may be NULL. */
void kg__approx_scores_offset(kg_approx_scores *proposals, const kg_blocks *blocks, size_t block);
const real *kg__approx_scores_offsets(const kg_approx_scores *proposals, size_t i);

/* Proposes scores, offsets included: scores[i * size + k] of question i and candidate first + k.
 * The vectors are count x dim. */
void kg__approx_scores_make(kg_approx_scores *proposals, const kg_blocks *blocks,
                            const real *vectors, size_t count, size_t block);

/* How far a proposed score of question i, whose vector has that length, can be off. */
real kg__approx_scores_bound(const kg_approx_scores *proposals, const kg_blocks *blocks,
                             size_t block, size_t i, real length);

#endif
