/* Products with blocks, and vacancies of candidates. */
#include "rank/approx_scores.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

kg_status kg__approx_scores_open(kg_approx_scores *proposals, const kg_blocks *blocks,
                                 kg_error *error) {
    size_t room = (size_t)KG_TILE * KG_BLOCK;
    *proposals = (kg_approx_scores){.scores = kg__resize(NULL, room, sizeof(real))};
    if (blocks->vacancies != NULL)
        proposals->offsets = kg__resize(NULL, room, sizeof(real));
    bool good =
        proposals->scores != NULL && (blocks->vacancies == NULL || proposals->offsets != NULL);
    if (!good)
        kg__approx_scores_close(proposals);
    return good ? KG_OK : kg__fail_memory(error);
}

void kg__approx_scores_close(kg_approx_scores *proposals) {
    kg__free(proposals->scores);
    kg__free(proposals->offsets);
    *proposals = (kg_approx_scores){0};
}

static int compare(const void *a, const void *b) {
    kg_directed x = *(const kg_directed *)a;
    kg_directed y = *(const kg_directed *)b;
    return (x > y) - (x < y);
}

static size_t find_row(const kg_approx_scores *proposals, kg_directed asked) {
    kg_directed held = kg__inverse(asked);
    const kg_directed *found =
        bsearch(&held, proposals->held, proposals->held_count, sizeof *proposals->held, compare);
    return (size_t)(found - proposals->held);
}

void kg__approx_scores_take(kg_approx_scores *proposals, const kg_blocks *blocks, size_t count) {
    size_t with_offsets = 0;
    size_t kept = 0;
    if (blocks->vacancies == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        if (proposals->asked[i] != KG_NO_QUESTION)
            proposals->held[with_offsets++] = kg__inverse(proposals->asked[i]);
    qsort(proposals->held, with_offsets, sizeof *proposals->held, compare);
    for (size_t i = 0; i < with_offsets; i++)
        if (kept == 0 || proposals->held[kept - 1] != proposals->held[i])
            proposals->held[kept++] = proposals->held[i];
    proposals->held_count = kept;
    for (size_t i = 0; i < kept; i++)
        proposals->reach[i] = kg__blocks_reach(blocks, kg__inverse(proposals->held[i]));
    for (size_t i = 0; i < count; i++)
        if (proposals->asked[i] != KG_NO_QUESTION)
            proposals->rows[i] = find_row(proposals, proposals->asked[i]);
}

/* ---- Offsets ---- */

/* The candidate at `place` of a block has other offsets than those that nobody links to where it
 * has facts of what is held: both are sorted. */
static void offset_one(kg_approx_scores *proposals, const kg_blocks *blocks, size_t place,
                       kg_id candidate) {
    const kg_adjacency *graph = blocks->vacancies->graph;
    const kg_link *links = kg__adjacency_links(graph, candidate);
    size_t count = kg__adjacency_degree(graph, candidate);
    size_t row = 0;
    for (size_t from = 0, to = 0; from < count; from = to) {
        kg_directed directed = links[from].directed;
        to = kg__group_end(links, count, from);
        while (row < proposals->held_count && proposals->held[row] < directed)
            row++;
        if (row == proposals->held_count)
            return;
        if (proposals->held[row] == directed)
            proposals->offsets[row * KG_BLOCK + place] =
                kg__blocks_offset(blocks, kg__inverse(directed), to - from);
    }
}

void kg__approx_scores_offset(kg_approx_scores *proposals, const kg_blocks *blocks, size_t block) {
    size_t size = kg__blocks_size(blocks, block);
    if (blocks->vacancies == NULL)
        return;
    for (size_t row = 0; row < proposals->held_count; row++) {
        real none = kg__blocks_offset(blocks, kg__inverse(proposals->held[row]), 0);
        for (size_t k = 0; k < size; k++)
            proposals->offsets[row * KG_BLOCK + k] = none;
    }
    for (size_t k = 0; k < size; k++)
        offset_one(proposals, blocks, k, kg__blocks_first(block) + (kg_id)k);
}

const real *kg__approx_scores_offsets(const kg_approx_scores *proposals, size_t i) {
    bool has_none = proposals->offsets == NULL || proposals->asked[i] == KG_NO_QUESTION;
    return has_none ? NULL : proposals->offsets + proposals->rows[i] * KG_BLOCK;
}

/* ---- Scores ---- */

void kg__approx_scores_make(kg_approx_scores *proposals, const kg_blocks *blocks,
                            const real *vectors, size_t count, size_t block) {
    size_t size = kg__blocks_size(blocks, block);
    kg__blocks_multiply(blocks, proposals->scores, vectors, count, block);
    kg__approx_scores_offset(proposals, blocks, block);
    for (size_t i = 0; i < count; i++) {
        const real *offsets = kg__approx_scores_offsets(proposals, i);
        if (offsets != NULL)
            kg__add_scaled(proposals->scores + i * size, 1, offsets, size);
    }
}

real kg__approx_scores_bound(const kg_approx_scores *proposals, const kg_blocks *blocks,
                             size_t block, size_t i, real length) {
    bool has_none = kg__approx_scores_offsets(proposals, i) == NULL;
    real reach = has_none ? 0 : proposals->reach[proposals->rows[i]];
    return kg__blocks_bound(blocks, block, length, reach);
}
