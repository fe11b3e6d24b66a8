/* Plain loops that compilers vectorise; the pragma allows them to reorder a sum. The clones are
 * static, since gcc exports the dispatcher of any other whatever its visibility. */
#include "math/vector.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

KG_CLONES static real dot(const real *x, const real *y, size_t n) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

real kg__dot(const real *x, const real *y, size_t n) {
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
double kg__length(const real *x, size_t n) {
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

void kg__add_scaled(real *y, real a, const real *x, size_t n) {
    add_scaled(y, a, x, n);
}

KG_CLONES static void add(real *out, const real *x, const real *y, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

void kg__add(real *out, const real *x, const real *y, size_t n) {
    add(out, x, y, n);
}

KG_CLONES static void add_up(real *restrict y, const real *restrict rows, size_t count, size_t n) {
    for (size_t i = 0; i < count; i++)
#pragma omp simd
        for (size_t k = 0; k < n; k++)
            y[k] += rows[i * n + k];
}

void kg__add_up(real *y, const real *rows, size_t count, size_t n) {
    add_up(y, rows, count, n);
}

KG_CLONES static void add_four(real *restrict y, const real *restrict a, const real *restrict b,
                               const real *restrict c, const real *restrict d, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] + a[i] + b[i] + c[i] + d[i];
}

#define AHEAD 8 /* rows: enough for the latency of main memory, and too few to evict each other */

/* Four at a time, since y then is read and written once for them. */
void kg__add_rows(real *y, const real *const *rows, size_t count, size_t more, size_t n) {
    size_t all = count + more;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (size_t k = i + AHEAD; k < i + AHEAD + 4 && k < all; k++)
            kg__fetch(rows[k], n);
        add_four(y, rows[i], rows[i + 1], rows[i + 2], rows[i + 3], n);
    }
    for (; i < count; i++) {
        if (i + AHEAD < all)
            kg__fetch(rows[i + AHEAD], n);
        add_scaled(y, 1, rows[i], n);
    }
}

KG_CLONES static void scale(real *x, real a, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] *= a;
}

bool kg__is_zero(const real *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

void kg__scale(real *x, real a, size_t n) {
    scale(x, a, n);
}

KG_CLONES static double dot_wide(const double *x, const double *y, size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

double kg__dot_wide(const double *x, const double *y, size_t n) {
    return dot_wide(x, y, n);
}

KG_CLONES static void dot_four(double *restrict y, const double *restrict a,
                               const double *restrict b, const double *restrict c,
                               const double *restrict d, const double *restrict x, size_t n) {
    double of_a = 0;
    double of_b = 0;
    double of_c = 0;
    double of_d = 0;
#pragma omp simd reduction(+ : of_a, of_b, of_c, of_d)
    for (size_t i = 0; i < n; i++) {
        of_a += a[i] * x[i];
        of_b += b[i] * x[i];
        of_c += c[i] * x[i];
        of_d += d[i] * x[i];
    }
    y[0] = of_a;
    y[1] = of_b;
    y[2] = of_c;
    y[3] = of_d;
}

/* Four at a time, since each sum is a chain of dependent additions; missing rows repeat the last
 * one. */
void kg__dots_wide(double *y, const double *rows, const double *x, size_t count, size_t n) {
    for (size_t i = 0; i < count; i += 4) {
        double four[4];
        size_t some = count - i < 4 ? count - i : 4;
        const double *a = rows + i * n;
        dot_four(four, a, some > 1 ? a + n : a, some > 2 ? a + 2 * n : a, some > 3 ? a + 3 * n : a,
                 x, n);
        memcpy(y + i, four, some * sizeof *y);
    }
}

KG_CLONES static void add_wide(double *restrict y, const double *restrict rows,
                               const double *restrict weights, size_t count, size_t n) {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) { /* since y then is read and written once for them */
        const double *row = rows + i * n;
#pragma omp simd
        for (size_t k = 0; k < n; k++)
            y[k] = y[k] + weights[i] * row[k] + weights[i + 1] * row[n + k] +
                   weights[i + 2] * row[2 * n + k] + weights[i + 3] * row[3 * n + k];
    }
    for (; i < count; i++) {
        const double *row = rows + i * n;
#pragma omp simd
        for (size_t k = 0; k < n; k++)
            y[k] += weights[i] * row[k];
    }
}

void kg__add_wide(double *y, const double *rows, const double *weights, size_t count, size_t n) {
    add_wide(y, rows, weights, count, n);
}

KG_CLONES static real largest(const real *x, size_t n) {
    real most = (real)-INFINITY;
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

real kg__largest(const real *x, size_t n) {
    return largest(x, n);
}

#ifdef KG_DOUBLE

static real exp_below(real *x, real shift, size_t n) {
    real sum = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = exp(x[i] - shift);
        sum += x[i];
    }
    return sum;
}

#else

/* The C library's function would be called for each number. Here exp(y) = 2^k exp(r), k whole and r
 * at most ln(2)/2 in magnitude, by Taylor's series, with an error of at most 2 units in the last
 * place. ln(2) is subtracted in two parts, of which the first has few enough digits for k times it
 * to be exact. Adding and subtracting 1.5 2^23 rounds to a whole number. */
static inline real exp_of(real y) {
    const real round = 0x1.8p23F;
    real k = (y * 0x1.715476p0F + round) - round;
    real r = (y - k * 0x1.62e4p-1F) - k * 0x1.7f7d1cp-20F;
    real series = 0x1.111112p-7F + r * 0x1.6c16c2p-10F;
    series = 0x1.555556p-3F + r * (0x1.555556p-5F + r * series);
    series = 1 + r * (1 + r * (0.5F + r * series));
    int32_t bits = ((int32_t)k + 127) * (1 << 23); /* of 2^k */
    real scale = 0;
    memcpy(&scale, &bits, sizeof scale);
    return series * scale;
}

KG_CLONES static real exp_below(real *x, real shift, size_t n) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        real y = x[i] - shift;
        bool is_inside = y >= -87 && y <= 88; /* where 2^k is a number; NaN is not */
        real power = exp_of(is_inside ? y : 0);
        real outside = y < -87 ? 0 : y;
        x[i] = is_inside ? power : outside;
        sum += x[i];
    }
    return sum;
}

#endif

real kg__exp_below(real *x, real shift, size_t n) {
    return exp_below(x, shift, n);
}
