/* Scores of one entity's queries: each term in turn, and the offsets of all merged by candidate. */
#include "terms/scorer.h"

#include <string.h>

#include "base/memory.h"
#include "base/radix_sort.h"

static bool is_on(const kg_scorer *s, size_t term) {
    return kg__term_is_on(&s->embedder.params, term);
}

kg_status kg__scorer_open(kg_scorer *s, kg_aggregate_options options, const kg_params *params,
                          kg_error *error) {
    *s = (kg_scorer){.self = KG_NO_ID};
    kg__embedder_open(&s->embedder, options, *params);
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (is_on(s, i) && kg__terms[i]->open_state != NULL)
            KG_TRY(kg__terms[i]->open_state(&s->states[i], &params->terms[i], error));
    return KG_OK;
}

void kg__scorer_close(kg_scorer *s) {
    kg__embedder_close(&s->embedder);
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (s->states[i] != NULL)
            kg__terms[i]->close_state(s->states[i]);
    memset(s->states, 0, sizeof s->states);
}

kg_status kg__scorer_move(kg_scorer *s, const kg_params *params, kg_error *error) {
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (s->states[i] != NULL && kg__terms[i]->move_state != NULL)
            KG_TRY(kg__terms[i]->move_state(s->states[i], &params->terms[i], error));
    s->embedder.params = *params;
    return kg__scorer_load(s, KG_NO_ID, NULL, 0, error);
}

kg_status kg__scorer_load(kg_scorer *s, kg_id self, const kg_link *links, size_t count,
                          kg_error *error) {
    s->self = self;
    return kg__embedder_load(&s->embedder, links, count, error);
}

void kg__scorer_set_query(kg_scorer *s, kg_directed query) {
    kg__embedder_set_query(&s->embedder, query);
}

/* ---- Offsets ---- */

void kg__score_offsets_free(kg_score_offsets *offsets) {
    kg__free(offsets->items);
    *offsets = (kg_score_offsets){0};
}

kg_status kg__score_offsets_reserve(kg_score_offsets *offsets, size_t more, kg_error *error) {
    if (more <= offsets->capacity - offsets->count)
        return KG_OK;
    kg_score_offset *items =
        kg__grow(offsets->items, &offsets->capacity, offsets->count + more, sizeof *items);
    if (items == NULL)
        return kg__fail_memory(error);
    offsets->items = items;
    return KG_OK;
}

kg_status kg__score_offsets_add(kg_score_offsets *offsets, kg_id entity, double value,
                                kg_error *error) {
    KG_TRY(kg__score_offsets_reserve(offsets, 1, error));
    offsets->items[offsets->count++] = (kg_score_offset){entity, value};
    return KG_OK;
}

/* Those of one entity add up, from the least: the same sum whatever the order of the links. */
static size_t merge_offsets(kg_score_offset *offsets, size_t count) {
    size_t merged = 0;
    for (size_t from = 0, to = 0; from < count; from = to) {
        kg_id entity = offsets[from].entity;
        for (to = from + 1; to < count && offsets[to].entity == entity; to++)
            for (size_t i = to; i > from && offsets[i].value < offsets[i - 1].value; i--) {
                kg_score_offset less = offsets[i];
                offsets[i] = offsets[i - 1];
                offsets[i - 1] = less;
            }
        double sum = offsets[from].value;
        for (size_t i = from + 1; i < to; i++)
            sum += offsets[i].value;
        offsets[merged++] = (kg_score_offset){entity, sum};
    }
    return merged;
}

size_t kg__scorer_most_offsets(const kg_scorer *s, size_t links) {
    size_t most = 0;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (is_on(s, i) && kg__terms[i]->most_offsets != NULL)
            most += kg__terms[i]->most_offsets(links);
    return most;
}

kg_status kg__scorer_offsets(kg_scorer *s, kg_score_offsets *offsets, size_t left_out,
                             kg_error *error) {
    size_t before = offsets->count;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (is_on(s, i) && kg__terms[i]->offsets != NULL)
            KG_TRY(kg__terms[i]->offsets(s, i, offsets, left_out, error));
    size_t count = offsets->count - before;
    KG_TRY(kg__score_offsets_reserve(offsets, count, error));
    if (count == 0)
        return KG_OK;
    kg_score_offset *added = offsets->items + before;
    kg__radix_sort(added, added + count, count, sizeof *added, offsetof(kg_score_offset, entity));
    offsets->count = before + merge_offsets(added, count);
    return KG_OK;
}

/* ---- Explanation ---- */

void kg__explanation_add(kg_explanation *out, size_t part, size_t fact, double value) {
    double *row = kg__explanation_row(out, fact);
    out->shares[fact].part += value;
    if (row != NULL)
        row[part] = value;
}

kg_status kg__scorer_explain(kg_explain_use *use, kg_error *error) {
    const kg_embedder *embedder = &use->scorer->embedder;
    kg_explanation *out = use->out;
    for (size_t i = 0; i < embedder->count; i++) {
        double *row = kg__explanation_row(out, i);
        out->shares[i] = (kg_share){.link = embedder->links[i]};
        if (row != NULL)
            memset(row, 0, out->term_count * sizeof *row);
    }
    use->first = 0;
    for (size_t i = 0; kg__terms[i] != NULL; i++) {
        if (kg__terms[i]->parts == NULL)
            continue;
        if (is_on(use->scorer, i))
            KG_TRY(kg__terms[i]->explain(use, i, error));
        use->first += kg__terms[i]->parts(NULL, &embedder->params.terms[i]);
    }
    out->score = 0;
    for (size_t i = 0; i < out->term_count; i++)
        out->score += out->terms[i].part;
    return KG_OK;
}
