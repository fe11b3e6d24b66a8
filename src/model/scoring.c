/* Two kernels for each model. In the comments * is the product of numbers, of complex numbers or of
 * quaternions, element by element, and ~ the conjugate. */
#include "model/scoring.h"

#include <math.h>
#include <string.h>

/* DistMult (Yang et al. 2015): <h, r, t>. Both queries are r*known. */

KG_CLONES static void distmult_query(real *restrict q, const real *restrict r,
                                     const real *restrict known, kg_end missing, size_t dim) {
    (void)missing;
#pragma omp simd
    for (size_t i = 0; i < dim; i++)
        q[i] = r[i] * known[i];
}

KG_CLONES static void distmult_gradient(real *restrict gradient, const real *restrict r,
                                        const real *restrict known, const real *restrict g,
                                        kg_end missing, size_t dim) {
    (void)r;
    (void)missing;
#pragma omp simd
    for (size_t i = 0; i < dim; i++)
        gradient[i] += g[i] * known[i];
}

/* SimplE (Kazemi and Poole 2018): entities [a; b], relations [p; p'], the mean of <a_h, p, b_t> and
 * <a_t, p', b_h>. A query pairs its first half with the missing end's a, its second with the b. */

KG_CLONES static void simple_query(real *restrict q, const real *restrict r,
                                   const real *restrict known, kg_end missing, size_t dim) {
    size_t n = dim / 2;
    const real *for_a = missing == KG_HEAD ? r : r + n;
    const real *for_b = missing == KG_HEAD ? r + n : r;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        q[i] = (real)0.5 * for_a[i] * known[n + i];
        q[n + i] = (real)0.5 * for_b[i] * known[i];
    }
}

KG_CLONES static void simple_gradient(real *restrict gradient, const real *restrict r,
                                      const real *restrict known, const real *restrict g,
                                      kg_end missing, size_t dim) {
    (void)r;
    size_t n = dim / 2;
    real *for_a = missing == KG_HEAD ? gradient : gradient + n;
    real *for_b = missing == KG_HEAD ? gradient + n : gradient;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        for_a[i] += (real)0.5 * g[i] * known[n + i];
        for_b[i] += (real)0.5 * g[n + i] * known[i];
    }
}

/* ComplEx (Trouillon et al. 2016): rows [real parts; imaginary parts], the real part of
 * <h, r, ~t>. The query for a tail is r*h, for a head ~r*t. */

KG_CLONES static void complex_query(real *restrict q, const real *restrict r,
                                    const real *restrict known, kg_end missing, size_t dim) {
    size_t n = dim / 2;
    real sign = missing == KG_TAIL ? 1 : -1;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        real re = r[i];
        real im = sign * r[n + i];
        q[i] = re * known[i] - im * known[n + i];
        q[n + i] = re * known[n + i] + im * known[i];
    }
}

KG_CLONES static void complex_gradient(real *restrict gradient, const real *restrict r,
                                       const real *restrict known, const real *restrict g,
                                       kg_end missing, size_t dim) {
    (void)r;
    size_t n = dim / 2;
    real sign = missing == KG_TAIL ? 1 : -1;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        gradient[i] += g[i] * known[i] + g[n + i] * known[n + i];
        gradient[n + i] += sign * (g[n + i] * known[i] - g[i] * known[n + i]);
    }
}

/* QuatE (Zhang et al. 2019): rows of four parts, (h*r^) . t, where r^ is the relation with each of
 * its quaternions at length 1 (a zero one being 1). The query for a tail is h*r^, for a head t*~r^.
 */

typedef struct quaternion {
    real a, b, c, d;
} quaternion;

static inline quaternion load(const real *x, size_t i, size_t n) {
    return (quaternion){x[i], x[n + i], x[2 * n + i], x[3 * n + i]};
}

static inline quaternion conjugate(quaternion x) {
    return (quaternion){x.a, -x.b, -x.c, -x.d};
}

static inline quaternion product(quaternion x, quaternion y) {
    return (quaternion){
        x.a * y.a - x.b * y.b - x.c * y.c - x.d * y.d,
        x.a * y.b + x.b * y.a + x.c * y.d - x.d * y.c,
        x.a * y.c - x.b * y.d + x.c * y.a + x.d * y.b,
        x.a * y.d + x.b * y.c - x.c * y.b + x.d * y.a,
    };
}

/* r^ and 1/|r|; for a zero r, 1 and 0. */
static inline quaternion unit(quaternion r, real *inverse_length) {
    real square = r.a * r.a + r.b * r.b + r.c * r.c + r.d * r.d;
    real inverse = square > 0 ? 1 / (real)sqrt((double)square) : 0;
    *inverse_length = inverse;
    return (quaternion){square > 0 ? r.a * inverse : 1, r.b * inverse, r.c * inverse,
                        r.d * inverse};
}

KG_CLONES static void quate_query(real *restrict q, const real *restrict r,
                                  const real *restrict known, kg_end missing, size_t dim) {
    size_t n = dim / 4;
    for (size_t i = 0; i < n; i++) {
        real inverse = 0;
        quaternion rotation = unit(load(r, i, n), &inverse);
        quaternion turned =
            product(load(known, i, n), missing == KG_TAIL ? rotation : conjugate(rotation));
        q[i] = turned.a;
        q[n + i] = turned.b;
        q[2 * n + i] = turned.c;
        q[3 * n + i] = turned.d;
    }
}

/* By r^ the gradient is ~known*g (for a tail) or ~g*known (for a head); of that, only the
 * component orthogonal to r remains. */
KG_CLONES static void quate_gradient(real *restrict gradient, const real *restrict r,
                                     const real *restrict known, const real *restrict g,
                                     kg_end missing, size_t dim) {
    size_t n = dim / 4;
    for (size_t i = 0; i < n; i++) {
        real inverse = 0;
        quaternion rotation = unit(load(r, i, n), &inverse);
        quaternion x = load(known, i, n);
        quaternion y = load(g, i, n);
        quaternion by_unit =
            missing == KG_TAIL ? product(conjugate(x), y) : product(conjugate(y), x);
        real along = by_unit.a * rotation.a + by_unit.b * rotation.b + by_unit.c * rotation.c +
                     by_unit.d * rotation.d;
        gradient[i] += inverse * (by_unit.a - along * rotation.a);
        gradient[n + i] += inverse * (by_unit.b - along * rotation.b);
        gradient[2 * n + i] += inverse * (by_unit.c - along * rotation.c);
        gradient[3 * n + i] += inverse * (by_unit.d - along * rotation.d);
    }
}

const kg_scoring kg__scorings[] = {
    {.name = "distmult",
     .parts = 1,
     .joined = 1,
     .query = distmult_query,
     .relation_gradient = distmult_gradient},
    {.name = "simple",
     .parts = 2,
     .joined = 1,
     .query = simple_query,
     .relation_gradient = simple_gradient},
    {.name = "complex",
     .parts = 2,
     .joined = 2,
     .query = complex_query,
     .relation_gradient = complex_gradient},
    {.name = "quate",
     .parts = 4,
     .joined = 4,
     .is_turn = true,
     .query = quate_query,
     .relation_gradient = quate_gradient},
    {.name = "rgcn-d",
     .parts = 1,
     .joined = 1,
     .is_encoded = true,
     .query = distmult_query,
     .relation_gradient = distmult_gradient},
    {0},
};

/* Conjugates complex numbers and quaternions, and swaps forward and backward parts of SimplE. */
void kg__scoring_invert(const kg_scoring *scoring, real *relation, size_t dim) {
    size_t length = dim / scoring->parts;
    for (size_t i = length; i < dim && scoring->joined > 1; i++)
        relation[i] = -relation[i];
    for (size_t i = 0; i < length && scoring->joined == 1 && scoring->parts == 2; i++) {
        real forward = relation[i];
        relation[i] = relation[length + i];
        relation[length + i] = forward;
    }
}

const kg_scoring *kg__scoring_find(const char *name) {
    for (const kg_scoring *scoring = kg__scorings; scoring->name != NULL; scoring++)
        if (strcmp(scoring->name, name) == 0)
            return scoring;
    return NULL;
}

kg_status kg__scoring_check_live(const kg_scoring *scoring, const char *path, kg_error *error) {
    return !scoring->is_encoded
               ? KG_OK
               : kg_fail_at(error, path, 0, 0,
                            "expected a model whose vectors are sums over facts, found %s, which "
                            "has an encoder",
                            scoring->name);
}
