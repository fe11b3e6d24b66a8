/* Counting who scores better, tile by block. */
#include "rank/rank_count.h"

#include <math.h>

/* Scores above `high` and below `low`; one that is not a number is neither. */
KG_CLONES static void count_sure(const real *scores, size_t count, real low, real high,
                                 uint32_t *above, uint32_t *below) {
    uint32_t a = 0;
    uint32_t b = 0;
#pragma omp simd reduction(+ : a, b)
    for (size_t i = 0; i < count; i++) {
        a += scores[i] > high ? 1 : 0;
        b += scores[i] < low ? 1 : 0;
    }
    *above = a;
    *below = b;
}

static void note(kg_tally *tally, const kg_rank_count *contest, real exact) {
    tally->higher += exact <= contest->goal ? 0 : 1;
    tally->equal += exact == contest->goal;
    tally->strange += isfinite(exact) == 0;
}

static real score(const kg_rank_count *contest, const kg_blocks *blocks, kg_id candidate) {
    return kg__blocks_score(blocks, contest->vector, contest->asked, candidate);
}

/* Scores a candidate again, now for good. */
static void settle(kg_tally *tally, const kg_blocks *blocks, const kg_rank_count *contest,
                   kg_id candidate) {
    note(tally, contest, score(contest, blocks, candidate));
}

/* Candidates from `first` on, by their proposed scores and how far these are off at most. */
struct proposal {
    kg_id first;
    size_t count;
    const real *scores;
    real low; /* what is below it is lower than the answer's score, what is above `high` higher */
    real high;
};

/* Strip by strip, since doubts are few, and only those strips are looked at twice. */
static void count_all(kg_rank_count *contest, const kg_blocks *blocks,
                      const struct proposal *proposal) {
    for (size_t from = 0; from < proposal->count; from += KG_STRIP) {
        size_t left = proposal->count - from;
        size_t count = left < KG_STRIP ? left : KG_STRIP;
        const real *scores = proposal->scores + from;
        uint32_t above = 0;
        uint32_t below = 0;
        count_sure(scores, count, proposal->low, proposal->high, &above, &below);
        contest->all.higher += above;
        for (size_t k = 0; k < count && above + below < count; k++)
            if (!(scores[k] > proposal->high || scores[k] < proposal->low))
                settle(&contest->all, blocks, contest, proposal->first + (kg_id)(from + k));
    }
}

/* Known answers are sorted, so those of a block follow those of the block before. */
static void count_known(kg_rank_count *contest, const kg_blocks *blocks,
                        const struct proposal *proposal) {
    const kg_link *end = contest->known + contest->known_count;
    for (; contest->next < end; contest->next++) {
        size_t k = contest->next->other - proposal->first;
        if (k >= proposal->count)
            return;
        if (contest->next->other == contest->answer || contest->next == contest->forgotten)
            continue;
        if (proposal->scores[k] > proposal->high)
            contest->left_out.higher++;
        else if (!(proposal->scores[k] < proposal->low))
            settle(&contest->left_out, blocks, contest, contest->next->other);
    }
}

static void meet_block(kg_rank_count *contests, size_t count, const kg_blocks *blocks,
                       kg_approx_scores *proposals, size_t block) {
    struct proposal proposal = {.first = kg__blocks_first(block),
                                .count = kg__blocks_size(blocks, block)};
    kg__approx_scores_make(proposals, blocks, contests->vector, count, block);
    for (size_t i = 0; i < count; i++) {
        kg_rank_count *contest = &contests[i];
        real bound = kg__approx_scores_bound(proposals, blocks, block, i, contest->length);
        proposal.scores = proposals->scores + i * proposal.count;
        proposal.low = contest->goal - bound;
        proposal.high = contest->goal + bound;
        count_all(contest, blocks, &proposal);
        count_known(contest, blocks, &proposal);
    }
}

static real find_bonus(const kg_rank_count *contest, kg_id candidate) {
    for (size_t i = 0; i < contest->bonus_count; i++)
        if (contest->bonuses[i].entity == candidate)
            return (real)contest->bonuses[i].value;
    return 0;
}

/* Those who have a bonus were counted without it: that is left out, and they count with it. Known
 * answers do not count at all. Both lists are sorted. */
static void count_bonuses(kg_rank_count *contest, const kg_blocks *blocks) {
    const kg_link *known = contest->known;
    const kg_link *end = known + contest->known_count;
    for (size_t i = 0; i < contest->bonus_count; i++) {
        const kg_score_offset *bonus = &contest->bonuses[i];
        while (known < end && known->other < bonus->entity)
            known++;
        bool is_known = known < end && known->other == bonus->entity && known != contest->forgotten;
        if (bonus->entity == contest->answer || is_known || bonus->entity >= blocks->candidates)
            continue;
        real plain = score(contest, blocks, bonus->entity);
        note(&contest->left_out, contest, plain);
        note(&contest->all, contest, plain + (real)bonus->value);
    }
}

void kg__rank_counts_run(kg_rank_count *contests, size_t count, const kg_blocks *blocks,
                         kg_approx_scores *proposals) {
    for (size_t i = 0; i < count; i++) {
        kg_rank_count *contest = &contests[i];
        contest->length = (real)kg__length(contest->vector, blocks->params.dim);
        contest->goal =
            score(contest, blocks, contest->answer) + find_bonus(contest, contest->answer);
        contest->all = (kg_tally){0};
        contest->left_out = (kg_tally){0};
        contest->next = contest->known;
        settle(&contest->left_out, blocks, contest, contest->answer);
        proposals->asked[i] = contest->asked;
    }
    kg__approx_scores_take(proposals, blocks, count);
    for (size_t block = 0; block < blocks->count; block++)
        meet_block(contests, count, blocks, proposals, block);
    for (size_t i = 0; i < count; i++)
        count_bonuses(&contests[i], blocks);
}

double kg__rank_count_rank(const kg_rank_count *contest, kg_ties ties) {
    return kg__rank_of(contest->all.higher - contest->left_out.higher,
                       contest->all.equal - contest->left_out.equal, ties);
}
