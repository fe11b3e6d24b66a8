/* The features term: what counts over the graph add to a candidate's score. For each query, some
 * candidates have features of their own (features/extractor.h), and all have a degree prior
 * (features/degree_prior.h); the asked relation's row of weights says what each adds. */
#include <string.h>

#include "math/vector.h"
#include "terms/query_block.h"

struct features {
    const kg_candidate_features *list; /* one query after the other */
    const uint8_t *counts;             /* of each query */
    uint32_t *places;                  /* of each of the list: its place among the candidates */
    real *priors;                      /* runs x candidates */
};

static bool is_on(const kg_step_context *context) {
    return context->features != NULL;
}

static bool has_priors(const kg_query_block *b) {
    return kg__feature_set_has(b->params->features->enabled, KG_DEGREE_PRIOR);
}

static size_t count_all(const kg_query_block *b, const uint8_t *counts) {
    size_t total = 0;
    for (size_t i = 0; i < b->count; i++)
        total += counts[i];
    return total;
}

/* Copies what the reader will overwrite. */
static bool keep(kg_query_block *b, struct features *f) {
    size_t total = count_all(b, f->counts);
    f->places = kg__arena_take(b->arena, total, sizeof *f->places);
    if (f->list != b->worker->reader.features)
        return f->places != NULL;
    kg_candidate_features *list = kg__arena_take(b->arena, total, sizeof *list);
    uint8_t *counts = kg__arena_take(b->arena, b->count, sizeof *counts);
    if (f->places == NULL || list == NULL || counts == NULL)
        return false;
    memcpy(list, f->list, total * sizeof *list);
    memcpy(counts, f->counts, b->count * sizeof *counts);
    f->list = list;
    f->counts = counts;
    return true;
}

static kg_status prepare(kg_query_block *b) {
    struct features *f = kg__arena_take(b->arena, 1, sizeof *f);
    size_t from = kg__links_find(b->links, b->link_count, b->queries[0].asked);
    kg_fact_range range = {b->range.entity, (uint32_t)from, (uint32_t)(from + b->count),
                           b->range.number};
    b->features = f;
    if (f == NULL)
        return kg__fail_memory(b->error);
    KG_TRY(kg__feature_cache_read(b->context->features, &b->worker->reader, &range, &f->list,
                                  &f->counts, b->error));
    return keep(b, f) ? KG_OK : kg__fail_memory(b->error);
}

static size_t most_candidates(const kg_query_block *b) {
    const struct features *f = b->features;
    return count_all(b, f->counts);
}

static void touch(const kg_query_block *b, void (*touch_entity)(void *payload, kg_id entity),
                  void *payload) {
    const struct features *f = b->features;
    for (size_t i = 0; i < count_all(b, f->counts); i++)
        touch_entity(payload, f->list[i].entity);
}

static void propose(kg_query_block *b) {
    const struct features *f = b->features;
    size_t total = count_all(b, f->counts);
    for (size_t i = 0; i < total; i++)
        f->places[i] = kg__candidates_add(
            b, (kg_block_candidate){.entity = f->list[i].entity, .is_negative = true});
}

/* ---- Forward ---- */

static void add_priors(kg_query_block *b, struct features *f, size_t run) {
    const kg_features *counted = b->params->features;
    kg_directed asked = b->runs[run].asked;
    size_t count = b->candidate_count;
    real weight = kg__features_weights_of(counted, asked)[KG_DEGREE_PRIOR];
    real *priors = f->priors + run * count;
    for (size_t j = 0; j < count; j++)
        priors[j] = kg__degree_prior_of(&counted->degree_prior, asked, b->range.entity,
                                        b->candidates[j].entity);
    for (size_t i = b->runs[run].from; i < b->runs[run].to; i++)
        kg__add_scaled(b->scores + i * count, weight, priors, count);
}

static kg_status forward(kg_query_block *b) {
    struct features *f = b->features;
    size_t next = 0;
    for (size_t i = 0; i < b->count; i++) {
        const real *weights =
            kg__features_weights_of(b->params->features, b->queries[i].asked.directed);
        real *scores = b->scores + i * b->candidate_count;
        for (size_t k = 0; k < f->counts[i]; k++, next++)
            scores[f->places[next]] += kg__candidate_features_score(&f->list[next], weights);
    }
    if (!has_priors(b))
        return KG_OK;
    f->priors = kg__arena_take(b->arena, b->run_count, b->candidate_count * sizeof *f->priors);
    if (f->priors == NULL)
        return kg__fail_memory(b->error);
    for (size_t run = 0; run < b->run_count; run++)
        add_priors(b, f, run);
    return KG_OK;
}

/* ---- Backward ---- */

/* Adds what the candidates of query i with features mean for the weights. */
static void add_features(const kg_query_block *b, real *sum, size_t i, size_t next) {
    const struct features *f = b->features;
    const real *g = b->scores + i * b->candidate_count;
    for (size_t n = next; n < next + f->counts[i]; n++) {
        real share = g[f->places[n]] * KG_FEATURE_UNIT;
        for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++)
            sum[k] += share * (real)f->list[n].features[k];
    }
}

static kg_status backward(kg_query_block *b) {
    const struct features *f = b->features;
    size_t next = 0;
    for (size_t run = 0; run < b->run_count; run++) {
        real *sum = NULL;
        KG_TRY(kg__grads_sum(b->grads, &sum, b->context->features_param, b->runs[run].asked,
                             b->error));
        for (size_t i = b->runs[run].from; i < b->runs[run].to; i++) {
            add_features(b, sum, i, next);
            next += f->counts[i];
            if (has_priors(b))
                sum[KG_DEGREE_PRIOR] +=
                    kg__dot(b->scores + i * b->candidate_count,
                            f->priors + run * b->candidate_count, b->candidate_count);
        }
    }
    return KG_OK;
}

const kg_term kg__term_features = {
    .name = "features",
    .is_on = is_on,
    .prepare = prepare,
    .most_candidates = most_candidates,
    .touch = touch,
    .propose = propose,
    .forward = forward,
    .backward = backward,
};
