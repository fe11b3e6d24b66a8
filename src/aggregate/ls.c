/* Ridge regression: ls and ls-u. The equations are those of ridge.h, with the facts' query vectors
 * as rows A, normalised or not, and targets b; z is their solution.
 *
 * Backward, for a gradient g on z: with h = H^-1 g, residuals e = b - A z and beta = A h, the
 * gradient on A is e h^T - beta z^T, that on b is beta. All of it is in double precision; what is
 * gathered on a row is a real. */
#include <math.h>
#include <string.h>

#include "aggregate/aggregators.h"
#include "math/vector.h"

static bool is_plain(const kg_aggregate_options *options) {
    return options->aggregator->is_plain;
}

static bool is_weighted(const kg_aggregate_options *options) {
    return !is_plain(options) && options->ls_rows == KG_LS_WEIGHTED;
}

static bool is_normalized(const kg_aggregate_options *options) {
    return !is_plain(options) && !is_weighted(options);
}

/* A zero query vector says nothing: its row is zero whatever its target, and has no gradient. */
void kg__ls_equation(const kg_aggregate_options *options, double *row, double *target, double *norm,
                     size_t dim) {
    *norm = sqrt(kg__dot_wide(row, row, dim));
    if (is_normalized(options) && *norm < KG_LEAST_NORM)
        *norm = 0;
    *target = is_weighted(options) ? *norm : 1;
    if (!is_normalized(options))
        return;
    double factor = *norm == 0 ? 0 : 1 / *norm;
    for (size_t k = 0; k < dim; k++)
        row[k] *= factor;
}

void kg__ls_load(kg_aggregate *a) {
    size_t dim = a->params.dim;
    kg__fact_rows(a->equations, &a->map, &a->params, true, a->links, a->count);
    for (size_t i = 0; i < a->count; i++)
        kg__ls_equation(&a->options, a->equations + i * dim, &a->targets[i], &a->norms[i], dim);
    kg__ridge_load(&a->ridge, a->options.ls_lambda, a->equations, a->targets, a->count);
    memset(a->own_targets, 0, a->count * sizeof *a->own_targets);
}

void kg__ls_forward(kg_aggregate *a, real *z, kg_left_out left) {
    kg__ridge_leave_out(&a->ridge, left);
    kg__ridge_fit(&a->ridge, a->z);
    for (size_t k = 0; k < a->params.dim; k++)
        z[k] = (real)a->z[k];
}

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

void kg__ls_backward(kg_aggregate *a, const real *g, kg_left_out left) {
    size_t dim = a->params.dim;
    size_t skipped = 0;
    for (size_t k = 0; k < dim; k++)
        a->wide[k] = (double)g[k];
    kg__ridge_back(&a->ridge, a->h, a->wide);
    for (size_t i = 0; i < a->count; i++) {
        if (skipped < left.count && left.positions[skipped] == i)
            skipped++;
        else
            a->own_targets[i] += add_gradient(kg__aggregate_own(a, i), a->equations + i * dim,
                                              a->targets[i], a->z, a->h, dim);
    }
}

/* The gradient on the query vector, from that on its equation. */
static void finish_row(kg_aggregate *a, double *own, size_t i) {
    size_t dim = a->params.dim;
    const double *row = a->equations + i * dim;
    double norm = a->norms[i];
    if (is_weighted(&a->options)) {
        double weight = a->own_targets[i] / norm;
        kg__add_wide(own, row, &weight, 1, dim);
        return;
    }
    double weight = -kg__dot_wide(own, row, dim);
    kg__add_wide(own, row, &weight, 1, dim);
    for (size_t k = 0; k < dim; k++)
        own[k] /= norm;
}

void kg__ls_finish(kg_aggregate *a) {
    size_t dim = a->params.dim;
    for (size_t i = 0; i < a->count; i++) {
        if (!a->has_own[i] || is_plain(&a->options))
            continue;
        real *own = a->own + i * dim;
        if (a->norms[i] == 0) {
            memset(own, 0, dim * sizeof *own);
            continue;
        }
        for (size_t k = 0; k < dim; k++)
            a->wide[k] = (double)own[k];
        finish_row(a, a->wide, i);
        for (size_t k = 0; k < dim; k++)
            own[k] = (real)a->wide[k];
    }
}
