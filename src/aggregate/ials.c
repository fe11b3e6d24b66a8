/* M is put together for each use, since what is left out changes the mean of |q|^2 and sometimes
 * the relations, too; solving it costs more. Of few links the rows that are kept are multiplied
 * afresh, so that bits do not depend on what is left out; of many, the row that is not kept is
 * taken off the sum over all. */
#include "aggregate/ials.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/linalg.h"
#include "math/vector.h"

/* In units of the largest number on M's diagonal: what keeps M definite, where the entity's own
 * rows are next to nothing. */
#define LEAST_RIDGE 1e-12

/* ---- All entities ---- */

#define SPAN 256 /* rows that are widened at once */

/* One that is not finite counts as nothing: ranking passes it over, too. */
static void widen(double *wide, const real *row, size_t dim) {
    bool is_finite = true;
    for (size_t k = 0; k < dim; k++) {
        wide[k] = (double)row[k];
        is_finite = is_finite && isfinite(wide[k]);
    }
    if (!is_finite)
        memset(wide, 0, dim * sizeof *wide);
}

static void add_span(double *gram, double *scratch, const real *rows, size_t count, size_t dim) {
    double *wide = scratch;
    double *products = scratch + (size_t)SPAN * dim;
    const double one = 1;
    for (size_t i = 0; i < count; i++)
        widen(wide + i * dim, rows + i * dim, dim);
    kg__gram_wide(products, wide, count, dim, false);
    for (size_t k = 0; k < dim; k++)
        kg__add_wide(gram + k * dim, products + k * dim, &one, 1, k + 1);
}

kg_status kg__gram_make(double **out, const kg_aggregator *aggregator, const kg_params *params,
                        size_t entities, kg_error *error) {
    size_t dim = params->dim;
    *out = NULL;
    if (aggregator == NULL || !aggregator->needs_gram || dim == 0)
        return KG_OK;
    KG_TRY(kg__linear_set_up(1, error));
    double *gram = dim > SIZE_MAX / dim ? NULL : kg__alloc(dim * dim, sizeof *gram);
    double *scratch = gram == NULL ? NULL : kg__resize(NULL, (SPAN + dim) * dim, sizeof *scratch);
    if (scratch == NULL) {
        kg__free(gram);
        return kg__fail_memory(error);
    }
    for (size_t from = 0; from < entities; from += SPAN) {
        size_t count = entities - from < SPAN ? entities - from : SPAN;
        add_span(gram, scratch, kg__entity_rows(params, (kg_id)from, count), count, dim);
    }
    for (size_t i = 0; i < dim; i++)
        for (size_t k = i + 1; k < dim; k++)
            gram[i * dim + k] = gram[k * dim + i];
    kg__free(scratch);
    *out = gram;
    return KG_OK;
}

/* ---- An entity ---- */

struct ials {
    kg_fact_map map;  /* for B */
    double *rows;     /* count x dim: q_i */
    double *squares;  /* count: |q_i|^2 */
    double *kept;     /* the rows that are not left out, where there are few; count x dim */
    double *implicit; /* dim x dim: alpha sum of B G B^T over the relations of the links */
    size_t lacking;   /* which it lacks: that of the link at this position; KG_NOTHING: none */
    bool is_made;     /* it is there */
    double *explicit; /* dim x dim: sum of q q^T over all links, where there are many */
    double *system;   /* dim x dim: M of the last use, and then its factor */
    double *sum;      /* dim: of the rows that are kept, and then z */
    double *line;     /* dim */
    bool is_broken;   /* the embeddings are not finite, so neither is z */
};

static bool is_few(const kg_aggregate *a) {
    return a->count <= KG_RIDGE_FEW;
}

static bool load(kg_aggregate *a, size_t most_left_out) {
    (void)most_left_out;
    size_t dim = a->params->dim;
    struct ials *ials = kg__arena_take_zeroed(a->arena, 1, sizeof *ials);
    a->state = ials;
    if (ials == NULL || !kg__aggregate_wide_rows(a, &ials->rows, &ials->map) ||
        !kg__take_wide(a->arena, &ials->squares, a->count, 1) ||
        !kg__take_wide(a->arena, &ials->kept, is_few(a) ? a->count : 0, dim) ||
        !kg__take_wide(a->arena, &ials->implicit, dim, dim) ||
        !kg__take_wide(a->arena, &ials->explicit, is_few(a) ? 0 : dim, dim) ||
        !kg__take_wide(a->arena, &ials->system, dim, dim) ||
        !kg__take_wide(a->arena, &ials->sum, 2, dim))
        return false;
    ials->line = ials->sum + dim;
    for (size_t i = 0; i < a->count; i++)
        ials->squares[i] = kg__dot_wide(ials->rows + i * dim, ials->rows + i * dim, dim);
    if (!is_few(a))
        kg__gram_wide(ials->explicit, ials->rows, a->count, dim, false);
    return true;
}

/* ---- Implicit negatives ---- */

/* y += a x1 x2, number by number */
KG_CLONES static void add_products(double *restrict y, double a, const double *restrict x1,
                                   const double *restrict x2, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] += a * x1[i] * x2[i];
}

/* Row by row: number k of B G is a sum of rows of G, and B makes the row of B G B^T of it. */
static void add_relation(const kg_aggregate *a, kg_directed directed) {
    struct ials *ials = a->state;
    const kg_params *params = a->params;
    size_t dim = params->dim;
    size_t parts = params->scoring->parts;
    size_t n = dim / parts;
    const double *factors = ials->map.factors; /* of B */
    kg__fact_map_set(&ials->map, params, directed);
    for (size_t k = 0; k < dim; k++) {
        memset(ials->line, 0, dim * sizeof *ials->line);
        for (size_t p = 0; p < parts; p++)
            kg__add_wide(ials->line, params->gram + (p * n + k % n) * dim, &factors[p * dim + k], 1,
                         dim);
        for (size_t to = 0; to < parts; to++)
            for (size_t p = 0; p < parts; p++)
                add_products(ials->implicit + k * dim + to * n, a->options->ials_alpha,
                             factors + p * dim + to * n, ials->line + p * n, n);
    }
}

static bool is_alone(const kg_aggregate *a, size_t i) {
    size_t group = kg__aggregate_group(a, i);
    return a->groups[group + 1] - a->groups[group] == 1;
}

/* Those of the links but the one at `left_out`, unless they are there from the last use. */
static void sum_relations(const kg_aggregate *a, size_t left_out) {
    struct ials *ials = a->state;
    size_t dim = a->params->dim;
    size_t lacking = left_out != KG_NOTHING && is_alone(a, left_out) ? left_out : KG_NOTHING;
    if (ials->is_made && ials->lacking == lacking)
        return;
    memset(ials->implicit, 0, dim * dim * sizeof *ials->implicit);
    for (size_t g = 0; g < a->group_count; g++)
        if (a->groups[g] != lacking)
            add_relation(a, a->links[a->groups[g]].directed);
    ials->lacking = lacking;
    ials->is_made = true;
}

/* ---- Uses ---- */

/* The sum of the rows but the one at `left_out`, which is passed over, not added as nothing: it
 * need not be finite. */
static void sum_rows(const kg_aggregate *a, size_t left_out) {
    struct ials *ials = a->state;
    size_t dim = a->params->dim;
    const double one = 1;
    memset(ials->sum, 0, dim * sizeof *ials->sum);
    for (size_t i = 0; i < a->count; i++)
        if (i != left_out)
            kg__add_wide(ials->sum, ials->rows + i * dim, &one, 1, dim);
}

/* The sum of q q^T, on and below the diagonal of the system. */
static void start_system(const kg_aggregate *a, size_t left_out) {
    struct ials *ials = a->state;
    size_t dim = a->params->dim;
    bool is_whole = left_out == KG_NOTHING;
    if (is_few(a)) {
        size_t before = is_whole ? a->count : left_out;
        size_t after = is_whole ? 0 : a->count - left_out - 1;
        memcpy(ials->kept, ials->rows, before * dim * sizeof *ials->kept);
        memcpy(ials->kept + before * dim, ials->rows + (a->count - after) * dim,
               after * dim * sizeof *ials->kept);
        kg__gram_wide(ials->system, ials->kept, before + after, dim, false);
        return;
    }
    memcpy(ials->system, ials->explicit, dim * dim * sizeof *ials->system);
    for (size_t k = 0; k < dim && !is_whole; k++) {
        const double *row = ials->rows + left_out * dim;
        double weight = -row[k];
        kg__add_wide(ials->system + k * dim, row, &weight, 1, k + 1);
    }
}

static double mean_square(const kg_aggregate *a, size_t left_out) {
    const struct ials *ials = a->state;
    double sum = 0;
    for (size_t i = 0; i < a->count; i++)
        sum += i == left_out ? 0 : ials->squares[i];
    return sum / (double)(a->count - (left_out != KG_NOTHING));
}

static void add_ridge(double *system, double ridge, size_t dim) {
    double largest = 0;
    for (size_t k = 0; k < dim; k++)
        largest = fmax(largest, system[k * dim + k]);
    ridge = fmax(ridge, LEAST_RIDGE * largest);
    for (size_t k = 0; k < dim; k++)
        system[k * dim + k] += ridge > 0 ? ridge : 1; /* of nothing, z is nothing */
}

/* One fact is left out at most: nothing is learned through it. */
static void forward(kg_aggregate *a, real *z, kg_left_out left) {
    struct ials *ials = a->state;
    size_t dim = a->params->dim;
    size_t left_out = left.count == 0 ? KG_NOTHING : left.positions[0];
    const double one = 1;
    sum_rows(a, left_out);
    start_system(a, left_out);
    sum_relations(a, left_out);
    for (size_t k = 0; k < dim; k++)
        kg__add_wide(ials->system + k * dim, ials->implicit + k * dim, &one, 1, k + 1);
    add_ridge(ials->system, a->options->ials_lambda * mean_square(a, left_out), dim);
    ials->is_broken = !kg__factor_wide(ials->system, dim);
    if (!ials->is_broken)
        kg__solve_wide(ials->system, ials->sum, dim);
    for (size_t k = 0; k < dim; k++)
        z[k] = ials->is_broken ? (real)NAN : (real)ials->sum[k];
}

/* All alike: what facts differ in is in M. */
static double weight(const kg_aggregate *a, size_t i) {
    (void)a;
    (void)i;
    return 1;
}

/* row . M^-1 vector */
static double part(kg_aggregate *a, size_t i, const real *vector) {
    struct ials *ials = a->state;
    size_t dim = a->params->dim;
    if (ials->is_broken)
        return (double)NAN;
    for (size_t k = 0; k < dim; k++)
        ials->line[k] = (double)vector[k];
    kg__solve_wide(ials->system, ials->line, dim);
    return kg__dot_wide(ials->rows + i * dim, ials->line, dim);
}

const kg_aggregator kg__aggregator_ials = {
    .name = "ials",
    .needs_gram = true,
    .settings = KG_BY_IALS,
    .load = load,
    .forward = forward,
    .weight = weight,
    .part = part,
};
