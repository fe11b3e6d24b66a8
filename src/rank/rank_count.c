/* Counting higher scores, tile by block. */
#include "rank/rank_count.h"

#include <math.h>

/* Scores above `high` and below `low`; one that is not a number is neither. */
KG_CLONES static void count_outside(const real *scores, size_t count, real low, real high,
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

static void add_score(kg_tally *tally, const kg_rank_count *counter, real exact) {
    tally->higher += exact <= counter->answer_score ? 0 : 1;
    tally->equal += exact == counter->answer_score;
    tally->nonfinite += isfinite(exact) == 0;
}

static real score(const kg_rank_count *counter, const kg_blocks *blocks, kg_id candidate) {
    return kg__blocks_score(blocks, counter->vector, counter->query, candidate) +
           kg__offset_of(counter->offsets, candidate);
}

/* Scores a candidate again, by the final score. */
static void count_exact(kg_tally *tally, const kg_blocks *blocks, const kg_rank_count *counter,
                        kg_id candidate) {
    add_score(tally, counter, score(counter, blocks, candidate));
}

/* Approximate scores of candidates from `first` on; [low, high] is where the error bound leaves the
 * comparison with the answer's score undecided. */
struct block_scores {
    kg_id first;
    size_t count;
    const real *scores;
    real low;
    real high;
};

/* Strip by strip: undecided scores are few, and only strips that have some are scanned again. */
static void count_all(kg_rank_count *counter, const kg_blocks *blocks,
                      const struct block_scores *row) {
    for (size_t from = 0; from < row->count; from += KG_STRIP) {
        size_t left = row->count - from;
        size_t count = left < KG_STRIP ? left : KG_STRIP;
        const real *scores = row->scores + from;
        uint32_t above = 0;
        uint32_t below = 0;
        count_outside(scores, count, row->low, row->high, &above, &below);
        counter->all.higher += above;
        for (size_t k = 0; k < count && above + below < count; k++) {
            if (scores[k] > row->high || scores[k] < row->low)
                continue;
            if (row->low == row->high && scores[k] == row->low) /* without an error: decided */
                counter->all.equal++;
            else
                count_exact(&counter->all, blocks, counter, row->first + (kg_id)(from + k));
        }
    }
}

/* Known answers are sorted, so those of a block follow those of the block before. */
static void count_known(kg_rank_count *counter, const kg_blocks *blocks,
                        const struct block_scores *row) {
    const kg_link *end = counter->known + counter->known_count;
    while (counter->next < end &&
           counter->next->other < row->first) /* of blocks that are not counted */
        counter->next++;
    for (; counter->next < end; counter->next++) {
        size_t k = counter->next->other - row->first;
        if (k >= row->count)
            return;
        if (counter->next->other == counter->answer || counter->next == counter->unfiltered)
            continue;
        if (row->scores[k] > row->high)
            counter->left_out.higher++;
        else if (!(row->scores[k] < row->low))
            count_exact(&counter->left_out, blocks, counter, counter->next->other);
    }
}

static void count_block(kg_rank_count *counters, size_t count, const kg_blocks *blocks,
                        kg_approx_scores *approx, size_t block) {
    struct block_scores row = {.first = kg__blocks_first(blocks, block),
                               .count = kg__blocks_size(blocks, block)};
    kg__approx_scores_compute(approx, blocks, counters->vector, count, block);
    for (size_t i = 0; i < count; i++) {
        kg_rank_count *counter = &counters[i];
        real bound = kg__approx_scores_bound(approx, blocks, block, i, counter->length);
        row.scores = approx->scores + i * row.count;
        row.low = counter->answer_score - bound;
        row.high = counter->answer_score + bound;
        count_all(counter, blocks, &row);
        count_known(counter, blocks, &row);
    }
}

static kg_tally difference(kg_tally a, kg_tally b) {
    return (kg_tally){a.higher - b.higher, a.equal - b.equal, a.nonfinite - b.nonfinite};
}

void kg__rank_counts_start(kg_rank_count *counters, size_t count, const kg_blocks *blocks) {
    for (size_t i = 0; i < count; i++) {
        kg_rank_count *counter = &counters[i];
        counter->answer_score = score(counter, blocks, counter->answer);
        counter->all = (kg_tally){0};
        counter->left_out = (kg_tally){0};
        count_exact(&counter->left_out, blocks, counter, counter->answer);
        counter->own = difference(counter->all, counter->left_out);
    }
}

void kg__rank_counts_add(kg_rank_count *counters, size_t count, const kg_blocks *blocks,
                         kg_approx_scores *approx, size_t first, size_t every) {
    size_t block = first;
    for (size_t i = 0; i < count; i++) {
        kg_rank_count *counter = &counters[i];
        counter->length = (real)kg__length(counter->vector, blocks->params.dim);
        counter->next = counter->known;
        approx->queries[i] = counter->query;
        approx->offsets[i] = counter->offsets;
    }
    kg__approx_scores_set_queries(approx, blocks, count, 0);
    for (; block < blocks->own_count; block += every)
        count_block(counters, count, blocks, approx, block);
    for (size_t i = 0; i < count; i++)
        counters[i].own = difference(counters[i].all, counters[i].left_out);
    for (; block < blocks->count; block += every)
        count_block(counters, count, blocks, approx, block);
}

/* The queried entity is no candidate, and came later if it has a row. */
void kg__rank_counts_end(kg_rank_count *counters, size_t count, const kg_blocks *blocks) {
    for (size_t i = 0; i < count; i++)
        if (counters[i].itself != NULL)
            count_exact(&counters[i].left_out, blocks, &counters[i], *counters[i].itself);
}

void kg__rank_counts_run(kg_rank_count *counters, size_t count, const kg_blocks *blocks,
                         kg_approx_scores *approx) {
    kg__rank_counts_start(counters, count, blocks);
    kg__rank_counts_add(counters, count, blocks, approx, 0, 1);
    kg__rank_counts_end(counters, count, blocks);
}

double kg__rank_count_own_rank(const kg_rank_count *counter, kg_ties ties) {
    return kg__rank_of(counter->own.higher, counter->own.equal, ties);
}

double kg__rank_count_rank(const kg_rank_count *counter, kg_ties ties) {
    return kg__rank_of(counter->all.higher - counter->left_out.higher,
                       counter->all.equal - counter->left_out.equal, ties);
}
