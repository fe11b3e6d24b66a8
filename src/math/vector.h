/* Kernels over plain arrays of `n` numbers. Outputs come first and never overlap the inputs unless
 * said. The order in which a sum is taken depends on `n` and the kind of processor alone, so the
 * same arguments always give the same bits. */
#ifndef KG_MATH_VECTOR_H
#define KG_MATH_VECTOR_H

#include <stddef.h>

#include "math/real.h"

real kg_dot(const real *x, const real *y, size_t n);

/* y += a x */
void kg_add_scaled(real *y, real a, const real *x, size_t n);

/* y += each of the rows in turn */
void kg_add_rows(real *y, const real *const *rows, size_t count, size_t n);

/* x *= a */
void kg_scale(real *x, real a, size_t n);

#endif
