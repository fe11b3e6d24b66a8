/* What each feature adds to the score of an answer, and the facts and counts that this comes from.
 */
#include "base/memory.h"
#include "infer/workspace.h"
#include "terms/features/reasons.h"

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
static void divide(const kg_explanation *out, size_t term, const double *through, size_t facts) {
    kg_score_term *score_term = &out->terms[term];
    double phi = 0;
    for (size_t i = 0; i < facts; i++)
        phi += through[i];
    if (!(phi > 0)) {
        score_term->rest = score_term->part;
        return;
    }
    for (size_t i = 0; i < facts; i++) {
        double part = score_term->part * (through[i] / phi);
        double *row = kg__explanation_row(out, i);
        out->shares[i].part += part;
        if (row != NULL)
            row[term] = part;
    }
}

/* The terms of a model's features, in their order; of those that it does not have, none. */
#define NO_TERM SIZE_MAX
static void find_terms(size_t terms[KG_FEATURE_COUNT], const kg_explanation *out,
                       kg_feature_set features) {
    size_t next = 0;
    while (next < out->term_count && !out->terms[next].is_evidence)
        next++;
    for (kg_feature k = 0; k < KG_FEATURE_COUNT; k++)
        terms[k] = kg__feature_set_has(features, k) ? next++ : NO_TERM;
}

/* The most reasons of a term. */
static size_t reason_room(const kg_explanation *out) {
    return out->reasons == NULL ? 0 : out->reason_capacity / out->term_count;
}

/* Reasons are found in lists of equal length; here those of a term move up to those of the terms
 * before it. */
static void list_reasons(kg_explanation *out, size_t term, const kg_reasons *list) {
    size_t listed = list->count < list->most ? list->count : list->most;
    for (size_t i = 0; i < listed; i++) {
        out->reasons[out->reason_count] = list->items[i];
        out->reasons[out->reason_count++].term = term;
    }
}

static kg_status explain_candidate(kg_explanation *out, kg_workspace *workspace,
                                   const size_t terms[KG_FEATURE_COUNT],
                                   const kg_candidate_features *candidate, const real *weights,
                                   kg_error *error) {
    kg_extractor *extractor = &workspace->embedder.extractor;
    kg_reasons lists[KG_EXTRACTED_COUNT];
    double *through = kg__grow(workspace->through, &workspace->through_room,
                               KG_EXTRACTED_COUNT * extractor->count, sizeof *through);
    if (through == NULL)
        return kg__fail_memory(error);
    workspace->through = through;
    size_t room = reason_room(out);
    for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++) {
        bool is_listed = terms[k] != NO_TERM && room > 0;
        lists[k] = (kg_reasons){.items = is_listed ? out->reasons + terms[k] * room : NULL,
                                .most = is_listed ? room : 0,
                                .through = through + k * extractor->count};
    }
    kg__extractor_explain(extractor, lists, candidate->entity);
    for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++) {
        if (terms[k] == NO_TERM)
            continue;
        kg_score_term *score_term = &out->terms[terms[k]];
        score_term->part =
            (double)weights[k] * (double)candidate->features[k] * (double)KG_FEATURE_UNIT;
        score_term->reason_count = lists[k].count;
        divide(out, terms[k], lists[k].through, extractor->count);
        list_reasons(out, terms[k], &lists[k]);
    }
    return KG_OK;
}

static bool knows(const kg_adjacency *graph, kg_id self, kg_link link) {
    size_t count = kg__adjacency_degree(graph, self);
    return kg__links_find(kg__adjacency_links(graph, self), count, link) < count;
}

/* The degree prior of the answer does not depend on the subject's facts. */
static void explain_degree_prior(kg_explanation *out, const kg_features *evidence, size_t term,
                                 kg_id self, kg_link target, const real *weights) {
    const kg_degree_prior *prior = &evidence->degree_prior;
    double value = (double)kg__degree_prior_of(prior, target.directed, self, target.other);
    size_t others = kg__degree_prior_facts(prior, target.directed, target.other);
    if (self != KG_NO_ID)
        others -= knows(evidence->graph, self, target);
    kg_score_term *score_term = &out->terms[term];
    score_term->part = (double)weights[KG_DEGREE_PRIOR] * value;
    score_term->rest = score_term->part;
    score_term->reason_count = 1;
    if (reason_room(out) > 0)
        out->reasons[out->reason_count++] =
            (kg_reason){.term = term, .voter = KG_NO_ID, .hits = (double)others, .share = value};
}

kg_status kg__explain_features(kg_explanation *out, kg_workspace *workspace, kg_link target,
                               kg_error *error) {
    const kg_features *evidence = workspace->model->params.features;
    kg_candidate_features candidate;
    bool is_found = false;
    size_t terms[KG_FEATURE_COUNT];
    if (evidence == NULL)
        return KG_OK;
    find_terms(terms, out, evidence->enabled);
    const real *weights = kg__features_weights_of(evidence, target.directed);
    KG_TRY(
        find_candidate(&workspace->embedder.extractor, &candidate, &is_found, target.other, error));
    if (is_found)
        KG_TRY(explain_candidate(out, workspace, terms, &candidate, weights, error));
    if (terms[KG_DEGREE_PRIOR] != NO_TERM)
        explain_degree_prior(out, evidence, terms[KG_DEGREE_PRIOR],
                             workspace->embedder.extractor.self, target, weights);
    return KG_OK;
}
