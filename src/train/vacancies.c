/* Kinds of questions, and a row for each. */
#include "train/vacancies.h"

#include "base/memory.h"

kg_status kg__vacancies_open(kg_vacancies *v, const kg_features *evidence, size_t most_questions,
                             kg_error *error) {
    size_t directed_count = evidence->rules.directed_count;
    *v = (kg_vacancies){0};
    if (!kg__feature_set_has(evidence->features, KG_DEGREE_PRIOR))
        return KG_OK;
    v->evidence = evidence;
    v->asked = kg__alloc(directed_count, sizeof *v->asked);
    v->kind_of = kg__alloc(directed_count, sizeof *v->kind_of);
    v->kinds = kg__alloc(most_questions, sizeof *v->kinds);
    v->worths = kg__alloc(most_questions, sizeof *v->worths);
    v->gradients = kg__alloc(most_questions, sizeof *v->gradients);
    if (v->asked == NULL || v->kind_of == NULL || v->kinds == NULL || v->worths == NULL ||
        v->gradients == NULL) {
        kg__vacancies_close(v);
        return kg__fail_memory(error);
    }
    for (size_t i = 0; i < directed_count; i++)
        v->kind_of[i] = KG_NO_ID;
    return KG_OK;
}

void kg__vacancies_close(kg_vacancies *v) {
    kg__free(v->asked);
    kg__free(v->kind_of);
    kg__free(v->kinds);
    kg__free(v->worths);
    kg__free(v->gradients);
    *v = (kg_vacancies){0};
}

static void forget_kinds(kg_vacancies *v) {
    for (size_t kind = 0; kind < v->asked_count; kind++)
        v->kind_of[v->asked[kind]] = KG_NO_ID;
    v->asked_count = 0;
}

void kg__vacancies_take(kg_vacancies *v, const kg_directed *questions, size_t question_count,
                        const kg_id *negatives) {
    if (v->evidence == NULL)
        return;
    forget_kinds(v);
    v->negatives = negatives;
    for (size_t i = 0; i < question_count; i++) {
        uint32_t *kind = &v->kind_of[questions[i]];
        if (*kind == KG_NO_ID) {
            *kind = (uint32_t)v->asked_count;
            v->asked[v->asked_count++] = questions[i];
        }
        v->kinds[i] = *kind;
        v->worths[i] = kg__features_weights_of(v->evidence, questions[i])[KG_DEGREE_PRIOR];
    }
}

void kg__vacancies_fill(const void *payload, real *out, size_t from, size_t some) {
    const kg_vacancies *v = payload;
    kg__degree_prior_fill(&v->evidence->vacancy, out, v->asked, v->asked_count, v->kind_of,
                          v->negatives + from, some);
}
