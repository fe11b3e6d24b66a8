/* The candidates that a block scores for all its queries: their answers, and other ends of the
 * entity's facts, which may answer by an echo. Many other ends are sampled: every s-th of them,
 * whose scores get log s on top. A seen entity is a candidate for itself, and one that its own row
 * makes likely where a relation goes both ways; an unseen one would not be there. None of them is
 * also met as a negative. */
#include <math.h>
#include <string.h>

#include "base/lower_bound.h"
#include "base/memory.h"
#include "base/random.h"
#include "math/linalg.h"
#include "terms/query_block.h"

#define MOST_SAMPLED 64 /* other ends */

/* ---- Finding them ---- */

static size_t other_end(const kg_query_block *b, size_t from) {
    size_t to = from + 1;
    while (to < b->link_count && b->by_other[to].other == b->by_other[from].other)
        to++;
    return to;
}

static bool is_before(kg_link a, kg_link b) {
    return a.directed != b.directed ? a.directed < b.directed : a.other < b.other;
}

/* Whether any of these links is queried in the block, whose queries are sorted. */
static bool is_answer(const kg_query_block *b, size_t from, size_t to) {
    kg_link first = b->queries[0].target;
    kg_link last = b->queries[b->count - 1].target;
    for (size_t i = from; i < to; i++)
        if (!is_before(b->by_other[i], first) && !is_before(last, b->by_other[i]))
            return true;
    return false;
}

static kg_status mask(kg_query_block *b, kg_id entity) {
    uint32_t place = b->context->negatives[entity];
    kg_masks *masks = b->masks;
    if (place == UINT32_MAX)
        return KG_OK;
    kg_mask *list = kg__grow(masks->list, &masks->capacity, masks->count + 1, sizeof *list);
    if (list == NULL)
        return kg__fail_memory(b->error);
    masks->list = list;
    list[masks->count++] = (kg_mask){(uint32_t)b->first, (uint32_t)(b->first + b->count), place};
    return KG_OK;
}

/* How many links of a hub each one of its block's stands for. */
static size_t links_each(const kg_query_block *b) {
    size_t degree = kg__adjacency_degree(b->context->graph, b->range.entity);
    return kg__link_sample(b->context, degree, b->queries).every;
}

/* All other ends are left to the block, also those that a sample of a hub's links lacks. */
static kg_status mask_others(kg_query_block *b) {
    const kg_link *links = kg__adjacency_links(b->context->graph, b->range.entity);
    size_t count = kg__adjacency_degree(b->context->graph, b->range.entity);
    for (size_t i = 0; i < count; i++)
        KG_TRY(mask(b, links[i].other));
    return KG_OK;
}

/* Other ends of facts, by entity: those that are answers, and a sample of the rest. */
static kg_status add_others(kg_query_block *b) {
    size_t others = 0;
    for (size_t i = 0; i < b->link_count; i = other_end(b, i))
        others++;
    size_t every = (others - 1) / MOST_SAMPLED + 1;
    size_t first = (size_t)kg__random_below(every, b->context->seed, KG_STREAM_CANDIDATES,
                                            kg__query_block_position(b, 0));
    real log_every = (real)log((double)(every * links_each(b)));
    size_t number = 0;
    for (size_t from = 0, to = 0; from < b->link_count; from = to, number++) {
        to = other_end(b, from);
        kg_block_candidate candidate = {b->by_other[from].other, (uint32_t)from, (uint32_t)to,
                                        number % every == first, log_every};
        if (candidate.is_negative || is_answer(b, from, to))
            b->candidates[b->candidate_count++] = candidate;
        if (links_each(b) == 1)
            KG_TRY(mask(b, candidate.entity));
    }
    return links_each(b) == 1 ? KG_OK : mask_others(b);
}

static kg_status find(kg_query_block *b) {
    size_t others = b->count + MOST_SAMPLED;
    size_t most = (b->link_count < others ? b->link_count : others) + 1;
    b->candidates = kg__arena_take(b->arena, most, sizeof *b->candidates);
    b->answers = kg__arena_take(b->arena, b->count, sizeof *b->answers);
    if (b->candidates == NULL || b->answers == NULL)
        return kg__fail_memory(b->error);
    KG_TRY(add_others(b));
    for (size_t i = 0; i < b->count; i++)
        b->answers[i] =
            (uint32_t)kg__lower_bound(b->candidates, b->candidate_count, sizeof *b->candidates, 0,
                                      b->queries[i].target.other);
    if (b->context->psi < 1)
        b->candidates[b->candidate_count++] = (kg_block_candidate){.entity = b->range.entity};
    return mask(b, b->range.entity);
}

/* ---- Scores ---- */

/* The rows of all candidates, for a moment; NULL if memory is short. */
static real *gather(const kg_query_block *b) {
    kg__arena_reset(&b->worker->scratch);
    real *rows = kg__arena_take(&b->worker->scratch, b->candidate_count, b->dim * sizeof *rows);
    if (rows == NULL)
        return NULL;
    for (size_t j = 0; j < b->candidate_count; j++)
        memcpy(rows + j * b->dim, kg__entity_row(b->params, b->candidates[j].entity),
               b->dim * sizeof *rows);
    return rows;
}

static bool is_known(const kg_query_block *b, kg_directed query,
                     const kg_block_candidate *candidate) {
    if (links_each(b) > 1) {
        size_t count = kg__adjacency_degree(b->context->graph, b->range.entity);
        kg_link link = {query, candidate->entity};
        return kg__links_find(kg__adjacency_links(b->context->graph, b->range.entity), count,
                              link) < count;
    }
    for (size_t i = candidate->from; i < candidate->to; i++)
        if (b->by_other[i].directed == query)
            return true;
    return false;
}

/* Column j of a run's scores: known answers are left out, but for the one that is queried. */
static void finish_column(kg_query_block *b, const kg_query_run *run, size_t j) {
    const kg_block_candidate *candidate = &b->candidates[j];
    bool is_negative = candidate->is_negative && !is_known(b, run->query, candidate);
    for (size_t i = run->from; i < run->to; i++) {
        real *score = &b->scores[i * b->candidate_count + j];
        if (candidate->entity == b->range.entity)
            *score = b->queries[i].by_facts ? (real)-INFINITY : *score;
        else if (b->queries[i].target.other != candidate->entity)
            *score = is_negative ? *score + candidate->log_weight : (real)-INFINITY;
    }
}

kg_status kg__candidates_find(kg_query_block *b) {
    KG_TRY(find(b));
    b->scores = kg__arena_take_zeroed(b->arena, b->count, b->candidate_count * sizeof *b->scores);
    return b->scores == NULL ? kg__fail_memory(b->error) : KG_OK;
}

kg_status kg__candidates_multiply(kg_query_block *b) {
    real *rows = gather(b);
    if (rows == NULL)
        return kg__fail_memory(b->error);
    kg__multiply(b->scores, b->count, b->candidate_count, b->dim, 1, b->vectors, KG_AS_IS, rows,
                 KG_TRANSPOSED, 0);
    return KG_OK;
}

void kg__candidates_finish(kg_query_block *b) {
    for (size_t run = 0; run < b->run_count; run++)
        for (size_t j = 0; j < b->candidate_count; j++)
            finish_column(b, &b->runs[run], j);
}

/* ---- Backward ---- */

kg_status kg__candidates_backward(kg_query_block *b) {
    size_t count = b->candidate_count;
    real *rows = gather(b);
    if (rows == NULL)
        return kg__fail_memory(b->error);
    kg__multiply(b->gradients, b->count, b->dim, count, 1, b->scores, KG_AS_IS, rows, KG_AS_IS, 1);
    kg__multiply(rows, count, b->dim, b->count, 1, b->scores, KG_TRANSPOSED, b->vectors, KG_AS_IS,
                 0);
    for (size_t j = 0; j < count; j++) {
        real *vector = NULL;
        KG_TRY(kg__grads_add(b->grads, &vector, KG_PARAM_ENTITIES, b->error));
        memcpy(vector, rows + j * b->dim, b->dim * sizeof *vector);
        KG_TRY(kg__grads_send(b->grads, KG_PARAM_ENTITIES, b->candidates[j].entity, b->error));
    }
    return KG_OK;
}
