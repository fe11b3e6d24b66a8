/* Why, as far as evidence goes: what each feature adds to the score of an answer, and the facts and
 * counts that this comes from. */
#include "base/memory.h"
#include "infer/workspace.h"
#include "terms/features/reasons.h"

/* Only hints count; an answer that has none has nothing that speaks for it. */
static kg_status find_hint(kg_extractor *witness, kg_candidate_features *out, bool *found,
                           kg_id answer, kg_error *error) {
    kg_candidate_features hints[KG_MOST_CANDIDATES];
    size_t count = 0;
    *found = false;
    KG_TRY(kg__extractor_answer(witness, hints, KG_MOST_CANDIDATES, &count, KG_NO_FACT, error));
    for (size_t i = 0; i < count; i++)
        if (hints[i].entity == answer) {
            *found = true;
            *out = hints[i];
        }
    return KG_OK;
}

/* Divides a feature's part among the facts, as its phi is. */
static void divide(kg_contribution *out, kg_share *shares, kg_feature feature,
                   const double *through, size_t facts) {
    double phi = 0;
    for (size_t i = 0; i < facts; i++)
        phi += through[i];
    if (!(phi > 0)) {
        out->rest = out->part;
        return;
    }
    for (size_t i = 0; i < facts; i++) {
        shares[i].evidence[feature] = out->part * (through[i] / phi);
        shares[i].part += shares[i].evidence[feature];
    }
}

static kg_status tell_hint(kg_workspace *workspace, kg_contribution *out, kg_share *shares,
                           const kg_candidate_features *hint, const real *worth, kg_error *error) {
    kg_extractor *witness = &workspace->blend.witness;
    kg_reasons lists[KG_EXTRACTED_COUNT];
    double *through = kg__grow(workspace->through, &workspace->through_room,
                               KG_EXTRACTED_COUNT * witness->count, sizeof *through);
    if (through == NULL)
        return kg__fail_memory(error);
    workspace->through = through;
    for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++)
        lists[k] = (kg_reasons){.items = out[k].reasons,
                                .most = KG_MOST_REASONS,
                                .through = through + k * witness->count};
    kg__extractor_explain(witness, lists, hint->entity);
    for (kg_feature k = 0; k < KG_EXTRACTED_COUNT; k++) {
        out[k].part = (double)worth[k] * (double)hint->features[k] * (double)KG_FEATURE_UNIT;
        out[k].reason_count = lists[k].count;
        divide(&out[k], shares, k, lists[k].through, witness->count);
    }
    return KG_OK;
}

static bool knows(const kg_adjacency *graph, kg_id self, kg_link link) {
    size_t count = kg__adjacency_degree(graph, self);
    return kg__links_find(kg__adjacency_links(graph, self), count, link) < count;
}

/* Whether the answer has room does not depend on the subject's facts. */
static void tell_vacancy(const kg_features *evidence, kg_contribution *out, kg_id self,
                         kg_link asked, const real *worth) {
    const kg_degree_prior *vacancy = &evidence->vacancy;
    double value = (double)kg__degree_prior_of(vacancy, asked.directed, self, asked.other);
    size_t others = kg__degree_prior_facts(vacancy, asked.directed, asked.other);
    if (self != KG_NO_ID)
        others -= knows(evidence->graph, self, asked);
    double part = (double)worth[KG_DEGREE_PRIOR] * value;
    *out = (kg_contribution){.part = part, .rest = part, .reason_count = 1};
    out->reasons[0] = (kg_reason){.voter = KG_NO_ID, .hits = (double)others, .share = value};
}

kg_status kg__explain_features(kg_workspace *workspace, kg_contribution out[KG_FEATURE_COUNT],
                               kg_share *shares, kg_link asked, kg_error *error) {
    const kg_features *evidence = workspace->model->params.evidence;
    kg_candidate_features hint;
    bool is_hinted = false;
    for (size_t k = 0; k < KG_FEATURE_COUNT; k++)
        out[k] = (kg_contribution){0};
    if (evidence == NULL)
        return KG_OK;
    const real *worth = kg__features_weights_of(evidence, asked.directed);
    KG_TRY(find_hint(&workspace->blend.witness, &hint, &is_hinted, asked.other, error));
    if (is_hinted)
        KG_TRY(tell_hint(workspace, out, shares, &hint, worth, error));
    if (kg__feature_set_has(evidence->features, KG_DEGREE_PRIOR))
        tell_vacancy(evidence, &out[KG_DEGREE_PRIOR], workspace->blend.witness.self, asked, worth);
    return KG_OK;
}
