/* Softmax: which one is the answer? A query's answer stands among candidates of its own
 * (terms/block_candidates.c) and negatives that all queries of the batch share
 * (shared_negatives.h): as many entities as wanted, drawn anew for each step, or all there are. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "math/vector.h"
#include "train/loss.h"
#include "train/shared_negatives.h"

struct state {
    kg_loss_parts parts;
    kg_arena arena;   /* holds the arrays that follow */
    kg_arena batch;   /* what a batch needs */
    kg_id *negatives; /* all different */
    size_t negative_count;
    uint32_t *places;  /* entities: where it is among them, UINT32_MAX if it is not */
    real *own_largest; /* of each query: see shared_negatives.h */
    real *own_sums;
    real *log_sums;
};

static void close_state(void *state) {
    struct state *s = state;
    kg__arena_free(&s->arena);
    kg__arena_free(&s->batch);
    kg__free(s);
}

static bool open_arrays(struct state *s) {
    size_t entities = s->parts.context->graph->entity_count;
    size_t queries = s->parts.most_queries;
    s->negatives = kg__arena_take(&s->arena, s->negative_count, sizeof *s->negatives);
    s->places = kg__arena_take(&s->arena, entities, sizeof *s->places);
    s->own_largest = kg__arena_take(&s->arena, queries, sizeof *s->own_largest);
    s->own_sums = kg__arena_take(&s->arena, queries, sizeof *s->own_sums);
    s->log_sums = kg__arena_take(&s->arena, queries, sizeof *s->log_sums);
    if (s->negatives == NULL || s->places == NULL || s->own_largest == NULL ||
        s->own_sums == NULL || s->log_sums == NULL)
        return false;
    memset(s->places, 0xff, entities * sizeof *s->places); /* none is one */
    return true;
}

static kg_status open_state(void **out, const kg_loss_parts *parts, kg_error *error) {
    size_t entities = parts->context->graph->entity_count;
    struct state *s = kg__alloc(1, sizeof *s);
    if (s == NULL)
        return kg__fail_memory(error);
    s->parts = *parts;
    s->negative_count = parts->negatives < entities ? (size_t)parts->negatives : entities;
    if (!open_arrays(s)) {
        close_state(s);
        return kg__fail_memory(error);
    }
    parts->context->negatives = s->places;
    *out = s;
    return KG_OK;
}

/* Draws the negatives. What is drawn again does not count. */
static void begin(void *state, kg_param_list *params, uint64_t step) {
    struct state *s = state;
    const kg_step_context *context = s->parts.context;
    size_t entities = context->graph->entity_count;
    size_t count = 0;
    for (uint64_t draw = 0; count < s->negative_count; draw++) {
        kg_id entity = (kg_id)(s->negative_count == entities
                                   ? draw
                                   : kg__random_below(entities, context->seed, KG_STREAM_NEGATIVES,
                                                      step << 32 | draw));
        if (s->places[entity] != UINT32_MAX)
            continue;
        s->places[entity] = (uint32_t)count;
        s->negatives[count++] = entity;
        kg__param_list_touch(params, KG_PARAM_ENTITIES, entity);
    }
}

static void end(void *state) {
    struct state *s = state;
    for (size_t i = 0; i < s->negative_count; i++)
        s->places[s->negatives[i]] = UINT32_MAX;
}

/* ---- Blocks ---- */

static kg_status forward(void *state, kg_query_block *b) {
    struct state *s = state;
    size_t count = b->candidate_count;
    kg__arena_reset(&b->worker->scratch);
    real *scratch = kg__arena_take(&b->worker->scratch, count, sizeof *scratch);
    if (scratch == NULL)
        return kg__fail_memory(b->error);
    for (size_t i = 0; i < b->count; i++) {
        memcpy(scratch, b->scores + i * count, count * sizeof *scratch);
        real largest = kg__largest(scratch, count);
        s->own_largest[b->first + i] = largest;
        s->own_sums[b->first + i] = kg__exp_below(scratch, largest, count);
    }
    return KG_OK;
}

/* Scores become the shares that candidates have of the sum, less 1 for the answer. */
static kg_status backward(void *state, kg_query_block *b) {
    const struct state *s = state;
    size_t count = b->candidate_count;
    for (size_t i = 0; i < b->count; i++) {
        real log_sum = s->log_sums[b->first + i];
        real *scores = b->scores + i * count;
        size_t answer = b->answers[i];
        b->loss += (double)log_sum - (double)scores[answer];
        kg__exp_below(scores, log_sum, count);
        scores[answer] -= 1;
    }
    return KG_OK;
}

/* ---- The batch ---- */

/* Makes room for a branch's gradients on the negatives. */
static kg_status add_gradients(const struct state *s, real **out, kg_grads *grads,
                               kg_error *error) {
    const kg_param_grads *own = &grads->params[KG_PARAM_ENTITIES];
    size_t first = own->vector_count;
    real *vector = NULL;
    for (size_t i = 0; i < s->negative_count; i++) {
        KG_TRY(kg__grads_add(grads, &vector, KG_PARAM_ENTITIES, error));
        KG_TRY(kg__grads_send(grads, KG_PARAM_ENTITIES, s->negatives[i], error));
    }
    *out = own->vectors + first * own->columns;
    return KG_OK;
}

/* A copy of the negatives' rows. */
static real *copy_rows(struct state *s) {
    const kg_params *params = s->parts.context->params;
    size_t dim = params->dim;
    real *rows = kg__arena_take(&s->batch, s->negative_count, dim * sizeof *rows);
    for (size_t i = 0; i < s->negative_count && rows != NULL; i++)
        memcpy(rows + i * dim, kg__entity_row(params, s->negatives[i]), dim * sizeof *rows);
    return rows;
}

static kg_status score_batch(void *state, const kg_shards *shards, const kg_masks *masks,
                             kg_grads *grads, kg_error *error) {
    struct state *s = state;
    const kg_step_context *context = s->parts.context;
    kg_shared_negatives_batch all = {
        .shard_count = shards->to - shards->from,
        .cuts = shards->queries + shards->from,
        .dim = context->params->dim,
        .threads = s->parts.threads,
        .vectors = context->vectors,
        .negative_count = s->negative_count,
        .log_weight = (real)log((double)context->graph->entity_count / (double)s->negative_count),
        .masks = masks->list,
        .mask_count = masks->count,
        .own_largest = s->own_largest,
        .own_sums = s->own_sums,
        .log_sums = s->log_sums,
        .vector_gradients = context->gradients,
    };
    kg__arena_reset(&s->batch);
    all.negatives = copy_rows(s);
    if (all.negatives == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < shards->branch_count; i++) {
        kg_shared_negatives_branch *branch = &all.branches[all.branch_count++];
        branch->shards = kg__tree_leaves(grads[i].node);
        KG_TRY(add_gradients(s, &branch->gradients, &grads[i], error));
    }
    return kg__shared_negatives_run(&all, &s->batch, error);
}

const kg_loss kg__loss_softmax = {
    .name = "softmax",
    .open_sampler = kg__entity_sampler_open,
    .parts = 4,
    .open = open_state,
    .close = close_state,
    .begin = begin,
    .end = end,
    .forward = forward,
    .backward = backward,
    .score_batch = score_batch,
};
