/* The features term for answers: score offsets by an extractor, and what each feature adds to the
 * score of an answer, with the facts and counts that this comes from. */
#include "base/memory.h"
#include "terms/feature_term.h"
#include "terms/features/reasons.h"
#include "terms/scorer.h"

struct state {
    kg_extractor extractor;
    double *through; /* KG_EXTRACTED_COUNT x facts: what each contributes to the features */
    size_t through_capacity;
};

kg_status kg__feature_state_open(void **out, const kg_term_view *view, kg_error *error) {
    struct state *state = *out = kg__alloc(1, sizeof *state);
    if (state == NULL)
        return kg__fail_memory(error);
    kg__extractor_open(&state->extractor, kg__feature_view_counted(view));
    return KG_OK;
}

void kg__feature_state_close(void *opened) {
    struct state *state = opened;
    kg__extractor_close(&state->extractor);
    kg__free(state->through);
    kg__free(state);
}

kg_status kg__feature_state_load(kg_scorer *s, size_t number, kg_error *error) {
    struct state *state = s->states[number];
    return kg__extractor_load(&state->extractor, s->self, s->embedder.links, s->embedder.count,
                              error);
}

/* What it has extracted serves the next query with the same relation. */
void kg__feature_state_set_query(kg_scorer *s, size_t number) {
    struct state *state = s->states[number];
    if (state->extractor.query != s->embedder.query)
        kg__extractor_set_query(&state->extractor, s->embedder.query);
}

/* ---- Offsets ---- */

/* Degree priors are part of all scores (rank/candidate_blocks.h), as for a new entity. One of the
 * graph's has answers there, which would have one fact less without it. */
static kg_status add_own_answers(const kg_scorer *s, const kg_term_view *view,
                                 kg_score_offsets *out, kg_error *error) {
    const kg_degree_prior *prior = kg__feature_view_prior(view);
    const kg_adjacency *graph = kg__feature_view_counted(view)->graph;
    kg_directed query = s->embedder.query;
    size_t count = 0;
    if (s->self == KG_NO_ID || prior == NULL)
        return KG_OK;
    const kg_link *links = kg__links_run(kg__adjacency_links(graph, s->self),
                                         kg__adjacency_degree(graph, s->self), query, &count);
    double weight = (double)kg__feature_weights(view, query)[KG_DEGREE_PRIOR];
    for (size_t i = 0; i < count; i++) {
        kg_id answer = links[i].other;
        real with = kg__degree_prior_of(prior, query, KG_NO_ID, answer);
        real without = kg__degree_prior_of(prior, query, s->self, answer);
        if (with != without)
            KG_TRY(kg__score_offsets_add(out, answer, weight * ((double)without - (double)with),
                                         error));
    }
    return KG_OK;
}

kg_status kg__feature_offsets(kg_scorer *s, size_t number, kg_score_offsets *out, size_t left_out,
                              kg_error *error) {
    const kg_term_view *view = &s->embedder.params.terms[number];
    struct state *state = s->states[number];
    const real *weights = kg__feature_weights(view, s->embedder.query);
    kg_candidate_features candidates[KG_MOST_CANDIDATES];
    size_t count = 0;
    KG_TRY(kg__extractor_candidates(&state->extractor, candidates, KG_MOST_CANDIDATES, &count,
                                    left_out, error));
    for (size_t i = 0; i < count; i++)
        KG_TRY(kg__score_offsets_add(out, candidates[i].entity,
                                     (double)kg__candidate_features_score(&candidates[i], weights),
                                     error));
    return add_own_answers(s, view, out, error);
}

/* ---- Explanation ---- */

/* An answer that is not among the candidates has no features. */
static kg_status find_candidate(kg_extractor *extractor, kg_candidate_features *out, bool *found,
                                kg_id answer, kg_error *error) {
    kg_candidate_features candidates[KG_MOST_CANDIDATES];
    size_t count = 0;
    *found = false;
    KG_TRY(kg__extractor_candidates(extractor, candidates, KG_MOST_CANDIDATES, &count, KG_NO_FACT,
                                    error));
    for (size_t i = 0; i < count; i++)
        if (candidates[i].entity == answer) {
            *found = true;
            *out = candidates[i];
        }
    return KG_OK;
}

/* Divides a feature's part among the facts, as its phi is. */
static void divide(kg_explanation *out, size_t part, const double *through, size_t facts) {
    kg_score_term *term = &out->terms[part];
    double phi = 0;
    for (size_t i = 0; i < facts; i++)
        phi += through[i];
    if (!(phi > 0)) {
        term->rest = term->part;
        return;
    }
    for (size_t i = 0; i < facts; i++)
        kg__explanation_add(out, part, i, term->part * (through[i] / phi));
}

/* The most reasons of a part. */
static size_t most_reasons(const kg_explanation *out) {
    return out->reasons == NULL ? 0 : out->reason_capacity / out->term_count;
}

/* Reasons are found in lists of equal length; here those of a part move up to those of the parts
 * before it. */
static void list_reasons(kg_explanation *out, size_t part, const kg_reasons *list) {
    size_t listed = list->count < list->most ? list->count : list->most;
    for (size_t i = 0; i < listed; i++) {
        out->reasons[out->reason_count] = list->items[i];
        out->reasons[out->reason_count++].term = part;
    }
}

/* Features that are not enabled have no part. */
#define NO_PART SIZE_MAX

static kg_status explain_candidate(kg_explanation *out, struct state *state,
                                   const size_t parts[KG_FEATURE_COUNT],
                                   const kg_candidate_features *candidate, const real *weights,
                                   kg_error *error) {
    kg_extractor *extractor = &state->extractor;
    kg_reasons lists[KG_EXTRACTED_COUNT];
    double *through = kg__grow(state->through, &state->through_capacity,
                               KG_EXTRACTED_COUNT * extractor->count, sizeof *through);
    if (through == NULL)
        return kg__fail_memory(error);
    state->through = through;
    size_t most = most_reasons(out);
    for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++) {
        bool is_listed = parts[k] != NO_PART && most > 0;
        lists[k] = (kg_reasons){.items = is_listed ? out->reasons + parts[k] * most : NULL,
                                .most = is_listed ? most : 0,
                                .through = through + k * extractor->count};
    }
    kg__extractor_explain(extractor, lists, candidate->entity);
    for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++) {
        if (parts[k] == NO_PART)
            continue;
        kg_score_term *term = &out->terms[parts[k]];
        term->part = (double)weights[k] * (double)candidate->features[k] * (double)KG_FEATURE_UNIT;
        term->reason_count = lists[k].count;
        divide(out, parts[k], lists[k].through, extractor->count);
        list_reasons(out, parts[k], &lists[k]);
    }
    return KG_OK;
}

static bool knows(const kg_adjacency *graph, kg_id self, kg_link link) {
    size_t count = kg__adjacency_degree(graph, self);
    return kg__links_find(kg__adjacency_links(graph, self), count, link) < count;
}

/* The degree prior of the answer does not depend on the entity's facts. */
static void explain_degree_prior(const kg_explain_use *use, const kg_features *features,
                                 size_t part, real weight) {
    const kg_degree_prior *prior = &features->degree_prior;
    kg_link target = use->target;
    kg_id self = use->scorer->self;
    kg_explanation *out = use->out;
    double value = (double)kg__degree_prior_of(prior, target.directed, self, target.other);
    size_t others = kg__degree_prior_facts(prior, target.directed, target.other);
    if (self != KG_NO_ID)
        others -= knows(features->graph, self, target);
    kg_score_term *term = &out->terms[part];
    term->part = (double)weight * value;
    term->rest = term->part;
    term->reason_count = 1;
    if (most_reasons(out) > 0)
        out->reasons[out->reason_count++] =
            (kg_reason){.term = part, .voter = KG_NO_ID, .hits = (double)others, .share = value};
}

kg_status kg__feature_explain(kg_explain_use *use, size_t number, kg_error *error) {
    const kg_term_view *view = &use->scorer->embedder.params.terms[number];
    const kg_features *features = kg__feature_view_counted(view);
    const real *weights = kg__feature_weights(view, use->target.directed);
    struct state *state = use->scorer->states[number];
    kg_candidate_features candidate;
    bool is_found = false;
    size_t parts[KG_FEATURE_COUNT];
    size_t next = use->first;
    for (kg_feature k = 0; k < KG_FEATURE_COUNT; k++)
        parts[k] = kg__feature_set_has(features->enabled, k) ? next++ : NO_PART;
    KG_TRY(find_candidate(&state->extractor, &candidate, &is_found, use->target.other, error));
    if (is_found)
        KG_TRY(explain_candidate(use->out, state, parts, &candidate, weights, error));
    if (parts[KG_DEGREE_PRIOR] != NO_PART)
        explain_degree_prior(use, features, parts[KG_DEGREE_PRIOR], weights[KG_DEGREE_PRIOR]);
    return KG_OK;
}
