/* The table of aggregators, and what they have in common: groups of links, and the way from
 * gradients on rows to those on entities and relations. */
#include "aggregate/aggregate.h"

#include <string.h>

#include "base/lower_bound.h"
#include "math/vector.h"

const char *const kg__ls_rows_names[] = {"normalized", "weighted", NULL};

/* All of them, each from the file that has its functions. */
#define AGGREGATORS(ROW) ROW(eavg) ROW(eravg) ROW(ls) ROW(ls_u) ROW(rgcn_d) ROW(graft) ROW(ials)

#define DECLARED(name) extern const kg_aggregator kg__aggregator_##name;
#define LISTED(name) &kg__aggregator_##name,

AGGREGATORS(DECLARED)
const kg_aggregator *const kg__aggregators[] = {AGGREGATORS(LISTED) NULL};

const kg_aggregator *kg__aggregator_find(const char *name) {
    for (const kg_aggregator *const *row = kg__aggregators; *row != NULL; row++)
        if (strcmp((*row)->name, name) == 0)
            return *row;
    return NULL;
}

static bool find_groups(kg_aggregate *a) {
    a->groups = kg__arena_take(a->arena, a->count + 1, sizeof *a->groups);
    if (a->groups == NULL)
        return false;
    for (size_t i = 0; i < a->count; i = kg__group_end(a->links, a->count, i))
        a->groups[a->group_count++] = (uint32_t)i;
    a->groups[a->group_count] = (uint32_t)a->count;
    return true;
}

static bool copy_asked(kg_aggregate *a, const kg_directed *asked) {
    a->asked = kg__arena_take(a->arena, a->asked_count, sizeof *a->asked);
    if (a->asked != NULL && a->asked_count > 0)
        memcpy(a->asked, asked, a->asked_count * sizeof *a->asked);
    return a->asked != NULL;
}

kg_status kg__aggregate_load(kg_aggregate *out, const kg_aggregate_options *options,
                             const kg_params *params, kg_arena *arena, const kg_aggregate_use *use,
                             kg_error *error) {
    *out = (kg_aggregate){.options = options,
                          .params = params,
                          .arena = arena,
                          .links = use->links,
                          .count = use->count,
                          .asked_count = use->asked_count};
    if (find_groups(out) && copy_asked(out, use->asked) &&
        (use->count == 0 || options->aggregator->load(out, use->most_left_out)))
        return KG_OK;
    return kg__fail_memory(error);
}

void kg__aggregate_ask(kg_aggregate *a, size_t question) {
    a->question = question;
}

void kg__aggregate_ask_another(kg_aggregate *a, kg_directed asked) {
    a->asked[0] = asked;
    a->question = 0;
    if (a->count > 0 && a->options->aggregator->ask != NULL)
        a->options->aggregator->ask(a, 0);
}

static bool is_empty(const kg_aggregate *a, kg_left_out left) {
    return left.count >= a->count;
}

void kg__aggregate_forward(kg_aggregate *a, real *z, kg_left_out left) {
    if (is_empty(a, left))
        memset(z, 0, a->params->dim * sizeof *z);
    else
        a->options->aggregator->forward(a, z, left);
}

kg_status kg__aggregate_backward(kg_aggregate *a, const real *g, kg_left_out left,
                                 kg_error *error) {
    bool good = is_empty(a, left) || a->options->aggregator->backward(a, g, left);
    return good ? KG_OK : kg__fail_memory(error);
}

void kg__aggregate_row(const kg_aggregate *a, real *row, size_t i) {
    kg_link link = a->links[i];
    const real *other = kg__entity_row(a->params, link.other);
    if (a->options->aggregator->is_of_ends)
        memcpy(row, other, a->params->dim * sizeof *row);
    else
        kg__fact_vector(a->params, row, link.directed, other);
}

size_t kg__aggregate_group(const kg_aggregate *a, size_t i) {
    return kg__lower_bound(a->groups, a->group_count, sizeof *a->groups, 0, (uint32_t)i + 1) - 1;
}

real *kg__aggregate_own(kg_aggregate *a, size_t i) {
    if (a->own == NULL)
        a->own = kg__arena_take_zeroed(a->arena, a->count, sizeof *a->own);
    if (a->own != NULL && a->own[i] == NULL)
        a->own[i] = kg__arena_take_zeroed(a->arena, a->params->dim, sizeof *a->own[i]);
    return a->own == NULL ? NULL : a->own[i];
}

/* ---- From rows to parameters ---- */

/* A gradient g on the sum of the rows of a directed relation's links, whose other ends add up to
 * `known`: one vector for all of these, and what it means for the relation. */
static kg_status send_back(const kg_aggregate *a, kg_grads *grads, kg_directed directed,
                           const real *known, const real *g, kg_error *error) {
    const kg_params *params = a->params;
    real *vector = NULL;
    if (!a->options->aggregator->is_of_ends) {
        real *relation = NULL;
        KG_TRY(kg__grads_sum(grads, &relation, kg__aggregate_relations_param(params),
                             kg__relation_number(params, directed), error));
        params->scoring->relation_gradient(relation, kg__aggregate_relation_row(params, directed),
                                           known, g, kg_directed_end(directed), params->dim);
    }
    KG_TRY(kg__grads_add(grads, &vector, KG_PARAM_ENTITIES, error));
    if (a->options->aggregator->is_of_ends)
        memcpy(vector, g, params->dim * sizeof *vector);
    else
        kg__fact_vector_adjoint(params, vector, directed, g);
    return KG_OK;
}

static kg_status finish_group(const kg_aggregate *a, kg_grads *grads, size_t group,
                              kg_error *error) {
    size_t from = a->groups[group];
    KG_TRY(send_back(a, grads, a->links[from].directed, a->group_sums + group * a->params->dim,
                     a->group_gradients + group * a->group_stride, error));
    for (size_t i = from; i < a->groups[group + 1]; i++)
        KG_TRY(kg__grads_send(grads, KG_PARAM_ENTITIES, a->links[i].other, error));
    return KG_OK;
}

static kg_status finish_own(const kg_aggregate *a, kg_grads *grads, kg_error *error) {
    for (size_t i = 0; i < a->count && a->own != NULL; i++) {
        if (a->own[i] == NULL)
            continue;
        kg_link link = a->links[i];
        KG_TRY(send_back(a, grads, link.directed, kg__entity_row(a->params, link.other), a->own[i],
                         error));
        KG_TRY(kg__grads_send(grads, KG_PARAM_ENTITIES, link.other, error));
    }
    return KG_OK;
}

kg_status kg__aggregate_finish(kg_aggregate *a, kg_grads *grads, kg_error *error) {
    if (a->count == 0)
        return KG_OK;
    KG_TRY(a->options->aggregator->finish(a, grads, error));
    for (size_t g = 0; g < a->group_count && a->group_gradients != NULL; g++)
        KG_TRY(finish_group(a, grads, g, error));
    return finish_own(a, grads, error);
}
