/* Kernels over plain arrays of `n` numbers. Outputs come first and never overlap the inputs unless
 * said. The order in which a sum is taken depends on `n` and the kind of processor alone, so the
 * same arguments always give the same bits. */
#ifndef KG_MATH_VECTOR_H
#define KG_MATH_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "math/real.h"

#define KG_CACHE_LINE 64 /* bytes */

real kg__dot(const real *x, const real *y, size_t n);

/* The Euclidean length, without overflow or underflow on the way. */
double kg__length(const real *x, size_t n);

/* y += a x */
void kg__add_scaled(real *y, real a, const real *x, size_t n);

/* out = x + y, where out may be x. */
void kg__add(real *out, const real *x, const real *y, size_t n);

/* y += each row of a matrix (count x n) in turn. */
void kg__add_up(real *y, const real *rows, size_t count, size_t n);

/* Prefetches a row, since the processor cannot predict which one comes next. */
static inline void kg__fetch(const real *row, size_t n) {
    for (size_t i = 0; i < n; i += KG_CACHE_LINE / sizeof *row)
        __builtin_prefetch(row + i);
}

/* y += each of the rows in turn. The next `more` entries of the array are the rows that are used
 * next: they are prefetched, since rows are anywhere in a large table. */
void kg__add_rows(real *y, const real *const *rows, size_t count, size_t more, size_t n);

/* The largest; -infinity of none. */
real kg__largest(const real *x, size_t n);

/* x = exp(x - shift), where no x is above shift; returns the sum. NaN stays NaN. */
real kg__exp_below(real *x, real shift, size_t n);

/* Whether all numbers are 0. */
bool kg__is_zero(const real *x, size_t n);

/* x *= a */
void kg__scale(real *x, real a, size_t n);

/* In double precision, whatever a real is. */

double kg__dot_wide(const double *x, const double *y, size_t n);

/* y (count): the products of each of the rows (count x n) with x. A row's does not depend on what
 * other rows there are. */
void kg__dots_wide(double *y, const double *rows, const double *x, size_t count, size_t n);

/* y += each of the rows (count x n) in turn, times its weight */
void kg__add_wide(double *y, const double *rows, const double *weights, size_t count, size_t n);

#endif
