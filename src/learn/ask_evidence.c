/* What evidence adds to the scores of a portion's own candidates: hints to those that they lead to,
 * and vacancies to all. */
#include "learn/asking.h"
#include "math/vector.h"

static bool has_vacancies(const kg_asking *a) {
    return kg_features_have(a->tables->evidence->features, KG_VACANCY);
}

static void add_hints(const kg_asking *a, size_t i) {
    const real *worth = kg_evidence_worth(a->tables->evidence, a->asked[i].directed);
    real *scores = a->scores + i * a->inquiry->local_count;
    for (size_t k = 0; k < a->hint_counts[i]; k++) {
        const kg_clue *clue = &a->hinted[i * KG_MOST_HINTS + k];
        scores[clue->local] += kg_hint_score(&clue->hint, worth);
    }
}

static void add_vacancies(const kg_asking *a, const kg_asked_run *run) {
    const kg_evidence *evidence = a->tables->evidence;
    size_t locals = a->inquiry->local_count;
    real worth = kg_evidence_worth(evidence, run->directed)[KG_VACANCY];
    real *vacancies = a->vacancies + run->number * locals;
    for (size_t j = 0; j < locals; j++)
        vacancies[j] = kg_vacancy_of(&evidence->vacancy, run->directed, a->inquiry->portion.entity,
                                     a->locals[j].entity);
    for (size_t i = run->from; i < run->to; i++)
        kg_add_scaled(a->scores + i * locals, worth, vacancies, locals);
}

void kg_ask_evidence(const kg_asking *a) {
    for (size_t i = 0; i < a->question_count; i++)
        add_hints(a, i);
    for (kg_asked_run run = {0}; has_vacancies(a) && kg_asked_next(a, &run);)
        add_vacancies(a, &run);
}

static void turn_hints(const kg_asking *a, size_t i) {
    real *worth = a->worth + i * KG_FEATURE_COUNT;
    const real *shares = a->scores + i * a->inquiry->local_count;
    for (size_t k = 0; k < KG_FEATURE_COUNT; k++)
        worth[k] = 0;
    for (size_t n = 0; n < a->hint_counts[i]; n++) {
        const kg_clue *clue = &a->hinted[i * KG_MOST_HINTS + n];
        real share = shares[clue->local] * KG_HINT_UNIT;
        for (size_t k = 0; k < KG_GATHERED_COUNT; k++)
            worth[k] += share * (real)clue->hint.features[k];
    }
}

void kg_ask_evidence_back(const kg_asking *a) {
    size_t locals = a->inquiry->local_count;
    for (size_t i = 0; i < a->question_count; i++)
        turn_hints(a, i);
    for (kg_asked_run run = {0}; has_vacancies(a) && kg_asked_next(a, &run);)
        for (size_t i = run.from; i < run.to; i++)
            a->worth[i * KG_FEATURE_COUNT + KG_VACANCY] =
                kg_dot(a->scores + i * locals, a->vacancies + run.number * locals, locals);
}
