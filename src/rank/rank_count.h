/* Counting ranks: how many candidates, other known answers left out, score higher than the right
 * answer to a query, and how many the same. Queries are counted in tiles.
 *
 * A score that is NaN never improves a rank: what is neither lower nor equal counts as higher. */
#ifndef KG_RANK_RANK_COUNT_H
#define KG_RANK_RANK_COUNT_H

#include "rank/approx_scores.h"
#include "rank/metrics.h"
#include "terms/scorer.h"

typedef struct kg_tally {
    uint64_t higher; /* candidates that score better than the answer */
    uint64_t equal;
    uint64_t nonfinite; /* whose score is not finite, as far as they were looked at again: those
                         * that are not numbers always are */
} kg_tally;

typedef struct kg_rank_count {
    const real *vector; /* of the query: candidate u scores u . vector + prior + offset */
    kg_directed query;  /* the relation that priors depend on, or KG_NO_QUERY */
    kg_id answer;
    const kg_link *known; /* all known answers by id, the right one among them or not */
    size_t known_count;
    const kg_link *unfiltered; /* one of them that counts as unknown; may be NULL */
    const kg_id *itself;       /* the queried entity, if that is no candidate; may be NULL */
    kg_offset_run offsets;

    real length;       /* of the vector */
    real answer_score; /* the answer's score */
    kg_tally all;
    kg_tally left_out;   /* what is subtracted: known answers, and the answer itself */
    kg_tally own;        /* the difference of both among candidates that did not come later */
    const kg_link *next; /* the first known answer that is not counted yet */
} kg_rank_count;

/* Counts for `count` queries, at most KG_TILE, whose vectors are consecutive; the first eight
 * members are set by the caller. All blocks must be measured. */
void kg__rank_counts_run(kg_rank_count *counters, size_t count, const kg_blocks *blocks,
                         kg_approx_scores *approx);

/* The same in three steps, of which processes may share the second. It counts every `every`-th
 * block from `first` on, and needs the answers' scores; counters for it have no tallies yet, or
 * those of the first step. Differences of unsigned numbers are in sums what they should be. */
void kg__rank_counts_start(kg_rank_count *counters, size_t count, const kg_blocks *blocks);
void kg__rank_counts_add(kg_rank_count *counters, size_t count, const kg_blocks *blocks,
                         kg_approx_scores *approx, size_t first, size_t every);
void kg__rank_counts_end(kg_rank_count *counters, size_t count, const kg_blocks *blocks);

double kg__rank_count_rank(const kg_rank_count *counter, kg_ties ties);

/* Among candidates that did not come later, of an answer that is one of them. */
double kg__rank_count_own_rank(const kg_rank_count *counter, kg_ties ties);

#endif
