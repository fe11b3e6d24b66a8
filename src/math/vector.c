/* Plain loops that compilers turn into vector code; the pragma allows them to split a sum. The
 * clones are static, since gcc exports the dispatcher of any other whatever its visibility. */
#include "math/vector.h"

#include <math.h>

KG_CLONES static real dot(const real *x, const real *y, size_t n) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

real kg_dot(const real *x, const real *y, size_t n) {
    return dot(x, y, n);
}

KG_CLONES static double square(const real *x, size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/* In units of the largest number, where squares are too large or too small for a double: those of
 * single precision never are. */
double kg_length(const real *x, size_t n) {
    double sum = square(x, n);
    if (sum > DBL_MIN / DBL_EPSILON && sum <= DBL_MAX)
        return sqrt(sum);
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)x[i]));
    if (largest == 0 || isinf(largest))
        return largest;
    sum = 0;
    for (size_t i = 0; i < n; i++) {
        double share = (double)x[i] / largest;
        sum += share * share;
    }
    return largest * sqrt(sum);
}

KG_CLONES static void add_scaled(real *restrict y, real a, const real *restrict x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

void kg_add_scaled(real *y, real a, const real *x, size_t n) {
    add_scaled(y, a, x, n);
}

KG_CLONES static void add_four(real *restrict y, const real *restrict a, const real *restrict b,
                               const real *restrict c, const real *restrict d, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] + a[i] + b[i] + c[i] + d[i];
}

#define AHEAD 8 /* rows: time enough for main memory, without pushing each other out */

/* Four at a time, since y then is read and written once for them. */
void kg_add_rows(real *y, const real *const *rows, size_t count, size_t more, size_t n) {
    size_t all = count + more;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (size_t k = i + AHEAD; k < i + AHEAD + 4 && k < all; k++)
            kg_fetch(rows[k], n);
        add_four(y, rows[i], rows[i + 1], rows[i + 2], rows[i + 3], n);
    }
    for (; i < count; i++) {
        if (i + AHEAD < all)
            kg_fetch(rows[i + AHEAD], n);
        add_scaled(y, 1, rows[i], n);
    }
}

KG_CLONES static void scale(real *x, real a, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] *= a;
}

void kg_scale(real *x, real a, size_t n) {
    scale(x, a, n);
}

KG_CLONES static double dot_wide(const double *x, const double *y, size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

double kg_dot_wide(const double *x, const double *y, size_t n) {
    return dot_wide(x, y, n);
}

KG_CLONES static void add_wide(double *restrict y, const double *restrict rows,
                               const double *restrict weights, size_t count, size_t n) {
    for (size_t i = 0; i < count; i++) {
        const double *row = rows + i * n;
#pragma omp simd
        for (size_t k = 0; k < n; k++)
            y[k] += weights[i] * row[k];
    }
}

void kg_add_wide(double *y, const double *rows, const double *weights, size_t count, size_t n) {
    add_wide(y, rows, weights, count, n);
}
