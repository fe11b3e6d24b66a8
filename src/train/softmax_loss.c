/* Softmax: which one is the answer? A query's answer stands among candidates of its own
 * (terms/candidates.c) and negatives that all queries of the batch share (softmax.h). */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/vector.h"
#include "train/loss.h"
#include "train/negative_priors.h"
#include "train/negatives.h"
#include "train/softmax.h"

struct state {
    kg_loss_parts parts;
    kg_softmax *softmax;
    kg_negatives negatives;
    kg_negative_priors priors;
    kg_directed *asked; /* of each query */
    real *own_largest;  /* of each query: see softmax.h */
    real *own_sums;
    real *log_sums;
};

static void close_state(void *state) {
    struct state *s = state;
    kg__softmax_close(s->softmax);
    kg__negatives_close(&s->negatives);
    kg__negative_priors_close(&s->priors);
    kg__free(s->asked);
    kg__free(s->own_largest);
    kg__free(s->own_sums);
    kg__free(s->log_sums);
    kg__free(s);
}

static kg_status open_parts(struct state *s, kg_error *error) {
    const kg_step_context *context = s->parts.context;
    size_t queries = s->parts.most_queries;
    s->asked = kg__alloc(queries, sizeof *s->asked);
    s->own_largest = kg__alloc(queries, sizeof *s->own_largest);
    s->own_sums = kg__alloc(queries, sizeof *s->own_sums);
    s->log_sums = kg__alloc(queries, sizeof *s->log_sums);
    if (s->asked == NULL || s->own_largest == NULL || s->own_sums == NULL || s->log_sums == NULL)
        return kg__fail_memory(error);
    KG_TRY(kg__negatives_open(&s->negatives, s->parts.negatives, context->graph->entity_count,
                              context->params->dim, context->seed, error));
    s->parts.context->negatives = s->negatives.places;
    KG_TRY(kg__negative_priors_open(&s->priors, context->params, queries, error));
    return kg__softmax_open(&s->softmax, s->parts.threads, error);
}

static kg_status open_state(void **out, const kg_loss_parts *parts, kg_error *error) {
    struct state *s = kg__alloc(1, sizeof *s);
    if (s == NULL)
        return kg__fail_memory(error);
    s->parts = *parts;
    kg_status status = open_parts(s, error);
    if (status != KG_OK)
        close_state(s);
    else
        *out = s;
    return status;
}

static void begin(void *state, kg_param_list *params, uint64_t step) {
    struct state *s = state;
    kg__negatives_draw(&s->negatives, step);
    for (size_t i = 0; i < s->negatives.count; i++)
        kg__params_touch(params, KG_PARAM_ENTITIES, s->negatives.entities[i]);
}

static void end(void *state) {
    struct state *s = state;
    kg__negatives_forget(&s->negatives);
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

static kg_status send_negatives(const struct state *s, kg_grads *grads, kg_error *error) {
    size_t dim = s->negatives.dim;
    for (size_t i = 0; i < s->negatives.count; i++) {
        real *vector = NULL;
        KG_TRY(kg__grads_add(grads, &vector, KG_PARAM_ENTITIES, error));
        memcpy(vector, s->negatives.gradients + i * dim, dim * sizeof *vector);
        KG_TRY(kg__grads_send(grads, KG_PARAM_ENTITIES, s->negatives.entities[i], error));
    }
    return KG_OK;
}

/* What the negatives' degree priors mean for their weights. */
static kg_status send_priors(const struct state *s, size_t count, kg_grads *grads,
                             kg_error *error) {
    for (size_t i = 0; i < count && s->priors.view != NULL; i++) {
        real *sum = NULL;
        KG_TRY(kg__grads_sum(grads, &sum, s->priors.view->param, s->asked[i], error));
        sum[KG_DEGREE_PRIOR] += s->priors.gradients[i];
    }
    return KG_OK;
}

static kg_status meet(void *state, const kg_batch *batch, const kg_masks *masks, kg_grads *grads,
                      kg_error *error) {
    struct state *s = state;
    const kg_step_context *context = s->parts.context;
    for (size_t i = 0; i < batch->query_count; i++)
        s->asked[i] = batch->queries[i].asked.directed;
    kg__negatives_gather(&s->negatives, context->params->entities);
    kg__negative_priors_take(&s->priors, s->asked, batch->query_count, s->negatives.entities);
    kg_softmax_batch all = {
        .count = batch->query_count,
        .dim = context->params->dim,
        .vectors = context->vectors,
        .negative_count = s->negatives.count,
        .negatives = s->negatives.rows,
        .log_weight = kg__negatives_log_weight(&s->negatives),
        .masks = masks->list,
        .mask_count = masks->count,
        .fill_features = s->priors.view == NULL ? NULL : kg__negative_priors_fill,
        .feature_payload = &s->priors,
        .feature_kind_count = s->priors.asked_count,
        .feature_kinds = s->priors.kinds,
        .feature_worths = s->priors.weights,
        .worth_gradients = s->priors.gradients,
        .own_largest = s->own_largest,
        .own_sums = s->own_sums,
        .log_sums = s->log_sums,
        .vector_gradients = context->gradients,
        .negative_gradients = s->negatives.gradients,
    };
    KG_TRY(kg__softmax_run(s->softmax, &all, error));
    KG_TRY(send_negatives(s, grads, error));
    return send_priors(s, batch->query_count, grads, error);
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
