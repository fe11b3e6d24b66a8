/* The arrays that a batch's portions share. Those of questions are made for the largest batch; the
 * others grow with what a batch has. What is in them is not needed in the next, so they grow by
 * being made anew. */
#include "base/memory.h"
#include "train/ask.h"

static bool make_evidence(kg_ask_scene *s, size_t questions) {
    s->hinted = kg__resize(NULL, questions, KG_MOST_CANDIDATES * sizeof *s->hinted);
    s->hint_counts = kg__alloc(questions, sizeof *s->hint_counts);
    s->worth = kg__alloc(questions, KG_FEATURE_COUNT * sizeof *s->worth);
    return s->hinted != NULL && s->hint_counts != NULL && s->worth != NULL;
}

kg_status kg__ask_scene_open(kg_ask_scene *s, size_t questions, kg_error *error) {
    size_t row = s->params.dim;
    s->vectors = kg__alloc(questions, row * sizeof *s->vectors);
    s->z = kg__alloc(questions, row * sizeof *s->z);
    s->gradients = kg__alloc(questions, row * sizeof *s->gradients);
    s->is_kept = kg__alloc(questions, row * sizeof *s->is_kept);
    s->own_largest = kg__alloc(questions, sizeof *s->own_largest);
    s->own_sums = kg__alloc(questions, sizeof *s->own_sums);
    s->log_sums = kg__alloc(questions, sizeof *s->log_sums);
    s->answers = kg__alloc(questions, sizeof *s->answers);
    if (s->answers == NULL || (s->clues != NULL && !make_evidence(s, questions)))
        return kg__fail_memory(error);
    bool good = s->vectors != NULL && s->z != NULL && s->gradients != NULL && s->is_kept != NULL &&
                s->own_largest != NULL && s->own_sums != NULL && s->log_sums != NULL;
    return good ? KG_OK : kg__fail_memory(error);
}

static void free_groups(kg_ask_scene *s) {
    kg__free(s->groups);
    kg__free(s->sums);
    kg__free(s->queries);
}

static bool make_groups(kg_ask_scene *s, size_t count) {
    size_t row = s->params.dim * sizeof(real);
    free_groups(s);
    s->groups = kg__resize(NULL, count, sizeof *s->groups);
    s->sums = kg__resize(NULL, count, row);
    s->queries = kg__resize(NULL, count, row);
    return s->groups != NULL && s->sums != NULL && s->queries != NULL;
}

static void free_pairs(kg_ask_scene *s) {
    kg__free(s->weights);
    kg__free(s->echoes);
    kg__free(s->weighted);
    kg__free(s->echoing);
}

static bool make_pairs(kg_ask_scene *s, size_t count) {
    free_pairs(s);
    s->weights = kg__resize(NULL, count, sizeof *s->weights);
    s->echoes = kg__resize(NULL, count, sizeof *s->echoes);
    s->weighted = kg__resize(NULL, count, sizeof *s->weighted);
    s->echoing = kg__resize(NULL, count, sizeof *s->echoing);
    return s->weights != NULL && s->echoes != NULL && s->weighted != NULL && s->echoing != NULL;
}

static bool make_locals(kg_ask_scene *s, size_t count) {
    kg__free(s->locals);
    s->locals = kg__resize(NULL, count, sizeof *s->locals);
    return s->locals != NULL;
}

static bool make_scores(kg_ask_scene *s, size_t count) {
    kg__free(s->scores);
    s->scores = kg__resize(NULL, count, sizeof *s->scores);
    return s->scores != NULL;
}

static bool make_vacancies(kg_ask_scene *s, size_t count) {
    kg__free(s->vacancies);
    s->vacancies = kg__resize(NULL, count, sizeof *s->vacancies);
    return s->vacancies != NULL;
}

void kg__ask_scene_close(kg_ask_scene *s) {
    kg__free(s->vectors);
    kg__free(s->z);
    kg__free(s->gradients);
    kg__free(s->is_kept);
    kg__free(s->own_largest);
    kg__free(s->own_sums);
    kg__free(s->log_sums);
    free_groups(s);
    free_pairs(s);
    kg__free(s->locals);
    kg__free(s->answers);
    kg__free(s->scores);
    kg__free(s->hinted);
    kg__free(s->hint_counts);
    kg__free(s->vacancies);
    kg__free(s->worth);
}

static kg_status fit(kg_ask_scene *s, bool (*make)(kg_ask_scene *, size_t), size_t *capacity,
                     size_t needed, kg_error *error) {
    if (needed <= *capacity)
        return KG_OK;
    size_t wanted = needed < 2 * *capacity ? 2 * *capacity : needed;
    *capacity = 0;
    if (!make(s, wanted))
        return kg__fail_memory(error);
    *capacity = wanted;
    return KG_OK;
}

kg_status kg__ask_scene_fit(kg_ask_scene *s, const kg_inquiry *end, kg_error *error) {
    KG_TRY(fit(s, make_groups, &s->group_capacity, end->group, error));
    KG_TRY(fit(s, make_pairs, &s->pair_capacity, end->pair, error));
    KG_TRY(fit(s, make_locals, &s->local_capacity, end->local, error));
    KG_TRY(fit(s, make_vacancies, &s->vacancy_capacity, end->vacancy, error));
    return fit(s, make_scores, &s->score_capacity, end->score, error);
}
