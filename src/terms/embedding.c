/* The embedding term: a candidate u scores z_u . v, where v is made of the queried relation and the
 * entity's z, which its row gives or, as for an unseen entity, its facts but what is left out. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "math/vector.h"
#include "model/model.h"
#include "terms/query_block.h"
#include "terms/scorer.h"

/* Positions of the links that query i must not know, unless they were found for the last use. */
static kg_left_out find_left_out(kg_query_block *b, size_t i) {
    kg_link target = b->queries[i].target;
    size_t found = 0;
    if (b->left_query == i + 1)
        return (kg_left_out){b->left_out, b->left_count};
    if (b->context->exclude == KG_EXCLUDE_TRIPLE) {
        b->left_out[0] = kg__links_find(b->links, b->link_count, target);
        found = b->left_out[0] < b->link_count;
    } else {
        for (size_t k = 0; k < b->link_count; k++)
            if (b->links[k].other == target.other)
                b->left_out[found++] = k;
    }
    b->left_query = i + 1;
    b->left_count = found;
    return (kg_left_out){b->left_out, found};
}

/* ---- Dropout ---- */

/* Dropout is a share of 2^16, so that 64 random bits serve four numbers. */
#define SHARES 65536

static uint32_t dropped_shares(const kg_query_block *b) {
    return (uint32_t)(b->context->dropout * SHARES);
}

static bool *kept_of(const kg_query_block *b, size_t i) {
    return b->is_kept + i * b->dim;
}

static void choose_kept(const kg_query_block *b, size_t i) {
    bool *kept = kept_of(b, i);
    uint64_t position = kg__query_block_position(b, i) * ((b->dim + 3) / 4);
    uint32_t dropped = dropped_shares(b);
    uint64_t bits = 0;
    for (size_t k = 0; k < b->dim && dropped > 0; k++) {
        if (k % 4 == 0)
            bits = kg__random(b->context->seed, KG_STREAM_DROPOUT, position++);
        kept[k] = bits % SHARES >= dropped;
        bits /= SHARES;
    }
}

/* Drops what is not kept of a vector, or of a gradient on it, and makes up for it. */
static void drop(const kg_query_block *b, size_t i, real *vector) {
    const bool *kept = kept_of(b, i);
    uint32_t dropped = dropped_shares(b);
    real factor = (real)SHARES / (real)(SHARES - dropped);
    for (size_t k = 0; k < b->dim && dropped > 0; k++)
        vector[k] = kept[k] ? vector[k] * factor : 0;
}

/* ---- Forward ---- */

static void embed(kg_query_block *b, size_t run, size_t i, real *z) {
    if (b->queries[i].by_facts) {
        kg__aggregate_set_query(&b->aggregate, run);
        kg__aggregate_forward(&b->aggregate, z, find_left_out(b, i));
        b->last_use = i;
    } else {
        memcpy(z, kg__entity_row(b->params, b->range.entity), b->dim * sizeof *z);
    }
}

static void forward_query(kg_query_block *b, size_t run, size_t i) {
    real *z = b->z + i * b->dim;
    real *vector = b->vectors + i * b->dim;
    embed(b, run, i, z);
    kg__query_vector_adjoint(b->params, vector, b->runs[run].query, z);
    if (b->context->dropout > 0) {
        choose_kept(b, i);
        drop(b, i, vector);
    }
}

/* ---- N3 ---- */

/* The weighted nuclear 3-norm (Lacroix et al. 2018): a query's loss gets
 *
 *     weight * sum of |x|^3 over the numbers x of z, of the relation's row and of the answer's
 *
 * where numbers are those that the scoring function multiplies: complex ones by their moduli,
 * quaternions likewise. So rows are regularised as often as true facts are about them; a query
 * whose candidate is no answer has no such norm. Adds the gradient of the norm of one vector, and
 * returns the norm. */
static inline double add_cubes(real *restrict gradient, const real *restrict vector, real weight,
                               size_t dim, size_t parts) {
    size_t n = dim / parts;
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        real square = 0;
        for (size_t k = 0; k < parts; k++)
            square += vector[k * n + i] * vector[k * n + i];
        real length = (real)sqrt((double)square);
        norm += (double)(square * length);
        for (size_t k = 0; k < parts; k++)
            gradient[k * n + i] += 3 * weight * length * vector[k * n + i];
    }
    return (double)weight * norm;
}

/* Each with a number of parts that the compiler knows. */
KG_CLONES static double add_norm(real *gradient, const real *vector, real weight, size_t dim,
                                 size_t parts) {
    return parts == 1   ? add_cubes(gradient, vector, weight, dim, 1)
           : parts == 2 ? add_cubes(gradient, vector, weight, dim, 2)
                        : add_cubes(gradient, vector, weight, dim, 4);
}

/* The norms of query i, whose gradient on z is g. */
static kg_status add_norms(kg_query_block *b, size_t i, real *g) {
    const kg_scoring *scoring = b->params->scoring;
    kg_link target = b->queries[i].target;
    real weight = (real)b->context->n3;
    real *sum = NULL;
    b->loss += add_norm(g, b->z + i * b->dim, weight, b->dim, scoring->joined);
    KG_TRY(kg__grads_add(b->grads, &sum, KG_PARAM_ENTITIES, b->error));
    memset(sum, 0, b->dim * sizeof *sum);
    b->loss +=
        add_norm(sum, kg__entity_row(b->params, target.other), weight, b->dim, scoring->joined);
    KG_TRY(kg__grads_send(b->grads, KG_PARAM_ENTITIES, target.other, b->error));
    if (scoring->is_turn)
        return KG_OK;
    KG_TRY(kg__grads_sum(b->grads, &sum, KG_PARAM_RELATIONS,
                         kg__relation_number(b->params, target.directed), b->error));
    b->loss += add_norm(sum, kg__relation_row(b->params, target.directed), weight, b->dim,
                        scoring->joined);
    return KG_OK;
}

/* ---- Backward ---- */

/* What a gradient on the vector of query i means for the queried relation. */
static kg_status add_to_relation(kg_query_block *b, size_t i, const real *g) {
    kg_directed query = b->queries[i].target.directed;
    real *sum = NULL;
    KG_TRY(kg__grads_sum(b->grads, &sum, KG_PARAM_RELATIONS, kg__relation_number(b->params, query),
                         b->error));
    b->params->scoring->relation_gradient(sum, kg__relation_row(b->params, query),
                                          b->z + i * b->dim, g,
                                          kg__other_end(kg_directed_end(query)), b->dim);
    return KG_OK;
}

static kg_status add_to_row(kg_query_block *b, const real *g) {
    if (b->row_gradient == NULL)
        b->row_gradient = kg__arena_take_zeroed(b->arena, b->dim, sizeof *b->row_gradient);
    if (b->row_gradient == NULL)
        return kg__fail_memory(b->error);
    kg__add_scaled(b->row_gradient, 1, g, b->dim);
    return KG_OK;
}

static kg_status backward_query(kg_query_block *b, size_t run, size_t i) {
    real *g = b->gradients + i * b->dim;
    if (b->context->dropout > 0)
        drop(b, i, g);
    KG_TRY(add_to_relation(b, i, g));
    kg__query_vector(b->params, b->worker->row, b->runs[run].query, g);
    memcpy(g, b->worker->row, b->dim * sizeof *g);
    if (b->context->n3 > 0 && b->queries[i].label > 0)
        KG_TRY(add_norms(b, i, g));
    if (!b->queries[i].by_facts)
        return add_to_row(b, g);
    if (b->context->aggregate->aggregator->backward_needs_last_forward && b->last_use != i)
        embed(b, run, i, b->worker->row);
    kg__aggregate_set_query(&b->aggregate, run);
    return kg__aggregate_backward(&b->aggregate, g, find_left_out(b, i), b->error);
}

static kg_status finish(kg_query_block *b) {
    if (b->row_gradient != NULL) {
        real *vector = NULL;
        KG_TRY(kg__grads_add(b->grads, &vector, KG_PARAM_ENTITIES, b->error));
        memcpy(vector, b->row_gradient, b->dim * sizeof *vector);
        KG_TRY(kg__grads_send(b->grads, KG_PARAM_ENTITIES, b->range.entity, b->error));
    }
    return b->is_loaded ? kg__aggregate_finish(&b->aggregate, b->grads, b->error) : KG_OK;
}

/* ---- The row ---- */

/* Rows of entities and relations are members of kg_params, since aggregators, ranking and the
 * exchange with other tools read them, too. What else there is to learn is the aggregator's. */
static kg_status count(kg_term_view *out, const kg_term_source *source, kg_error *error) {
    const kg_aggregator *aggregator = source->aggregate->aggregator;
    return aggregator->count == NULL ? KG_OK : aggregator->count(out, source, error);
}

static kg_status open(kg_term_view *out, kg_model *model, const char *path, kg_error *error) {
    const json_t *settings = json_object_get(model->config, "settings");
    const char *name = json_string_value(json_object_get(settings, "aggregate"));
    const kg_aggregator *aggregator = name == NULL ? NULL : kg__aggregator_find(name);
    return aggregator == NULL || aggregator->open == NULL
               ? KG_OK
               : aggregator->open(out, model, path, error);
}

static bool is_on(const kg_params *params) {
    return params->dim > 0;
}

static kg_status forward(kg_query_block *b, size_t number) {
    (void)number;
    KG_TRY(kg__query_block_load(b));
    for (size_t run = 0; run < b->run_count; run++)
        for (size_t i = b->runs[run].from; i < b->runs[run].to; i++)
            forward_query(b, run, i);
    return kg__candidates_multiply(b);
}

static kg_status backward(kg_query_block *b, size_t number) {
    (void)number;
    KG_TRY(kg__candidates_backward(b));
    kg__arena_reset(&b->worker->scratch); /* what only the way back needs is gone after it */
    b->arena = b->aggregate.arena = &b->worker->scratch;
    for (size_t run = 0; run < b->run_count; run++)
        for (size_t i = b->runs[run].from; i < b->runs[run].to; i++)
            KG_TRY(backward_query(b, run, i));
    return finish(b);
}

/* ---- The own candidates of queries ---- */

static kg_status forward_one(kg_query_block *b, size_t number, size_t run, size_t i) {
    (void)number;
    if (i == 0)
        KG_TRY(kg__query_block_load(b));
    forward_query(b, run, i);
    b->score += (double)kg__dot(b->vectors + i * b->dim,
                                kg__entity_row(b->params, b->queries[i].target.other), b->dim);
    return KG_OK;
}

/* y = a x */
KG_CLONES static void multiply(real *restrict y, real a, const real *restrict x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i];
}

static kg_status backward_one(kg_query_block *b, size_t number, size_t run, size_t i) {
    kg_id candidate = b->queries[i].target.other;
    real *g_row = NULL;
    (void)number;
    KG_TRY(kg__grads_add(b->grads, &g_row, KG_PARAM_ENTITIES, b->error));
    multiply(b->gradients + i * b->dim, (real)b->slope, kg__entity_row(b->params, candidate),
             b->dim);
    multiply(g_row, (real)b->slope, b->vectors + i * b->dim, b->dim);
    KG_TRY(kg__grads_send(b->grads, KG_PARAM_ENTITIES, candidate, b->error));
    KG_TRY(backward_query(b, run, i));
    return i + 1 < b->count ? KG_OK : finish(b);
}

extern const kg_term kg__term_embedding;

static size_t parts(kg_score_term *out, const kg_term_view *view) {
    (void)view;
    if (out != NULL)
        out[0] = (kg_score_term){.name = kg__term_embedding.name};
    return 1;
}

/* z is a sum over facts, and so is any score of it. */
static kg_status explain(kg_explain_use *use, size_t number, kg_error *error) {
    kg_embedder *embedder = &use->scorer->embedder;
    (void)number;
    (void)error;
    for (size_t i = 0; i < embedder->count; i++) {
        double part = kg__embedder_part(embedder, i, use->vector);
        kg__explanation_add(use->out, use->first, i, part);
        use->out->shares[i].weight = kg__embedder_weight(embedder, i);
        use->out->terms[use->first].part += part;
    }
    return KG_OK;
}

const kg_term kg__term_embedding = {
    .name = "embedding",
    .title = "its embedding",
    .is_on = is_on,
    .count = count,
    .open = open,
    .forward = forward,
    .backward = backward,
    .forward_one = forward_one,
    .backward_one = backward_one,
    .parts = parts,
    .explain = explain,
};
