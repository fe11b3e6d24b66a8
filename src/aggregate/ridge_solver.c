/* With as many equations as columns at most, or few, the system of the equations is solved, which
 * is the smaller one (dual); with more, that of the columns (primal):
 *
 *     M e = l b - A g,       M = A A^T + l I,   y = (A^T e + g) / l                        (dual)
 *     H y = A^T b + g,       H = A^T A + l I,   e = b - A y                              (primal)
 *
 * Few equations are solved afresh for each use. Otherwise the inverse, K = M^-1 or P = H^-1, is
 * made once, and leaving out the equations S changes a solution by a term of as many dimensions as
 * S has equations:
 *
 *     dual      e - K_S (K_SS)^-1 e_S,              e = K x, x zero on S
 *     primal    y + P_S (I - A_S P_S)^-1 A_S y,     y = P x, P_S = P A_S^T */
#include "aggregate/ridge_solver.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "math/linalg.h"
#include "math/vector.h"

static bool is_few(const kg_ridge *r) {
    return r->count <= KG_RIDGE_FEW;
}

static bool is_dual(const kg_ridge *r) {
    return is_few(r) || r->count <= r->dim;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ---- Memory ---- */

bool kg__take_wide(kg_arena *arena, double **out, size_t rows, size_t columns) {
    *out = columns != 0 && rows > SIZE_MAX / columns
               ? NULL
               : kg__arena_take(arena, rows * columns, sizeof **out);
    return *out != NULL;
}

bool kg__ridge_open(kg_ridge *r, kg_arena *arena, size_t dim, size_t count, size_t left_out) {
    size_t few = smaller(count, KG_RIDGE_FEW);
    size_t size = count <= KG_RIDGE_FEW ? count : smaller(count, dim);
    *r = (kg_ridge){.dim = dim};
    if (!kg__take_wide(arena, &r->products, few, few) ||
        !kg__take_wide(arena, &r->inverse, size, size) ||
        !kg__take_wide(arena, &r->columns, left_out, dim) ||
        !kg__take_wide(arena, &r->small, left_out + 1, left_out) ||
        !kg__take_wide(arena, &r->links[0], 3, count) || !kg__take_wide(arena, &r->sum, 4, dim))
        return false;
    r->right = r->small + left_out * left_out;
    for (size_t i = 0; i < 3; i++) {
        r->links[i] = r->links[0] + i * count;
        r->dims[i] = r->sum + (i + 1) * dim;
    }
    return true;
}

/* ---- Rows ---- */

#define BLOCK 128 /* rows that are added up by themselves: a long sum loses digits */

/* y += A^T x, over the rows from `from` up to `to`; dims[2] holds the sums of blocks. */
static void add_run(kg_ridge *r, double *y, const double *x, size_t from, size_t to) {
    const double one = 1;
    if (r->count <= BLOCK) {
        kg__add_wide(y, r->rows + from * r->dim, x + from, to - from, r->dim);
        return;
    }
    for (; from < to; from += BLOCK) {
        memset(r->dims[2], 0, r->dim * sizeof *r->dims[2]);
        kg__add_wide(r->dims[2], r->rows + from * r->dim, x + from, smaller(BLOCK, to - from),
                     r->dim);
        kg__add_wide(y, r->dims[2], &one, 1, r->dim);
    }
}

/* The same over all rows. What is left out is passed over, not added as nothing: it need not be
 * finite. */
static void add_transposed(kg_ridge *r, double *y, const double *x) {
    size_t from = 0;
    for (size_t i = 0; i < r->left.count; i++) {
        add_run(r, y, x, from, r->left.positions[i]);
        from = r->left.positions[i] + 1;
    }
    add_run(r, y, x, from, r->count);
}

static void forget(double *values, kg_left_out left) {
    for (size_t i = 0; i < left.count; i++)
        values[left.positions[i]] = 0;
}

/* e = scale b - A y, 0 for what is left out; b and y may be NULL, and e may not be b. */
static void find_residuals(const kg_ridge *r, double *e, double scale, const double *b,
                           const double *y) {
    if (y == NULL)
        memset(e, 0, r->count * sizeof *e);
    else
        kg__dots_wide(e, r->rows, y, r->count, r->dim);
    for (size_t i = 0; i < r->count; i++)
        e[i] = (b == NULL ? 0 : scale * b[i]) - e[i];
    forget(e, r->left);
}

/* ---- Loading ---- */

/* Each product for itself, since BLAS may add up those of a larger matrix in another order. */
static void load_products(kg_ridge *r) {
    for (size_t i = 0; i < r->count; i++)
        kg__dots_wide(r->products + i * r->count, r->rows, r->rows + i * r->dim, i + 1, r->dim);
}

#define GROWTH 512 /* of errors in sums over rows: BLAS takes them in blocks of about as many */

/* What a solution may be off by, as a share; `trace` is that of A A^T. */
static double bound_error(const kg_ridge *r, double trace) {
    return DBL_EPSILON * GROWTH * (1 + trace / r->lambda);
}

static void load_inverse(kg_ridge *r) {
    size_t n = is_dual(r) ? r->count : r->dim;
    double trace = 0;
    kg__gram_wide(r->inverse, r->rows, r->count, r->dim, is_dual(r));
    for (size_t i = 0; i < n; i++) {
        trace += r->inverse[i * n + i];
        r->inverse[i * n + i] += r->lambda;
    }
    r->error = bound_error(r, trace);
    r->has_inverse = kg__invert_wide(r->inverse, n);
    if (is_dual(r))
        return;
    memset(r->sum, 0, r->dim * sizeof *r->sum);
    add_transposed(r, r->sum, r->targets);
}

void kg__ridge_load(kg_ridge *r, double lambda, const double *rows, const double *targets,
                    size_t count) {
    r->lambda = lambda;
    r->rows = rows;
    r->targets = targets;
    r->count = count;
    r->left = (kg_left_out){NULL, 0};
    if (is_few(r))
        load_products(r);
    else
        load_inverse(r);
}

/* ---- Leaving out ---- */

/* The factor of the system of what is kept, as if there were no other equations. */
static void factor_few(kg_ridge *r) {
    size_t n = r->count - r->left.count;
    size_t row = 0;
    double trace = 0;
    for (size_t i = 0, skipped = 0; i < r->count; i++) {
        if (kg__is_left_out(r->left, &skipped, i))
            continue;
        const double *products = r->products + i * r->count;
        for (size_t k = 0, column = 0, passed = 0; k <= i; k++)
            if (!kg__is_left_out(r->left, &passed, k))
                r->inverse[row * n + column++] = products[k];
        trace += products[i];
        r->inverse[row * n + row] += r->lambda;
        row++;
    }
    r->is_rough = !(bound_error(r, trace) <= (double)KG_REAL_EPSILON);
    r->is_broken = !kg__factor_wide(r->inverse, n);
}

static void factor_dual(kg_ridge *r) {
    kg_left_out left = r->left;
    for (size_t i = 0; i < left.count; i++)
        for (size_t k = 0; k <= i; k++)
            r->small[i * left.count + k] =
                r->lambda * r->inverse[left.positions[i] * r->count + left.positions[k]];
}

static void factor_primal(kg_ridge *r) {
    kg_left_out left = r->left;
    size_t dim = r->dim;
    for (size_t i = 0; i < left.count; i++) {
        const double *row = r->rows + left.positions[i] * dim;
        kg__dots_wide(r->columns + i * dim, r->inverse, row, dim, dim);
        for (size_t k = 0; k <= i; k++)
            r->small[i * left.count + k] =
                (double)(i == k) - kg__dot_wide(row, r->columns + k * dim, dim);
    }
}

/* The least pivot of the small system. */
static double find_pivot(const kg_ridge *r) {
    double least = 1;
    for (size_t i = 0; i < r->left.count; i++) {
        double root = r->small[i * r->left.count + i];
        least = fmin(least, root * root);
    }
    return least;
}

/* The small system, for both: its numbers are differences, or else inverses, between 1 and
 * 1/condition; the smaller they come out, the more of them is error. */
void kg__ridge_leave_out(kg_ridge *r, kg_left_out left) {
    r->left = left;
    if (is_few(r)) {
        factor_few(r);
        return;
    }
    r->is_broken = !r->has_inverse;
    r->is_rough = !(r->error <= (double)KG_REAL_EPSILON);
    if (left.count == 0 || r->is_broken)
        return;
    if (is_dual(r))
        factor_dual(r);
    else
        factor_primal(r);
    r->is_broken = !kg__factor_wide(r->small, left.count);
    r->is_rough = !(r->error <= (double)KG_REAL_EPSILON * find_pivot(r));
}

/* ---- Solving ---- */

/* e = M^-1 x, where both are 0 for what is left out; x is overwritten. */
static void solve_few(kg_ridge *r, double *e, double *x) {
    size_t n = 0;
    for (size_t i = 0, skipped = 0; i < r->count; i++)
        if (!kg__is_left_out(r->left, &skipped, i))
            x[n++] = x[i];
    kg__solve_wide(r->inverse, x, n);
    n = 0;
    for (size_t i = 0, skipped = 0; i < r->count; i++)
        e[i] = kg__is_left_out(r->left, &skipped, i) ? 0 : x[n++];
}

static void solve_many(kg_ridge *r, double *e, const double *x) {
    kg_left_out left = r->left;
    size_t n = r->count;
    kg__dots_wide(e, r->inverse, x, n, n);
    if (left.count == 0)
        return;
    for (size_t i = 0; i < left.count; i++)
        r->right[i] = -r->lambda * e[left.positions[i]];
    kg__solve_wide(r->small, r->right, left.count);
    for (size_t i = 0; i < left.count; i++)
        kg__add_wide(e, r->inverse + left.positions[i] * n, &r->right[i], 1, n);
    forget(e, left);
}

/* y = H^-1 x */
static void solve_primal(kg_ridge *r, double *y, const double *x) {
    kg_left_out left = r->left;
    size_t dim = r->dim;
    kg__dots_wide(y, r->inverse, x, dim, dim);
    if (left.count == 0)
        return;
    for (size_t i = 0; i < left.count; i++)
        r->right[i] = kg__dot_wide(r->rows + left.positions[i] * dim, y, dim);
    kg__solve_wide(r->small, r->right, left.count);
    kg__add_wide(y, r->columns, r->right, left.count, dim);
}

/* y = (A^T e + g) / l; g may be NULL. */
static void combine(kg_ridge *r, double *y, const double *e, const double *g) {
    if (g == NULL)
        memset(y, 0, r->dim * sizeof *y);
    else
        memcpy(y, g, r->dim * sizeof *y);
    add_transposed(r, y, e);
    for (size_t k = 0; k < r->dim; k++)
        y[k] /= r->lambda;
}

/* For y and, in the dual, e. b and g may be NULL; in the primal, b is NULL or the targets. */
static void solve(kg_ridge *r, double *y, double *e, const double *b, const double *g) {
    double *x = r->links[0];
    double *c = r->dims[0];
    if (is_dual(r)) {
        find_residuals(r, x, r->lambda, b, g);
        if (is_few(r))
            solve_few(r, e, x);
        else
            solve_many(r, e, x);
        combine(r, y, e, g);
        return;
    }
    memcpy(c, b == NULL ? g : r->sum, r->dim * sizeof *c);
    for (size_t i = 0; i < r->left.count && b != NULL; i++) {
        size_t position = r->left.positions[i];
        double weight = -r->targets[position];
        kg__add_wide(c, r->rows + position * r->dim, &weight, 1, r->dim);
    }
    solve_primal(r, y, c);
}

static double largest(const double *x, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* Solves for what the solution leaves of the right sides, and adds that. In the dual it leaves some
 * of b, in the primal of g. Returns how large it is, as a share of y. */
static double refine(kg_ridge *r, double *y, double *e, const double *b, const double *g) {
    const double one = 1;
    double *step = r->dims[1];
    if (is_dual(r)) {
        double *rest = r->links[1];
        find_residuals(r, rest, 1, b, y);
        for (size_t i = 0; i < r->count; i++)
            rest[i] -= e[i];
        solve(r, step, rest, rest, NULL);
        kg__add_wide(e, rest, &one, 1, r->count);
    } else {
        double *rest = r->dims[0];
        find_residuals(r, e, 1, b, y);
        for (size_t k = 0; k < r->dim; k++)
            rest[k] = (g == NULL ? 0 : g[k]) - r->lambda * y[k];
        add_transposed(r, rest, e);
        solve_primal(r, step, rest);
    }
    kg__add_wide(y, step, &one, 1, r->dim);
    return largest(step, r->dim) / largest(y, r->dim);
}

/* Each step takes off the error a factor like that between solution and first step. */
#define MOST_STEPS 4
#define LAST_STEP 1e-7

static void solve_well(kg_ridge *r, double *y, const double *b, const double *g) {
    double *e = r->links[2];
    if (r->is_broken) {
        for (size_t k = 0; k < r->dim; k++)
            y[k] = NAN;
        return;
    }
    solve(r, y, e, b, g);
    for (size_t i = 0; i < MOST_STEPS && r->is_rough; i++)
        if (!(refine(r, y, e, b, g) > LAST_STEP))
            break;
}

void kg__ridge_fit(kg_ridge *r, double *z) {
    solve_well(r, z, r->targets, NULL);
}

void kg__ridge_weigh(const kg_ridge *r, double *weights, const double *z) {
    find_residuals(r, weights, 1, r->targets, z);
    for (size_t i = 0; i < r->count; i++)
        weights[i] /= r->lambda;
}

void kg__ridge_back(kg_ridge *r, double *h, const double *g) {
    solve_well(r, h, NULL, g);
}
