/* Products with blocks, and vacancies of candidates. */
#include "rank/proposals.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

kg_status kg_proposals_open(kg_proposals *proposals, const kg_blocks *blocks, kg_error *error) {
    size_t room = (size_t)KG_TILE * KG_BLOCK;
    *proposals = (kg_proposals){.scores = kg_resize(NULL, room, sizeof(real))};
    if (blocks->vacancies != NULL)
        proposals->offsets = kg_resize(NULL, room, sizeof(real));
    bool good =
        proposals->scores != NULL && (blocks->vacancies == NULL || proposals->offsets != NULL);
    if (!good)
        kg_proposals_close(proposals);
    return good ? KG_OK : kg_fail_memory(error);
}

void kg_proposals_close(kg_proposals *proposals) {
    kg_free(proposals->scores);
    kg_free(proposals->offsets);
    *proposals = (kg_proposals){0};
}

static int compare(const void *a, const void *b) {
    kg_directed x = *(const kg_directed *)a;
    kg_directed y = *(const kg_directed *)b;
    return (x > y) - (x < y);
}

static size_t find_row(const kg_proposals *proposals, kg_directed asked) {
    kg_directed held = kg_inverse(asked);
    const kg_directed *found =
        bsearch(&held, proposals->held, proposals->held_count, sizeof *proposals->held, compare);
    return (size_t)(found - proposals->held);
}

void kg_proposals_take(kg_proposals *proposals, const kg_blocks *blocks, size_t count) {
    size_t with_offsets = 0;
    size_t kept = 0;
    if (blocks->vacancies == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        if (proposals->asked[i] != KG_NO_QUESTION)
            proposals->held[with_offsets++] = kg_inverse(proposals->asked[i]);
    qsort(proposals->held, with_offsets, sizeof *proposals->held, compare);
    for (size_t i = 0; i < with_offsets; i++)
        if (kept == 0 || proposals->held[kept - 1] != proposals->held[i])
            proposals->held[kept++] = proposals->held[i];
    proposals->held_count = kept;
    for (size_t i = 0; i < kept; i++)
        proposals->reach[i] = kg_blocks_reach(blocks, kg_inverse(proposals->held[i]));
    for (size_t i = 0; i < count; i++)
        if (proposals->asked[i] != KG_NO_QUESTION)
            proposals->rows[i] = find_row(proposals, proposals->asked[i]);
}

/* ---- Offsets ---- */

/* The candidate at `place` of a block has other offsets than those that nobody links to where it
 * has facts of what is held: both are sorted. */
static void offset_one(kg_proposals *proposals, const kg_blocks *blocks, size_t place,
                       kg_id candidate) {
    const kg_adjacency *graph = blocks->vacancies->graph;
    const kg_link *links = kg_adjacency_links(graph, candidate);
    size_t count = kg_adjacency_degree(graph, candidate);
    size_t row = 0;
    for (size_t from = 0, to = 0; from < count; from = to) {
        kg_directed directed = links[from].directed;
        to = kg_group_end(links, count, from);
        while (row < proposals->held_count && proposals->held[row] < directed)
            row++;
        if (row == proposals->held_count)
            return;
        if (proposals->held[row] == directed)
            proposals->offsets[row * KG_BLOCK + place] =
                kg_blocks_offset(blocks, kg_inverse(directed), to - from);
    }
}

void kg_proposals_offset(kg_proposals *proposals, const kg_blocks *blocks, size_t block) {
    size_t size = kg_blocks_size(blocks, block);
    if (blocks->vacancies == NULL)
        return;
    for (size_t row = 0; row < proposals->held_count; row++) {
        real none = kg_blocks_offset(blocks, kg_inverse(proposals->held[row]), 0);
        for (size_t k = 0; k < size; k++)
            proposals->offsets[row * KG_BLOCK + k] = none;
    }
    for (size_t k = 0; k < size; k++)
        offset_one(proposals, blocks, k, kg_blocks_first(block) + (kg_id)k);
}

const real *kg_proposals_offsets(const kg_proposals *proposals, size_t i) {
    bool has_none = proposals->offsets == NULL || proposals->asked[i] == KG_NO_QUESTION;
    return has_none ? NULL : proposals->offsets + proposals->rows[i] * KG_BLOCK;
}

/* ---- Scores ---- */

void kg_proposals_make(kg_proposals *proposals, const kg_blocks *blocks, const real *vectors,
                       size_t count, size_t block) {
    size_t size = kg_blocks_size(blocks, block);
    kg_blocks_multiply(blocks, proposals->scores, vectors, count, block);
    kg_proposals_offset(proposals, blocks, block);
    for (size_t i = 0; i < count; i++) {
        const real *offsets = kg_proposals_offsets(proposals, i);
        if (offsets != NULL)
            kg_add_scaled(proposals->scores + i * size, 1, offsets, size);
    }
}

real kg_proposals_bound(const kg_proposals *proposals, const kg_blocks *blocks, size_t block,
                        size_t i, real length) {
    bool has_none = kg_proposals_offsets(proposals, i) == NULL;
    real reach = has_none ? 0 : proposals->reach[proposals->rows[i]];
    return kg_blocks_bound(blocks, block, length, reach);
}
