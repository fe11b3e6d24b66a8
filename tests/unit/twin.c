#include "twin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* ---- Models ---- */

static double score_distmult(const double *h, const double *r, const double *t, size_t dim) {
    double sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum += h[i] * r[i] * t[i];
    return sum;
}

/* Halves a and b of an entity, p and p' of a relation. */
static double score_simple(const double *h, const double *r, const double *t, size_t dim) {
    size_t n = dim / 2;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (h[i] * r[i] * t[n + i] + t[i] * r[n + i] * h[n + i]) / 2;
    return sum;
}

/* The real part of h r conj(t). */
static double score_complex(const double *h, const double *r, const double *t, size_t dim) {
    size_t n = dim / 2;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double re = h[i] * r[i] - h[n + i] * r[n + i];
        double im = h[i] * r[n + i] + h[n + i] * r[i];
        sum += re * t[i] + im * t[n + i];
    }
    return sum;
}

/* Hamilton's table: unit a times unit b is a unit with a sign. */
static const int unit_of[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
static const int sign_of[4][4] = {{1, 1, 1, 1}, {1, -1, 1, -1}, {1, -1, -1, 1}, {1, 1, -1, -1}};

static double score_quate(const double *h, const double *r, const double *t, size_t dim) {
    size_t n = dim / 4;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double square = 0;
        for (size_t a = 0; a < 4; a++)
            square += r[a * n + i] * r[a * n + i];
        for (size_t a = 0; a < 4; a++)
            for (size_t b = 0; b < 4; b++) {
                double unit = square > 0 ? r[b * n + i] / sqrt(square) : b == 0;
                sum += sign_of[a][b] * h[a * n + i] * unit * t[(size_t)unit_of[a][b] * n + i];
            }
    }
    return sum;
}

double twin_score(const twin_model *twin, const double *head, const double *relation,
                  const double *tail) {
    if (strcmp(twin->model, "distmult") == 0)
        return score_distmult(head, relation, tail, twin->dim);
    if (strcmp(twin->model, "simple") == 0)
        return score_simple(head, relation, tail, twin->dim);
    if (strcmp(twin->model, "complex") == 0)
        return score_complex(head, relation, tail, twin->dim);
    assert_string_equal(twin->model, "quate");
    return score_quate(head, relation, tail, twin->dim);
}

/* ---- Rows ---- */

/* The score is z . q, so column k of q is what the k-th unit vector scores. */
static void make_query(const twin_model *twin, double *q, kg_link link) {
    const double *other = twin->entities + link.other * twin->dim;
    const double *relation = twin->relations + (size_t)(link.directed / 2) * twin->dim;
    double *unit = must_allocate(twin->dim, sizeof *unit);
    for (size_t k = 0; k < twin->dim; k++) {
        unit[k] = 1;
        q[k] = kg_directed_end(link.directed) == KG_HEAD ? twin_score(twin, unit, relation, other)
                                                         : twin_score(twin, other, relation, unit);
        unit[k] = 0;
    }
    free(unit);
}

double twin_norm(const twin_model *twin, const double *x) {
    size_t parts = strcmp(twin->model, "complex") == 0 ? 2
                   : strcmp(twin->model, "quate") == 0 ? 4
                                                       : 1;
    double sum = 0;
    for (size_t i = 0; i < twin->dim / parts; i++) {
        double square = 0;
        for (size_t k = i; k < twin->dim; k += twin->dim / parts)
            square += x[k] * x[k];
        sum += pow(square, 1.5);
    }
    return sum;
}

void twin_rows(const twin_model *twin, double *rows, const kg_link *links, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(twin->aggregate, "eavg") == 0)
            memcpy(rows + i * twin->dim, twin->entities + links[i].other * twin->dim,
                   twin->dim * sizeof *rows);
        else
            make_query(twin, rows + i * twin->dim, links[i]);
}

/* ---- Aggregators ---- */

/* Equations are solved with digits to spare: the twin is to be the truth. */
typedef long double wide;

/* Solves a x = b (n x n) by elimination; x replaces b, a is destroyed. */
static void solve(wide *a, wide *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t j = i + 1; j < n; j++)
            if (fabsl(a[j * n + i]) > fabsl(a[best * n + i]))
                best = j;
        for (size_t k = 0; k < n; k++) {
            wide moved = a[i * n + k];
            a[i * n + k] = a[best * n + k];
            a[best * n + k] = moved;
        }
        wide moved = b[i];
        b[i] = b[best];
        b[best] = moved;
        for (size_t j = i + 1; j < n; j++) {
            wide factor = a[j * n + i] / a[i * n + i];
            for (size_t k = i; k < n; k++)
                a[j * n + k] -= factor * a[i * n + k];
            b[j] -= factor * b[i];
        }
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
}

static wide dot(const wide *x, const wide *y, size_t n) {
    wide sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static wide *widen(const double *numbers, size_t count) {
    wide *out = must_allocate(count, sizeof *out);
    for (size_t i = 0; i < count; i++)
        out[i] = (wide)numbers[i];
    return out;
}

/* Rows to equations a z = b. */
static void make_equations(const twin_model *twin, wide *a, wide *b, size_t count) {
    bool is_plain = strcmp(twin->aggregate, "ls-u") == 0;
    for (size_t i = 0; i < count; i++) {
        wide *row = a + i * twin->dim;
        wide norm = sqrtl(dot(row, row, twin->dim));
        b[i] = !is_plain && twin->is_weighted ? norm : 1;
        for (size_t k = 0; k < twin->dim && !is_plain && !twin->is_weighted && norm > 0; k++)
            row[k] /= norm;
    }
}

/* h += x x^T, on and below the diagonal; the other is the same. */
static void add_square(wide *h, const wide *x, size_t n) {
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k <= j; k++)
            h[j * n + k] += x[j] * x[k];
}

static void mirror(wide *h, size_t n) {
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < j; k++)
            h[k * n + j] = h[j * n + k];
}

/* (A^T A + lambda I) z = right, which z replaces. */
static void solve_normal(const twin_model *twin, wide *right, const wide *a, size_t count) {
    size_t dim = twin->dim;
    wide *h = must_allocate(dim * dim, sizeof *h);
    for (size_t i = 0; i < count; i++)
        add_square(h, a + i * dim, dim);
    mirror(h, dim);
    for (size_t j = 0; j < dim; j++)
        h[j * dim + j] += (wide)twin->lambda;
    solve(h, right, dim);
    free(h);
}

/* (A^T A + lambda I) z = A^T b */
static void solve_primal(const twin_model *twin, wide *z, const wide *a, const wide *b,
                         size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < twin->dim; j++)
            z[j] += a[i * twin->dim + j] * b[i];
    solve_normal(twin, z, a, count);
}

/* (A A^T + lambda I) alpha = b, z = A^T alpha */
static void solve_dual(const twin_model *twin, wide *z, const wide *a, wide *b, size_t count) {
    size_t dim = twin->dim;
    wide *m = must_allocate(count * count, sizeof *m);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            m[i * count + j] =
                dot(a + i * dim, a + j * dim, dim) + (i == j ? (wide)twin->lambda : 0);
    solve(m, b, count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < dim; k++)
            z[k] += a[i * dim + k] * b[i];
    free(m);
}

void twin_combine(const twin_model *twin, double *z, const double *rows, size_t count,
                  twin_way way) {
    size_t dim = twin->dim;
    wide *a = widen(rows, count * dim);
    wide *b = must_allocate(count, sizeof *b);
    wide *sum = must_allocate(dim, sizeof *sum);
    if (twin->aggregate[0] == 'e') {
        for (size_t i = 0; i < count * dim; i++)
            sum[i % dim] += a[i] / (wide)count;
    } else {
        make_equations(twin, a, b, count);
        if (way == TWIN_PRIMAL)
            solve_primal(twin, sum, a, b, count);
        else
            solve_dual(twin, sum, a, b, count);
    }
    for (size_t k = 0; k < dim; k++)
        z[k] = (double)sum[k];
    free(a);
    free(b);
    free(sum);
}

void twin_equations(const twin_model *twin, double *a, double *b, const double *rows,
                    size_t count) {
    wide *left = widen(rows, count * twin->dim);
    wide *right = must_allocate(count, sizeof *right);
    make_equations(twin, left, right, count);
    for (size_t i = 0; i < count * twin->dim; i++)
        a[i] = (double)left[i];
    for (size_t i = 0; i < count; i++)
        b[i] = (double)right[i];
    free(left);
    free(right);
}

void twin_back(const twin_model *twin, double *x, const double *right, const double *rows,
               size_t count) {
    wide *a = widen(rows, count * twin->dim);
    wide *b = must_allocate(count, sizeof *b);
    wide *solution = widen(right, twin->dim);
    make_equations(twin, a, b, count);
    solve_normal(twin, solution, a, count);
    for (size_t k = 0; k < twin->dim; k++)
        x[k] = (double)solution[k];
    free(a);
    free(b);
    free(solution);
}

/* alpha B G B^T, column by column of B G: that is the sum over all entities u of q(rho, u)
 * q(rho, u)^T. */
static wide *make_implicit(const twin_model *twin, const twin_ials *ials, kg_directed directed) {
    size_t dim = twin->dim;
    wide *out = must_allocate(dim * dim, sizeof *out);
    double *q = must_allocate(dim, sizeof *q);
    for (size_t u = 0; u < ials->entity_count; u++) {
        make_query(twin, q, (kg_link){directed, (kg_id)u});
        for (size_t j = 0; j < dim; j++)
            for (size_t k = 0; k <= j; k++)
                out[j * dim + k] += (wide)ials->alpha * (wide)q[j] * (wide)q[k];
    }
    free(q);
    return out;
}

static void add_implicit(const twin_model *twin, twin_ials *ials, wide *m, kg_directed directed) {
    assert_true(directed < TWIN_MOST_DIRECTED);
    if (ials->implicit[directed] == NULL)
        ials->implicit[directed] = make_implicit(twin, ials, directed);
    for (size_t i = 0; i < twin->dim * twin->dim; i++)
        m[i] += ials->implicit[directed][i];
}

void twin_ials_free(twin_ials *ials) {
    for (size_t i = 0; i < TWIN_MOST_DIRECTED; i++)
        free(ials->implicit[i]);
}

static bool is_among(kg_directed directed, const kg_link *links, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (links[i].directed == directed)
            return true;
    return false;
}

void twin_ials_solve(const twin_model *twin, twin_ials *ials, double *x, const double *right,
                     const kg_link *links, size_t count) {
    size_t dim = twin->dim;
    wide *m = must_allocate(dim * dim, sizeof *m);
    wide *b = must_allocate(dim, sizeof *b);
    double *rows = must_allocate(count * dim, sizeof *rows);
    wide square = 0;
    twin_rows(twin, rows, links, count);
    for (size_t i = 0; i < count; i++) {
        const double *row = rows + i * dim;
        for (size_t j = 0; j < dim; j++) {
            square += (wide)row[j] * (wide)row[j];
            for (size_t k = 0; k <= j; k++)
                m[j * dim + k] += (wide)row[j] * (wide)row[k];
        }
        if (!is_among(links[i].directed, links, i))
            add_implicit(twin, ials, m, links[i].directed);
    }
    mirror(m, dim);
    for (size_t j = 0; j < dim; j++) {
        m[j * dim + j] += (wide)ials->lambda * square / (wide)count;
        b[j] = (wide)right[j];
    }
    solve(m, b, dim);
    for (size_t j = 0; j < dim; j++)
        x[j] = (double)b[j];
    free(m);
    free(b);
    free(rows);
}
