/* A contest: the right answer to a question against all other candidates, except other known
 * answers. How many score better, and how many the same? Contests are held in tiles.
 *
 * A score that is not a number never does well, neither for an answer nor against one: what is not
 * lower and not equal counts as higher. */
#ifndef KG_RANK_RANK_COUNT_H
#define KG_RANK_RANK_COUNT_H

#include "aggregate/embedder.h"
#include "rank/approx_scores.h"
#include "rank/metrics.h"

typedef struct kg_tally {
    uint64_t higher; /* candidates that score better than the answer */
    uint64_t equal;
    uint64_t strange; /* whose score is not finite, as far as they were looked at again: those that
                       * are not numbers always are */
} kg_tally;

typedef struct kg_rank_count {
    const real *vector; /* of the question: candidate u scores u . vector, and offsets */
    kg_directed asked;  /* what offsets go by, or KG_NO_QUESTION */
    kg_id answer;
    const kg_link *known; /* all known answers by id, the right one among them or not */
    size_t known_count;
    const kg_link *forgotten; /* one of them that counts as if it were not known; may be NULL */
    const kg_score_offset
        *bonuses; /* on top of scores, by id; of others than candidates without effect */
    size_t bonus_count;

    real length; /* of the vector */
    real goal;   /* the answer's score */
    kg_tally all;
    kg_tally left_out;   /* what does not count: known answers, and the answer against itself */
    const kg_link *next; /* the first known answer that it has not met */
} kg_rank_count;

/* Holds `count` contests, at most KG_TILE, whose vectors stand one behind the other; the first
 * eight members are given. All blocks must be measured. */
void kg__rank_counts_run(kg_rank_count *contests, size_t count, const kg_blocks *blocks,
                         kg_approx_scores *proposals);

double kg__rank_count_rank(const kg_rank_count *contest, kg_ties ties);

#endif
