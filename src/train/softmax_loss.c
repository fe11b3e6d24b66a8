/* Softmax: which one is the answer? A query's answer stands among candidates of its own
 * (terms/block_candidates.c) and negatives that all queries of the batch share (sampled_softmax.h):
 * as many entities as wanted, drawn anew for each step, or all there are. Their degree priors
 * (terms/features/degree_prior.h) are a feature of the softmax, of a kind for each directed
 * relation that the batch queries. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "math/vector.h"
#include "terms/feature_term.h"
#include "train/loss.h"
#include "train/sampled_softmax.h"

struct state {
    kg_loss_parts parts;
    const kg_term_view *view; /* of the features; NULL if there is no degree prior */
    kg_arena arena;           /* holds the arrays that follow */
    kg_arena batch;           /* what a batch needs */
    kg_id *negatives;         /* all different */
    size_t negative_count;
    uint32_t *places;  /* entities: where it is among them, UINT32_MAX if it is not */
    real *own_largest; /* of each query: see sampled_softmax.h */
    real *own_sums;
    real *log_sums;
    kg_directed *kinds; /* of queries: directed relations, each once */
    size_t kind_count;
    uint32_t *kind_of; /* directed relations: its place among these, or KG_NO_ID */
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
    size_t directed = s->view == NULL ? 0 : kg__feature_view_counted(s->view)->rules.directed_count;
    s->negatives = kg__arena_take(&s->arena, s->negative_count, sizeof *s->negatives);
    s->places = kg__arena_take(&s->arena, entities, sizeof *s->places);
    s->own_largest = kg__arena_take(&s->arena, queries, sizeof *s->own_largest);
    s->own_sums = kg__arena_take(&s->arena, queries, sizeof *s->own_sums);
    s->log_sums = kg__arena_take(&s->arena, queries, sizeof *s->log_sums);
    s->kinds = kg__arena_take(&s->arena, directed, sizeof *s->kinds);
    s->kind_of = kg__arena_take(&s->arena, directed, sizeof *s->kind_of);
    if (s->negatives == NULL || s->places == NULL || s->own_largest == NULL ||
        s->own_sums == NULL || s->log_sums == NULL || s->kinds == NULL || s->kind_of == NULL)
        return false;
    memset(s->places, 0xff, entities * sizeof *s->places); /* none is one */
    memset(s->kind_of, 0xff, directed * sizeof *s->kind_of);
    return true;
}

static kg_status open_state(void **out, const kg_loss_parts *parts, kg_error *error) {
    size_t entities = parts->context->graph->entity_count;
    const kg_term_view *view = kg__feature_view(parts->context->params);
    struct state *s = kg__alloc(1, sizeof *s);
    if (s == NULL)
        return kg__fail_memory(error);
    s->parts = *parts;
    s->negative_count = parts->negatives < entities ? (size_t)parts->negatives : entities;
    s->view = kg__feature_view_prior(view) == NULL ? NULL : view;
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
        kg__params_touch(params, KG_PARAM_ENTITIES, entity);
    }
}

static void end(void *state) {
    struct state *s = state;
    for (size_t i = 0; i < s->negative_count; i++)
        s->places[s->negatives[i]] = UINT32_MAX;
    for (size_t kind = 0; kind < s->kind_count; kind++)
        s->kind_of[s->kinds[kind]] = KG_NO_ID;
    s->kind_count = 0;
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

static void fill_priors(const void *payload, real *out, size_t from, size_t some) {
    const struct state *s = payload;
    kg__degree_prior_fill(kg__feature_view_prior(s->view), out, s->kinds, s->kind_count, s->kind_of,
                          s->negatives + from, some);
}

static uint32_t find_kind(struct state *s, kg_directed query) {
    uint32_t *kind = &s->kind_of[query];
    if (*kind == KG_NO_ID) {
        *kind = (uint32_t)s->kind_count;
        s->kinds[s->kind_count++] = query;
    }
    return *kind;
}

/* Adds the degree priors to a batch of the softmax, and learns their weights from it. */
static kg_status add_priors(struct state *s, kg_softmax_batch *all, const kg_batch *batch,
                            kg_error *error) {
    uint32_t *kinds = kg__arena_take(&s->batch, all->count, sizeof *kinds);
    real *weights = kg__arena_take(&s->batch, all->count, sizeof *weights);
    all->weight_gradients = kg__arena_take(&s->batch, all->count, sizeof *all->weight_gradients);
    if (kinds == NULL || weights == NULL || all->weight_gradients == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < all->count; i++)
        kinds[i] = find_kind(s, batch->queries[i].target.directed);
    for (size_t kind = 0; kind < s->kind_count; kind++)
        weights[kind] = kg__feature_weights(s->view, s->kinds[kind])[KG_DEGREE_PRIOR];
    all->fill_features = fill_priors;
    all->feature_payload = s;
    all->feature_kind_count = s->kind_count;
    all->feature_kinds = kinds;
    all->feature_weights = weights;
    return KG_OK;
}

static kg_status send_priors(const struct state *s, const kg_softmax_batch *all, kg_grads *grads,
                             kg_error *error) {
    for (size_t i = 0; i < all->count; i++) {
        real *sum = NULL;
        KG_TRY(kg__grads_sum(grads, &sum, s->view->param, s->kinds[all->feature_kinds[i]], error));
        sum[KG_DEGREE_PRIOR] += all->weight_gradients[i];
    }
    return KG_OK;
}

/* Copies the negatives' rows, and makes room for the gradients on them, which are the first that
 * go there. */
static kg_status add_negatives(struct state *s, kg_softmax_batch *all, kg_grads *grads,
                               kg_error *error) {
    const kg_params *params = s->parts.context->params;
    size_t dim = all->dim;
    real *rows = kg__arena_take(&s->batch, s->negative_count, dim * sizeof *rows);
    real *vector = NULL;
    if (rows == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < s->negative_count; i++) {
        memcpy(rows + i * dim, kg__entity_row(params, s->negatives[i]), dim * sizeof *rows);
        KG_TRY(kg__grads_add(grads, &vector, KG_PARAM_ENTITIES, error));
        KG_TRY(kg__grads_send(grads, KG_PARAM_ENTITIES, s->negatives[i], error));
    }
    all->negatives = rows;
    all->negative_gradients = vector - (s->negative_count - 1) * dim;
    return KG_OK;
}

static kg_status meet(void *state, const kg_batch *batch, const kg_masks *masks, kg_grads *grads,
                      kg_error *error) {
    struct state *s = state;
    const kg_step_context *context = s->parts.context;
    kg_softmax_batch all = {
        .count = batch->query_count,
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
    KG_TRY(add_negatives(s, &all, grads, error));
    if (s->view != NULL)
        KG_TRY(add_priors(s, &all, batch, error));
    KG_TRY(kg__softmax_run(&all, &s->batch, error));
    return s->view == NULL ? KG_OK : send_priors(s, &all, grads, error);
}

const kg_loss_row kg__loss_softmax = {
    .name = "softmax",
    .open_sampler = kg__entity_sampler_open,
    .open = open_state,
    .close = close_state,
    .begin = begin,
    .end = end,
    .forward = forward,
    .backward = backward,
    .meet = meet,
};
