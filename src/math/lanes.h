/* Sums over a fixed number of lanes, for kernels that keep partial sums in registers: compilers
 * turn loops over so many numbers into vector code, whatever the width of the processor's vectors.
 */
#ifndef KG_MATH_LANES_H
#define KG_MATH_LANES_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "math/real.h"

#define KG_LANES 16

/* gcc would merge turns of a loop around such a loop before it makes vector code of it, and then
 * make none: for all that follows in files that include this. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-loop-unroll-and-jam")
#endif

#ifdef KG_DOUBLE
#define KG_SQRT sqrt
#else
#define KG_SQRT sqrtf
#endif

/* Inlined, so that it is compiled for the processor that its caller is compiled for. */
#define KG_INLINED __attribute__((always_inline)) static inline

/* A pointer to lanes that start at a cache line, as all do in an array of whole lanes from an
 * arena: compilers that do not know it treat numbers one by one up to the next. */
#define KG_ALIGNED(pointer) __builtin_assume_aligned((pointer), 64)

/* The sum of all lanes, by halves. Written out, since compilers would go through memory for it. */
KG_INLINED real kg__sum_lanes(const real *lanes) {
    typedef real eight __attribute__((vector_size(KG_LANES / 2 * sizeof(real))));
    typedef real four __attribute__((vector_size(KG_LANES / 4 * sizeof(real))));
    eight low;
    eight high;
    memcpy(&low, lanes, sizeof low);
    memcpy(&high, lanes + KG_LANES / 2, sizeof high);
    low += high;
    four sums = __builtin_shufflevector(low, low, 0, 1, 2, 3) +
                __builtin_shufflevector(low, low, 4, 5, 6, 7);
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

/* The product of two vectors of `n` numbers, a multiple of KG_LANES. */
KG_INLINED real kg__dot_lanes(const real *x, const real *y, size_t n) {
    real sums[KG_LANES] = {0};
    for (size_t i = 0; i < n; i += KG_LANES)
#pragma omp simd
        for (size_t k = 0; k < KG_LANES; k++)
            sums[k] += x[i + k] * y[i + k];
    return kg__sum_lanes(sums);
}

/* Clears a vector (n) that sums are about to be added to for the first time. */
KG_INLINED void kg__clear_first(real *vector, bool *has_any, size_t n) {
    for (size_t k = 0; k < n && !*has_any; k++)
        vector[k] = 0;
    *has_any = true;
}

#endif
