/* Ridge regression: ls and ls-u. The equations are those of ridge_solver.h, with the facts' query
 * vectors as rows A, normalised or not, and targets b; z is their solution, and the sum of the rows
 * with their residuals over the ridge as weights.
 *
 * Backward, for a gradient g on z: with h = H^-1 g, residuals e = b - A z and beta = A h, the
 * gradient on A is e h^T - beta z^T, that on b is beta. All of it is in double precision; what is
 * added up on a row is a real. */
#include <math.h>
#include <string.h>

#include "aggregate/aggregate.h"
#include "math/vector.h"

/* A query vector shorter than this has no direction that training could follow: the gradient of a
 * direction grows as the length falls, and L2 makes rows that no triple touches as short as the
 * number format allows. Normalized, it is the zero vector. */
#define LEAST_NORM 1e-6

struct ls {
    kg_ridge ridge;
    double *equations;   /* count x dim */
    double *targets;     /* count */
    double *norms;       /* count: |q_i| */
    double *weights;     /* count: of the equations in the last z, where options are exact */
    double *own_targets; /* count: gradients on the targets; NULL before the first */
    double *z;           /* dim */
    double *h;           /* dim */
    double *scratch;     /* dim */
};

/* Those of ls-u are neither normalised nor weighted. */
static bool is_plain(const kg_aggregate *a) {
    return (a->options->aggregator->settings & KG_BY_LS_ROWS) == 0;
}

static bool is_weighted(const kg_aggregate *a) {
    return !is_plain(a) && a->options->ls_rows == KG_LS_WEIGHTED;
}

static bool is_normalized(const kg_aggregate *a) {
    return !is_plain(a) && !is_weighted(a);
}

/* Makes equation i of a query vector, in place. A zero one says nothing: its row is zero whatever
 * its target, and has no gradient. */
static void make_equation(const kg_aggregate *a, struct ls *ls, size_t i) {
    size_t dim = a->params->dim;
    double *row = ls->equations + i * dim;
    double norm = sqrt(kg__dot_wide(row, row, dim));
    if (is_normalized(a) && norm < LEAST_NORM)
        norm = 0;
    ls->norms[i] = norm;
    ls->targets[i] = is_weighted(a) ? norm : 1;
    if (!is_normalized(a))
        return;
    double factor = norm == 0 ? 0 : 1 / norm;
    for (size_t k = 0; k < dim; k++)
        row[k] *= factor;
}

static bool load(kg_aggregate *a, size_t most_left_out) {
    size_t dim = a->params->dim;
    size_t count = a->count;
    struct ls *ls = kg__arena_take_zeroed(a->arena, 1, sizeof *ls);
    a->state = ls;
    kg_fact_map map;
    if (ls == NULL || !kg__aggregate_wide_rows(a, &ls->equations, &map) ||
        !kg__ridge_open(&ls->ridge, a->arena, dim, count, most_left_out) ||
        !kg__take_wide(a->arena, &ls->targets, 3, count) ||
        !kg__take_wide(a->arena, &ls->z, 3, dim))
        return false;
    ls->norms = ls->targets + count;
    ls->weights = ls->norms + count;
    ls->h = ls->z + dim;
    ls->scratch = ls->h + dim;
    for (size_t i = 0; i < count; i++)
        make_equation(a, ls, i);
    kg__ridge_load(&ls->ridge, a->options->ls_lambda, ls->equations, ls->targets, count);
    return true;
}

static void forward(kg_aggregate *a, real *z, kg_left_out left) {
    struct ls *ls = a->state;
    kg__ridge_leave_out(&ls->ridge, left);
    kg__ridge_fit(&ls->ridge, ls->z);
    for (size_t k = 0; k < a->params->dim; k++)
        z[k] = (real)ls->z[k];
    if (a->options->is_exact) /* inference needs weights for explanations */
        kg__ridge_weigh(&ls->ridge, ls->weights, ls->z);
}

static double weight(const kg_aggregate *a, size_t i) {
    const struct ls *ls = a->state;
    double norm = ls->norms[i];
    return ls->weights[i] * (!is_normalized(a) ? 1 : norm == 0 ? 0 : 1 / norm);
}

static double part(kg_aggregate *a, size_t i, const real *vector) {
    const struct ls *ls = a->state;
    size_t dim = a->params->dim;
    double sum = 0;
    for (size_t k = 0; k < dim; k++)
        sum += ls->equations[i * dim + k] * (double)vector[k];
    return ls->weights[i] * sum;
}

/* ---- Backward ---- */

/* own += e h - beta z, for e = target - row . z and beta = row . h, which it returns. */
KG_CLONES static double add_gradient(real *restrict own, const double *restrict row, double target,
                                     const double *restrict z, const double *restrict h,
                                     size_t dim) {
    double fit = 0;
    double beta = 0;
#pragma omp simd reduction(+ : fit, beta)
    for (size_t k = 0; k < dim; k++) {
        fit += row[k] * z[k];
        beta += row[k] * h[k];
    }
    double e = target - fit;
#pragma omp simd
    for (size_t k = 0; k < dim; k++)
        own[k] += (real)(e * h[k] - beta * z[k]);
    return beta;
}

static bool backward(kg_aggregate *a, const real *g, kg_left_out left) {
    struct ls *ls = a->state;
    size_t dim = a->params->dim;
    if (ls->own_targets == NULL)
        ls->own_targets = kg__arena_take_zeroed(a->arena, a->count, sizeof *ls->own_targets);
    if (ls->own_targets == NULL)
        return false;
    for (size_t k = 0; k < dim; k++)
        ls->scratch[k] = (double)g[k];
    kg__ridge_back(&ls->ridge, ls->h, ls->scratch);
    for (size_t i = 0, skipped = 0; i < a->count; i++) {
        if (kg__is_left_out(left, &skipped, i))
            continue;
        real *own = kg__aggregate_own(a, i);
        if (own == NULL)
            return false;
        ls->own_targets[i] +=
            add_gradient(own, ls->equations + i * dim, ls->targets[i], ls->z, ls->h, dim);
    }
    return true;
}

/* own . row */
KG_CLONES static double dot(const real *own, const double *row, size_t dim) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t k = 0; k < dim; k++)
        sum += (double)own[k] * row[k];
    return sum;
}

/* own = (own + weight row) / norm */
KG_CLONES static void shift(real *restrict own, const double *restrict row, double weight,
                            double norm, size_t dim) {
#pragma omp simd
    for (size_t k = 0; k < dim; k++)
        own[k] = (real)(((double)own[k] + weight * row[k]) / norm);
}

/* From gradients on equations to those on query vectors. */
static kg_status finish(kg_aggregate *a, kg_grads *grads, kg_error *error) {
    (void)grads;
    (void)error;
    const struct ls *ls = a->state;
    size_t dim = a->params->dim;
    for (size_t i = 0; i < a->count && a->own != NULL && !is_plain(a); i++) {
        const double *row = ls->equations + i * dim;
        real *own = a->own[i];
        if (own == NULL)
            continue;
        if (ls->norms[i] == 0)
            memset(own, 0, dim * sizeof *own);
        else if (is_weighted(a))
            shift(own, row, ls->own_targets[i] / ls->norms[i], 1, dim);
        else
            shift(own, row, -dot(own, row, dim), ls->norms[i], dim);
    }
    return KG_OK;
}

/* What the rows have in common. */
#define FUNCTIONS                                                                               \
    .load = load, .forward = forward, .backward = backward, .finish = finish, .weight = weight, \
    .part = part

const kg_aggregator kg__aggregator_ls = {
    .name = "ls",
    .backward_needs_last_forward = true,
    .settings = KG_BY_LS_LAMBDA | KG_BY_LS_ROWS,
    FUNCTIONS,
};

const kg_aggregator kg__aggregator_ls_u = {
    .name = "ls-u",
    .backward_needs_last_forward = true,
    .settings = KG_BY_LS_LAMBDA,
    FUNCTIONS,
};
