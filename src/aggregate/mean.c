/* The mean of the rows: eavg and eravg.
 *
 * The sum over all facts is made once, and what is left out is subtracted from it. Of few facts,
 * and wherever bits must not depend on what is left out, the others are added up instead: a
 * difference of nearly equal sums has few good digits. */
#include "aggregate/mean.h"

#include <math.h>
#include <string.h>

#include "math/linalg.h"
#include "math/vector.h"

#define FEW 16

/* ---- Loading ---- */

static bool load_groups(kg_aggregate *a, kg_mean *mean) {
    size_t dim = a->params->dim;
    const real **others = kg__arena_take(a->arena, a->count, sizeof *others);
    mean->sums = kg__arena_take(a->arena, 2 * a->group_count + 2, dim * sizeof *mean->sums);
    if (others == NULL || mean->sums == NULL)
        return false;
    mean->rows = mean->sums + a->group_count * dim;
    mean->scratch = mean->rows + a->group_count * dim;
    for (size_t i = 0; i < a->count; i++)
        others[i] = kg__entity_row(a->params, a->links[i].other);
    for (size_t g = 0; g < a->group_count; g++) {
        size_t from = a->groups[g];
        size_t to = a->groups[g + 1];
        real *sum = mean->sums + g * dim;
        memset(sum, 0, dim * sizeof *sum);
        kg__add_rows(sum, others + from, to - from, a->count - to, dim);
        kg__aggregate_make_row(a, mean->rows + g * dim, a->links[from].directed, sum);
    }
    return true;
}

bool kg__mean_load(kg_aggregate *a, kg_mean *mean) {
    size_t dim = a->params->dim;
    if (!load_groups(a, mean))
        return false;
    if (a->options->is_exact || a->count <= FEW)
        return true;
    mean->totals = kg__arena_take_zeroed(a->arena, mean->queries, dim * sizeof *mean->totals);
    if (mean->totals == NULL)
        return false;
    if (mean->weights != NULL)
        kg__multiply(mean->totals, mean->queries, dim, a->group_count, 1, mean->weights, KG_AS_IS,
                     mean->rows, KG_AS_IS, 0);
    for (size_t g = 0; g < a->group_count && mean->weights == NULL; g++)
        kg__add_scaled(mean->totals, 1, mean->rows + g * dim, dim);
    return true;
}

static bool load(kg_aggregate *a, size_t most_left_out) {
    (void)most_left_out;
    kg_mean *mean = kg__arena_take_zeroed(a->arena, 1, sizeof *mean);
    a->state = mean;
    if (mean == NULL)
        return false;
    mean->power = 1;
    mean->queries = 1;
    return kg__mean_load(a, mean);
}

/* ---- Uses ---- */

/* The row of the query at hand in what has one for each. */
static real *own_row(const kg_aggregate *a, real *rows) {
    const kg_mean *mean = a->state;
    return rows + (mean->weights == NULL ? 0 : a->query * a->params->dim);
}

static real group_weight(const kg_aggregate *a, size_t group) {
    const kg_mean *mean = a->state;
    return mean->weights == NULL ? 1 : mean->weights[a->query * a->group_count + group];
}

/* The weight of a link's row in the sum. */
static real weight_of(const kg_aggregate *a, size_t i) {
    return group_weight(a, kg__aggregate_group(a, i));
}

/* q of a group without what is left out of it. False if nothing is left. */
static bool make_rest(const kg_aggregate *a, real *row, size_t group, kg_left_out left) {
    const kg_mean *mean = a->state;
    size_t dim = a->params->dim;
    size_t size = a->groups[group + 1] - a->groups[group];
    real *sum = mean->scratch + dim;
    if (left.count == 0) {
        memcpy(row, mean->rows + group * dim, dim * sizeof *row);
        return true;
    }
    if (left.count == size)
        return false;
    memset(sum, 0, dim * sizeof *sum);
    for (size_t i = a->groups[group], skipped = 0; i < a->groups[group + 1]; i++)
        if (!kg__is_left_out(left, &skipped, i))
            kg__add_scaled(sum, 1, kg__entity_row(a->params, a->links[i].other), dim);
    kg__aggregate_make_row(a, row, a->links[a->groups[group]].directed, sum);
    return true;
}

static void sum_of_rest(const kg_aggregate *a, real *z, kg_left_out left) {
    const kg_mean *mean = a->state;
    size_t dim = a->params->dim;
    size_t first = 0; /* of the positions that are left out: the next group's */
    for (size_t g = 0; g < a->group_count; g++) {
        size_t end = first;
        while (end < left.count && left.positions[end] < a->groups[g + 1])
            end++;
        kg_left_out own = {end > first ? left.positions + first : NULL, end - first};
        if (make_rest(a, mean->scratch, g, own))
            kg__add_scaled(z, group_weight(a, g), mean->scratch, dim);
        first = end;
    }
}

static void total_without(const kg_aggregate *a, real *z, kg_left_out left) {
    const kg_mean *mean = a->state;
    size_t dim = a->params->dim;
    kg__add_scaled(z, 1, own_row(a, mean->totals), dim);
    for (size_t i = 0; i < left.count; i++) {
        kg__aggregate_row(a, mean->scratch, left.positions[i]);
        kg__add_scaled(z, -weight_of(a, left.positions[i]), mean->scratch, dim);
    }
}

static void find_scale(const kg_aggregate *a, kg_left_out left) {
    kg_mean *mean = a->state;
    double kept = (double)(a->count - left.count);
    mean->wide_scale = mean->power == 1 ? 1 / kept : pow(kept, -mean->power);
    mean->scale = (real)mean->wide_scale;
}

void kg__mean_forward(kg_aggregate *a, real *z, kg_left_out left) {
    kg_mean *mean = a->state;
    memset(z, 0, a->params->dim * sizeof *z);
    if (mean->totals == NULL)
        sum_of_rest(a, z, left);
    else
        total_without(a, z, left);
    find_scale(a, left);
    kg__scale(z, mean->scale, a->params->dim);
}

bool kg__mean_backward(kg_aggregate *a, const real *g, kg_left_out left) {
    kg_mean *mean = a->state;
    size_t dim = a->params->dim;
    if (mean->gradients == NULL)
        mean->gradients =
            kg__arena_take_zeroed(a->arena, mean->queries, dim * sizeof *mean->gradients);
    if (mean->gradients == NULL)
        return false;
    find_scale(a, left);
    kg__add_scaled(own_row(a, mean->gradients), mean->scale, g, dim);
    for (size_t i = 0; i < left.count; i++) {
        real *own = kg__aggregate_own(a, left.positions[i]);
        if (own == NULL)
            return false;
        kg__add_scaled(own, -mean->scale * weight_of(a, left.positions[i]), g, dim);
    }
    return true;
}

/* All rows share the gradient on their sum. */
static kg_status finish(kg_aggregate *a, kg_grads *grads, kg_error *error) {
    (void)grads;
    (void)error;
    const kg_mean *mean = a->state;
    a->group_gradients = mean->gradients;
    a->group_stride = 0;
    a->group_sums = mean->sums;
    return KG_OK;
}

double kg__mean_weight(const kg_aggregate *a, size_t i) {
    const kg_mean *mean = a->state;
    return mean->wide_scale * (double)weight_of(a, i);
}

double kg__mean_part(kg_aggregate *a, size_t i, const real *vector) {
    const kg_mean *mean = a->state;
    double sum = 0;
    kg__aggregate_row(a, mean->scratch, i);
    for (size_t k = 0; k < a->params->dim; k++)
        sum += (double)mean->scratch[k] * (double)vector[k];
    return kg__mean_weight(a, i) * sum;
}

/* What the rows have in common. */
#define FUNCTIONS                                                                               \
    .load = load, .forward = kg__mean_forward, .backward = kg__mean_backward, .finish = finish, \
    .weight = kg__mean_weight, .part = kg__mean_part

const kg_aggregator kg__aggregator_eavg = {
    .name = "eavg",
    .rows_are_entities = true,
    FUNCTIONS,
};

const kg_aggregator kg__aggregator_eravg = {
    .name = "eravg",
    FUNCTIONS,
};
