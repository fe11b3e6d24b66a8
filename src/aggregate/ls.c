/* Ridge regression: ls and ls-u. With rows A, targets b and ridge l,
 *
 *     z = H^-1 A^T b,  H = A^T A + l I              (primal, if there are more links than columns)
 *       = A^T alpha,   alpha = M^-1 b,  M = A A^T + l I                             (dual, if not)
 *
 * The inverse of H or M is made once for an entity. Leaving out the links S changes a solution by a
 * term of as many dimensions as S has links:
 *
 *     dual    M without S:  y - K_S (K_SS)^-1 y_S,       y = K x, K = M^-1, x zero on S
 *     primal  H without S:  y + P (I - A_S P)^-1 A_S y,  y = H^-1 x, P = H^-1 A_S^T
 *
 * Backward, for a gradient g on z: with h = H^-1 g (in the dual (g - A^T beta)/l, beta = M^-1 A g),
 * residuals e = b - A z and beta = A h, the gradient on A is e h^T - beta z^T, that on b is beta.
 */
#include <math.h>
#include <string.h>

#include "aggregate/aggregators.h"
#include "math/linear.h"
#include "math/vector.h"

static bool is_dual(const kg_aggregate *a) {
    return a->count <= a->tables.dim;
}

static bool is_plain(const kg_aggregate *a) {
    return a->options.aggregator->is_plain;
}

/* Query vector to equation. A zero query vector says nothing: its row is zero whatever its target,
 * and has no gradient. */
static void make_equation(kg_aggregate *a, size_t i) {
    size_t dim = a->tables.dim;
    real *row = a->rows + i * dim;
    kg_aggregate_row(a, row, i);
    real norm = (real)sqrt((double)kg_dot(row, row, dim));
    bool is_weighted = a->options.ls_rows == KG_LS_WEIGHTED;
    bool is_normalized = !is_plain(a) && !is_weighted;
    if (is_normalized && norm < (real)KG_LEAST_NORM) {
        memset(row, 0, dim * sizeof *row);
        norm = 0;
    }
    a->norms[i] = norm;
    a->targets[i] = !is_plain(a) && is_weighted ? norm : 1;
    if (is_normalized && norm != 0)
        kg_scale(row, 1 / norm, dim);
}

void kg_ls_load(kg_aggregate *a) {
    size_t dim = a->tables.dim;
    size_t n = is_dual(a) ? a->count : dim;
    for (size_t i = 0; i < a->count; i++)
        make_equation(a, i);
    if (a->count == 0)
        return;
    if (is_dual(a))
        kg_multiply(a->inverse, n, n, dim, 1, a->rows, KG_AS_IS, a->rows, KG_TRANSPOSED, 0);
    else
        kg_multiply(a->inverse, n, n, a->count, 1, a->rows, KG_TRANSPOSED, a->rows, KG_AS_IS, 0);
    for (size_t i = 0; i < n; i++)
        a->inverse[i * n + i] += (real)a->options.ls_lambda;
    a->is_broken = !kg_invert(a->inverse, n);
    kg_multiply_vector(a->sum, a->rows, a->count, dim, KG_TRANSPOSED, a->targets, 1, 0);
    memset(a->own_targets, 0, a->count * sizeof *a->own_targets);
}

/* Where a use finds room: vectors over links and columns, and the small system. */
struct room {
    real *x, *y, *e; /* links */
    real *h, *c;     /* columns */
    real *p;         /* left x columns */
    real *small;     /* left x left */
    real *right;     /* left */
};

static struct room make_room(const kg_aggregate *a) {
    size_t n = a->count;
    size_t dim = a->tables.dim;
    size_t left = a->most_left_out;
    real *at = a->scratch;
    struct room room = {
        at, at + n, at + 2 * n, at + 3 * n, at + 3 * n + dim, at + 3 * n + 2 * dim, NULL, NULL};
    room.small = room.p + left * dim;
    room.right = room.small + left * left;
    return room;
}

/* alpha of M without S, for a right side x that is zero on S. */
static void solve_dual(kg_aggregate *a, real *alpha, const real *x, kg_left_out left,
                       struct room room) {
    size_t n = a->count;
    size_t s = left.count;
    kg_multiply_vector(alpha, a->inverse, n, n, KG_AS_IS, x, 1, 0);
    if (s == 0)
        return;
    for (size_t i = 0; i < s; i++) {
        room.right[i] = alpha[left.positions[i]];
        for (size_t j = 0; j < s; j++)
            room.small[i * s + j] = a->inverse[left.positions[i] * n + left.positions[j]];
    }
    a->is_broken = !kg_solve(room.small, room.right, s) || a->is_broken;
    for (size_t i = 0; i < s; i++)
        kg_add_scaled(alpha, -room.right[i], a->inverse + left.positions[i] * n, n);
    for (size_t i = 0; i < s; i++)
        alpha[left.positions[i]] = 0;
}

/* y of H without S, for a right side x. */
static void solve_primal(kg_aggregate *a, real *y, const real *x, kg_left_out left,
                         struct room room) {
    size_t dim = a->tables.dim;
    size_t s = left.count;
    kg_multiply_vector(y, a->inverse, dim, dim, KG_AS_IS, x, 1, 0);
    if (s == 0)
        return;
    for (size_t i = 0; i < s; i++) {
        const real *row = a->rows + left.positions[i] * dim;
        kg_multiply_vector(room.p + i * dim, a->inverse, dim, dim, KG_AS_IS, row, 1, 0);
        room.right[i] = kg_dot(row, y, dim);
    }
    for (size_t i = 0; i < s; i++)
        for (size_t j = 0; j < s; j++)
            room.small[i * s + j] =
                (real)(i == j) - kg_dot(a->rows + left.positions[i] * dim, room.p + j * dim, dim);
    a->is_broken = !kg_solve(room.small, room.right, s) || a->is_broken;
    for (size_t i = 0; i < s; i++)
        kg_add_scaled(y, room.right[i], room.p + i * dim, dim);
}

static void forget(real *values, kg_left_out left) {
    for (size_t i = 0; i < left.count; i++)
        values[left.positions[i]] = 0;
}

static void fill_broken(real *z, size_t dim) {
    for (size_t i = 0; i < dim; i++)
        z[i] = (real)NAN;
}

void kg_ls_forward(kg_aggregate *a, real *z, kg_left_out left) {
    size_t dim = a->tables.dim;
    struct room room = make_room(a);
    if (is_dual(a)) {
        memcpy(room.x, a->targets, a->count * sizeof *room.x);
        forget(room.x, left);
        solve_dual(a, room.y, room.x, left, room);
        kg_multiply_vector(z, a->rows, a->count, dim, KG_TRANSPOSED, room.y, 1, 0);
    } else {
        memcpy(room.c, a->sum, dim * sizeof *room.c);
        for (size_t i = 0; i < left.count; i++) {
            size_t position = left.positions[i];
            kg_add_scaled(room.c, -a->targets[position], a->rows + position * dim, dim);
        }
        solve_primal(a, z, room.c, left, room);
    }
    if (a->is_broken)
        fill_broken(z, dim);
}

/* h, and beta over the links. */
static void solve_backward(kg_aggregate *a, const real *g, kg_left_out left, struct room room) {
    size_t dim = a->tables.dim;
    if (!is_dual(a)) {
        solve_primal(a, room.h, g, left, room);
        kg_multiply_vector(room.y, a->rows, a->count, dim, KG_AS_IS, room.h, 1, 0);
        return;
    }
    kg_multiply_vector(room.x, a->rows, a->count, dim, KG_AS_IS, g, 1, 0);
    forget(room.x, left);
    solve_dual(a, room.y, room.x, left, room);
    memcpy(room.h, g, dim * sizeof *room.h);
    kg_multiply_vector(room.h, a->rows, a->count, dim, KG_TRANSPOSED, room.y, -1, 1);
    kg_scale(room.h, 1 / (real)a->options.ls_lambda, dim);
}

void kg_ls_backward(kg_aggregate *a, const real *z, const real *g, kg_left_out left) {
    size_t dim = a->tables.dim;
    struct room room = make_room(a);
    solve_backward(a, g, left, room);
    memcpy(room.e, a->targets, a->count * sizeof *room.e);
    kg_multiply_vector(room.e, a->rows, a->count, dim, KG_AS_IS, z, -1, 1);
    forget(room.e, left);
    forget(room.y, left);
    for (size_t i = 0; i < a->count; i++) {
        real *own = kg_aggregate_own(a, i);
        kg_add_scaled(own, room.e[i], room.h, dim);
        kg_add_scaled(own, -room.y[i], z, dim);
        a->own_targets[i] += room.y[i];
    }
}

/* From equations back to query vectors. */
void kg_ls_finish(kg_aggregate *a) {
    size_t dim = a->tables.dim;
    for (size_t i = 0; i < a->count; i++) {
        if (!a->has_own[i] || is_plain(a))
            continue;
        real *own = a->own + i * dim;
        const real *row = a->rows + i * dim;
        real norm = a->norms[i];
        if (norm == 0) {
            memset(own, 0, dim * sizeof *own);
        } else if (a->options.ls_rows == KG_LS_WEIGHTED) {
            kg_add_scaled(own, a->own_targets[i] / norm, row, dim);
        } else {
            kg_add_scaled(own, -kg_dot(own, row, dim), row, dim);
            kg_scale(own, 1 / norm, dim);
        }
    }
}
