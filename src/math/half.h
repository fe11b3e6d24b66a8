/* Half precision (IEEE 754 binary16: a sign, five bits of exponent, ten of fraction), as numbers
 * are stored in; all that computes is in the precision of a real. */
#ifndef KG_MATH_HALF_H
#define KG_MATH_HALF_H

#include <stddef.h>
#include <stdint.h>

#include "math/real.h"

#define KG_LARGEST_HALF 65504

/* Exact. */
void kg__halves_widen(real *out, const uint16_t *halves, size_t n);

/* To the nearest, ties to even. Returns whether all that were finite still are. */
bool kg__halves_round(uint16_t *halves, const real *in, size_t n);

static inline bool kg__half_is_finite(uint16_t half) {
    return (half & 0x7c00) != 0x7c00;
}

#endif
