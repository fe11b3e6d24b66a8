/* The mean of the rows: eavg and eravg.
 *
 * The sum over all links is made once, and what is left out is subtracted from it; of few links the
 * others are added up instead, since a difference of nearly equal sums has few good digits. Query
 * vectors are linear in the known end, so links of one directed relation are summed before the
 * relation is applied, once for the group. */
#include <string.h>

#include "aggregate/aggregators.h"
#include "math/vector.h"

#define FEW 16

/* Leaves the sum of the group's other ends at its first link's place among the rows: the gradient
 * of the relation needs it. */
static void add_group(kg_aggregate *a, size_t from, size_t to) {
    size_t dim = a->params.dim;
    real *others = a->rows + from * dim;
    real *q = a->scratch;
    memset(others, 0, dim * sizeof *others);
    kg__add_rows(others, a->others + from, to - from, a->count - to, dim);
    if (a->options.aggregator->uses_queries) {
        kg__fact_vector(&a->params, q, a->links[from].directed, others);
        others = q;
    }
    kg__add_scaled(a->sum, 1, others, dim);
}

void kg__mean_load(kg_aggregate *a) {
    memset(a->sum, 0, a->params.dim * sizeof *a->sum);
    for (size_t i = 0; i < a->count; i++)
        a->others[i] = kg__entity_row(&a->params, a->links[i].other);
    for (size_t from = 0, to = 0; from < a->count; from = to) {
        while (to < a->count && a->links[to].directed == a->links[from].directed)
            to++;
        add_group(a, from, to);
    }
}

static void sum_of_others(kg_aggregate *a, real *z, kg_left_out left) {
    size_t skipped = 0;
    for (size_t i = 0; i < a->count; i++) {
        if (skipped < left.count && left.positions[skipped] == i) {
            skipped++;
            continue;
        }
        kg__aggregate_row(a, a->scratch, i);
        kg__add_scaled(z, 1, a->scratch, a->params.dim);
    }
}

void kg__mean_forward(kg_aggregate *a, real *z, kg_left_out left) {
    size_t dim = a->params.dim;
    bool few = left.count > 0 && a->count <= FEW;
    memset(z, 0, dim * sizeof *z);
    if (few)
        sum_of_others(a, z, left);
    else
        kg__add_scaled(z, 1, a->sum, dim);
    for (size_t i = 0; i < left.count && !few; i++) {
        kg__aggregate_row(a, a->scratch, left.positions[i]);
        kg__add_scaled(z, -1, a->scratch, dim);
    }
    kg__scale(z, 1 / (real)(a->count - left.count), dim);
}

void kg__mean_backward(kg_aggregate *a, const real *g, kg_left_out left) {
    size_t dim = a->params.dim;
    real weight = 1 / (real)(a->count - left.count);
    kg__add_scaled(a->shared, weight, g, dim);
    for (size_t i = 0; i < left.count; i++)
        kg__add_scaled(kg__aggregate_own(a, left.positions[i]), -weight, g, dim);
}
