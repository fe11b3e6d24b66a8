/* What evidence adds to the scores of a portion's own candidates: hints to those that they lead to,
 * and vacancies to all. */
#include "math/vector.h"
#include "train/asking.h"

static bool has_vacancies(const kg_asking *a) {
    return kg__feature_set_has(a->params->evidence->features, KG_DEGREE_PRIOR);
}

static void add_hints(const kg_asking *a, size_t i) {
    const real *worth = kg__features_weights_of(a->params->evidence, a->asked[i].directed);
    real *scores = a->scores + i * a->inquiry->local_count;
    for (size_t k = 0; k < a->hint_counts[i]; k++) {
        const kg_clue *clue = &a->hinted[i * KG_MOST_CANDIDATES + k];
        scores[clue->local] += kg__candidate_features_score(&clue->hint, worth);
    }
}

static void add_vacancies(const kg_asking *a, const kg_asked_run *run) {
    const kg_features *evidence = a->params->evidence;
    size_t locals = a->inquiry->local_count;
    real worth = kg__features_weights_of(evidence, run->directed)[KG_DEGREE_PRIOR];
    real *vacancies = a->vacancies + run->number * locals;
    for (size_t j = 0; j < locals; j++)
        vacancies[j] = kg__degree_prior_of(&evidence->vacancy, run->directed,
                                           a->inquiry->portion.entity, a->locals[j].entity);
    for (size_t i = run->from; i < run->to; i++)
        kg__add_scaled(a->scores + i * locals, worth, vacancies, locals);
}

void kg__ask_evidence(const kg_asking *a) {
    for (size_t i = 0; i < a->question_count; i++)
        add_hints(a, i);
    for (kg_asked_run run = {0}; has_vacancies(a) && kg__asked_next(a, &run);)
        add_vacancies(a, &run);
}

static void turn_hints(const kg_asking *a, size_t i) {
    real *worth = a->worth + i * KG_FEATURE_COUNT;
    const real *shares = a->scores + i * a->inquiry->local_count;
    for (size_t k = 0; k < KG_FEATURE_COUNT; k++)
        worth[k] = 0;
    for (size_t n = 0; n < a->hint_counts[i]; n++) {
        const kg_clue *clue = &a->hinted[i * KG_MOST_CANDIDATES + n];
        real share = shares[clue->local] * KG_FEATURE_UNIT;
        for (size_t k = 0; k < KG_EXTRACTED_COUNT; k++)
            worth[k] += share * (real)clue->hint.features[k];
    }
}

void kg__ask_evidence_back(const kg_asking *a) {
    size_t locals = a->inquiry->local_count;
    for (size_t i = 0; i < a->question_count; i++)
        turn_hints(a, i);
    for (kg_asked_run run = {0}; has_vacancies(a) && kg__asked_next(a, &run);)
        for (size_t i = run.from; i < run.to; i++)
            a->worth[i * KG_FEATURE_COUNT + KG_DEGREE_PRIOR] =
                kg__dot(a->scores + i * locals, a->vacancies + run.number * locals, locals);
}
