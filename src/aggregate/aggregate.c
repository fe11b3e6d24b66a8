/* The table of aggregators, and what they have in common: groups of links, and the way from
 * gradients on rows to those on entities and relations. */
#include "aggregate/aggregate.h"

#include <string.h>

#include "base/lower_bound.h"
#include "base/text.h"
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

kg_aggregator_names kg__aggregators_list(kg_aggregator_set set) {
    const char *names[sizeof kg__aggregators / sizeof(void *)] = {NULL};
    kg_aggregator_names out = {""};
    size_t count = 0;
    for (size_t i = 0; kg__aggregators[i] != NULL; i++) {
        const kg_aggregator *row = kg__aggregators[i];
        bool is_of_facts = !row->is_encoder && (set != KG_WITHOUT_PARAMS || row->open == NULL);
        if (set == KG_OF_ENCODER ? row->is_encoder : is_of_facts)
            names[count++] = row->name;
    }
    kg__join_names(out.text, sizeof out.text, names, sizeof *names);
    return out;
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

kg_status kg__aggregate_load(kg_aggregate *out, const kg_aggregate_options *options,
                             const kg_params *params, kg_arena *arena, const kg_aggregate_use *use,
                             kg_error *error) {
    size_t count = params->dim == 0 ? 0 : use->count; /* without vectors there is nothing to sum */
    *out = (kg_aggregate){.options = options,
                          .params = params,
                          .arena = arena,
                          .links = use->links,
                          .count = count,
                          .queries = use->queries,
                          .query_count = use->query_count};
    if (find_groups(out) && (count == 0 || options->aggregator->load(out, use->most_left_out)))
        return KG_OK;
    return kg__fail_memory(error);
}

void kg__aggregate_set_query(kg_aggregate *a, size_t query) {
    a->query = query;
}

void kg__aggregate_renew_query(kg_aggregate *a) {
    a->query = 0;
    if (a->count > 0 && a->options->aggregator->set_query != NULL)
        a->options->aggregator->set_query(a, 0);
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

void kg__aggregate_make_row(const kg_aggregate *a, real *row, kg_directed directed,
                            const real *other) {
    if (a->options->aggregator->rows_are_entities)
        memcpy(row, other, a->params->dim * sizeof *row);
    else
        kg__fact_vector(a->params, row, directed, other);
}

void kg__aggregate_row(const kg_aggregate *a, real *row, size_t i) {
    kg_link link = a->links[i];
    kg__aggregate_make_row(a, row, link.directed, kg__entity_row(a->params, link.other));
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

/* ---- Rows in double precision ---- */

/* From what it makes of each part's ones. */
void kg__fact_map_set(kg_fact_map *map, const kg_params *params, kg_directed directed) {
    size_t dim = params->dim;
    size_t places = dim / params->scoring->parts;
    real *mapped = map->ones + dim;
    for (size_t part = 0; part < params->scoring->parts; part++) {
        memset(map->ones, 0, dim * sizeof *map->ones);
        for (size_t k = part * places; k < (part + 1) * places; k++)
            map->ones[k] = 1;
        kg__fact_vector(params, mapped, directed, map->ones);
        for (size_t k = 0; k < dim; k++)
            map->factors[part * dim + k] = (double)mapped[k];
    }
}

/* y = x1 x2, number by number, on top of what is there unless it is the first */
KG_CLONES static void add_products(double *restrict y, const double *restrict x1,
                                   const real *restrict x2, size_t n, bool is_first) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = (is_first ? 0 : y[i]) + x1[i] * (double)x2[i];
}

static void make_query(double *q, const kg_fact_map *map, const kg_params *params,
                       const real *other) {
    size_t dim = params->dim;
    size_t parts = params->scoring->parts;
    size_t places = dim / parts;
    for (size_t to = 0; to < dim; to += places)
        for (size_t part = 0; part < parts; part++)
            add_products(q + to, map->factors + part * dim + to, other + part * places, places,
                         part == 0);
}

bool kg__aggregate_wide_rows(const kg_aggregate *a, double **rows, kg_fact_map *map) {
    const kg_params *params = a->params;
    map->ones = kg__arena_take(a->arena, params->dim, 2 * sizeof *map->ones);
    if (map->ones == NULL ||
        !kg__take_wide(a->arena, &map->factors, params->scoring->parts, params->dim) ||
        !kg__take_wide(a->arena, rows, a->count, params->dim))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        kg_link link = a->links[i];
        if (i == 0 || link.directed != a->links[i - 1].directed)
            kg__fact_map_set(map, params, link.directed);
        make_query(*rows + i * params->dim, map, params, kg__entity_row(params, link.other));
    }
    return true;
}

/* ---- From rows to parameters ---- */

/* A gradient g on the sum of the rows of a directed relation's links, whose other ends add up to
 * `known`: one vector for all of these, and what it means for the relation. */
static kg_status send_back(const kg_aggregate *a, kg_grads *grads, kg_directed directed,
                           const real *known, const real *g, kg_error *error) {
    const kg_params *params = a->params;
    real *vector = NULL;
    if (!a->options->aggregator->rows_are_entities) {
        real *relation = NULL;
        KG_TRY(kg__grads_sum(grads, &relation, kg__aggregate_relations_param(params),
                             kg__relation_number(params, directed), error));
        params->scoring->relation_gradient(relation, kg__aggregate_relation_row(params, directed),
                                           known, g, kg_directed_end(directed), params->dim);
    }
    KG_TRY(kg__grads_add(grads, &vector, KG_PARAM_ENTITIES, error));
    if (a->options->aggregator->rows_are_entities)
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
    if (a->options->aggregator->finish != NULL)
        KG_TRY(a->options->aggregator->finish(a, grads, error));
    for (size_t g = 0; g < a->group_count && a->group_gradients != NULL; g++)
        KG_TRY(finish_group(a, grads, g, error));
    return finish_own(a, grads, error);
}
