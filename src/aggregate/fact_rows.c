/* Products of parts. */
#include "aggregate/fact_rows.h"

bool kg__fact_map_open(kg_fact_map *map, kg_arena *arena, const kg_params *params) {
    size_t parts = params->scoring->parts;
    map->factors = kg__arena_take(arena, params->dim, parts * sizeof *map->factors);
    map->ones = kg__arena_take(arena, params->dim, 2 * sizeof *map->ones);
    return map->factors != NULL && map->ones != NULL;
}

/* From what it makes of each part's ones. */
void kg__fact_map_set(kg_fact_map *map, const kg_params *params, kg_directed directed) {
    size_t dim = params->dim;
    size_t places = dim / params->scoring->parts;
    real *mapped = map->ones + dim;
    for (size_t part = 0; part < params->scoring->parts; part++) {
        for (size_t k = 0; k < dim; k++)
            map->ones[k] = k / places == part ? 1 : 0;
        kg__fact_vector(params, mapped, directed, map->ones);
        for (size_t k = 0; k < dim; k++)
            map->factors[part * dim + k] = (double)mapped[k];
    }
}

/* y = x1 x2, number by number */
KG_CLONES static void multiply(double *restrict y, const double *restrict x1,
                               const real *restrict x2, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = x1[i] * (double)x2[i];
}

/* y += x1 x2 */
KG_CLONES static void add_products(double *restrict y, const double *restrict x1,
                                   const real *restrict x2, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] += x1[i] * (double)x2[i];
}

static void make_query(double *q, const kg_fact_map *map, const kg_params *params,
                       const real *other) {
    size_t dim = params->dim;
    size_t parts = params->scoring->parts;
    size_t places = dim / parts;
    for (size_t to = 0; to < dim; to += places) {
        multiply(q + to, map->factors + to, other, places);
        for (size_t part = 1; part < parts; part++)
            add_products(q + to, map->factors + part * dim + to, other + part * places, places);
    }
}

void kg__fact_rows(double *rows, kg_fact_map *map, const kg_params *params, const kg_link *links,
                   size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || links[i].directed != links[i - 1].directed)
            kg__fact_map_set(map, params, links[i].directed);
        make_query(rows + i * params->dim, map, params, kg__entity_row(params, links[i].other));
    }
}
