/* Products of matrices that are small in two of their three dimensions, as those of a neural
 * network are: many rows of few numbers, times a matrix that stays in the first cache. For these a
 * plain loop over tiles in registers is as fast as BLAS or faster, and each number is a sum in the
 * order of the inner dimension, whatever else is computed with it. */
#ifndef KG_MATH_TILE_PRODUCT_H
#define KG_MATH_TILE_PRODUCT_H

#include <stdint.h>

#include "math/lanes.h"

/* c (m x n) = a (m x k) b (k x n), plus `start` (n) in each row, which may be NULL. n is a multiple
 * of KG_LANES. */
void kg__tile_product(real *c, const real *start, const real *a, const real *b, size_t m, size_t n,
                      size_t k);

/* c (m x n) += a (m x k) b (k x n). */
void kg__tile_product_add(real *c, const real *a, const real *b, size_t m, size_t n, size_t k);

/* c (m x n) += a' b, where a is k x m and a' its transpose. */
void kg__tile_product_transposed(real *c, const real *a, const real *b, size_t m, size_t n,
                                 size_t k);

/* out (n x n) = the transpose of a. n is a multiple of 4. */
void kg__transpose(real *out, const real *a, size_t n);

#endif
