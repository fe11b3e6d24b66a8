/* Matrix products with blocks, priors of candidates, and offsets. */
#include "rank/approx_scores.h"

#include <math.h>
#include <stdlib.h>

#include "base/lower_bound.h"
#include "base/memory.h"
#include "model/degree_classes.h"

kg_status kg__approx_scores_open(kg_approx_scores *approx, const kg_blocks *blocks,
                                 kg_error *error) {
    size_t capacity = (size_t)KG_TILE * KG_BLOCK;
    *approx = (kg_approx_scores){.scores = kg__resize(NULL, capacity, sizeof(real))};
    if (blocks->has_priors)
        approx->priors = kg__resize(NULL, capacity, sizeof(real));
    bool good = approx->scores != NULL && (!blocks->has_priors || approx->priors != NULL);
    if (!good)
        kg__approx_scores_close(approx);
    return good ? KG_OK : kg__fail_memory(error);
}

void kg__approx_scores_close(kg_approx_scores *approx) {
    kg__free(approx->scores);
    kg__free(approx->priors);
    *approx = (kg_approx_scores){0};
}

static int compare(const void *a, const void *b) {
    kg_directed x = *(const kg_directed *)a;
    kg_directed y = *(const kg_directed *)b;
    return (x > y) - (x < y);
}

static size_t find_row(const kg_approx_scores *approx, kg_directed query) {
    kg_directed relations = kg__inverse(query);
    const kg_directed *found = bsearch(&relations, approx->relations, approx->relation_count,
                                       sizeof *approx->relations, compare);
    return (size_t)(found - approx->relations);
}

real kg__offset_of(kg_offset_run offsets, kg_id entity) {
    size_t i = kg__lower_bound(offsets.items, offsets.count, sizeof *offsets.items,
                               offsetof(kg_score_offset, entity), entity);
    bool is_there = i < offsets.count && offsets.items[i].entity == entity;
    return is_there ? (real)offsets.items[i].value : 0;
}

static void set_offsets(kg_approx_scores *approx, size_t i, kg_id first) {
    kg_offset_run all = approx->offsets[i];
    size_t skipped = kg__lower_bound(all.items, all.count, sizeof *all.items,
                                     offsetof(kg_score_offset, entity), first);
    double largest = 0;
    for (size_t k = 0; k < all.count; k++)
        largest = fabs(all.items[k].value) <= largest ? largest : fabs(all.items[k].value);
    approx->largest_offset[i] = (real)largest;
    approx->left[i] =
        (kg_offset_run){all.items == NULL ? NULL : all.items + skipped, all.count - skipped};
}

void kg__approx_scores_set_queries(kg_approx_scores *approx, const kg_blocks *blocks, size_t count,
                                   size_t block) {
    size_t with_prior = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        set_offsets(approx, i, kg__blocks_first(blocks, block));
    if (!blocks->has_priors)
        return;
    for (size_t i = 0; i < count; i++)
        if (approx->queries[i] != KG_NO_QUERY)
            approx->relations[with_prior++] = kg__inverse(approx->queries[i]);
    qsort(approx->relations, with_prior, sizeof *approx->relations, compare);
    for (size_t i = 0; i < with_prior; i++)
        if (kept == 0 || approx->relations[kept - 1] != approx->relations[i])
            approx->relations[kept++] = approx->relations[i];
    approx->relation_count = kept;
    for (size_t i = 0; i < kept; i++)
        approx->largest[i] = kg__blocks_largest_prior(blocks, kg__inverse(approx->relations[i]));
    for (size_t i = 0; i < count; i++)
        if (approx->queries[i] != KG_NO_QUERY)
            approx->rows[i] = find_row(approx, approx->queries[i]);
}

/* ---- Priors ---- */

/* Priors differ from those of degree 0 only in relations that the candidate at `place` of a block
 * has facts of: a merge join, since both are sorted. */
static void fill_priors_of(kg_approx_scores *approx, const kg_blocks *blocks, size_t place,
                           kg_id candidate) {
    const kg_adjacency *graph = blocks->params.graph;
    const kg_link *links = kg__adjacency_links(graph, candidate);
    size_t count = kg__adjacency_degree(graph, candidate);
    size_t row = 0;
    for (size_t from = 0, to = 0; from < count; from = to) {
        kg_directed directed = links[from].directed;
        to = kg__group_end(links, count, from);
        while (row < approx->relation_count && approx->relations[row] < directed)
            row++;
        if (row == approx->relation_count)
            return;
        if (approx->relations[row] == directed)
            approx->priors[row * KG_BLOCK + place] =
                kg__blocks_prior(blocks, kg__inverse(directed), kg__degree_class(to - from));
    }
}

static void fill_priors(kg_approx_scores *approx, const kg_blocks *blocks, size_t block) {
    size_t size = kg__blocks_size(blocks, block);
    if (!blocks->has_priors)
        return;
    for (size_t row = 0; row < approx->relation_count; row++) {
        real none = kg__blocks_prior(blocks, kg__inverse(approx->relations[row]), 0);
        for (size_t k = 0; k < size; k++)
            approx->priors[row * KG_BLOCK + k] = none;
    }
    for (size_t k = 0; k < size; k++)
        fill_priors_of(approx, blocks, k, kg__blocks_first(blocks, block) + (kg_id)k);
}

/* Those of query i, or NULL. */
static const real *priors_of(const kg_approx_scores *approx, size_t i) {
    bool has_none = approx->priors == NULL || approx->queries[i] == KG_NO_QUERY;
    return has_none ? NULL : approx->priors + approx->rows[i] * KG_BLOCK;
}

/* ---- Scores ---- */

void kg__approx_scores_add_rest(kg_approx_scores *approx, const kg_blocks *blocks, size_t count,
                                size_t block) {
    kg_id first = kg__blocks_first(blocks, block);
    size_t size = kg__blocks_size(blocks, block);
    fill_priors(approx, blocks, block);
    for (size_t i = 0; i < count; i++) {
        real *scores = approx->scores + i * size;
        const real *priors = priors_of(approx, i);
        kg_offset_run *left = &approx->left[i];
        if (priors != NULL)
            kg__add_scaled(scores, 1, priors, size);
        for (; left->count > 0 && left->items->entity < first + size; left->count--, left->items++)
            if (left->items->entity >= first) /* blocks before may have been left out */
                scores[left->items->entity - first] += (real)left->items->value;
    }
}

void kg__approx_scores_compute(kg_approx_scores *approx, const kg_blocks *blocks,
                               const real *vectors, size_t count, size_t block) {
    kg__blocks_multiply(blocks, approx->scores, vectors, count, block);
    kg__approx_scores_add_rest(approx, blocks, count, block);
}

void kg__approx_scores_compute_final(kg_approx_scores *approx, const kg_blocks *blocks,
                                     const real *vectors, size_t count, size_t block) {
    size_t dim = blocks->params.dim;
    size_t size = kg__blocks_size(blocks, block);
    for (size_t k = 0; k < size; k++) {
        const real *row =
            kg__entity_row(&blocks->params, kg__blocks_first(blocks, block) + (kg_id)k);
        for (size_t i = 0; i < count; i++)
            approx->scores[i * size + k] = kg__dot(row, vectors + i * dim, dim);
    }
    kg__approx_scores_add_rest(approx, blocks, count, block);
}

real kg__approx_scores_largest_rest(const kg_approx_scores *approx, size_t i) {
    bool has_none = priors_of(approx, i) == NULL;
    return (has_none ? 0 : approx->largest[approx->rows[i]]) + approx->largest_offset[i];
}

/* Offsets are the same in both scores, like priors, and so are the errors that they add. */
real kg__approx_scores_bound(const kg_approx_scores *approx, const kg_blocks *blocks, size_t block,
                             size_t i, real length) {
    return kg__blocks_bound(blocks, block, length, kg__approx_scores_largest_rest(approx, i));
}
