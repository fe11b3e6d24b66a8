/* Both by integer operations on single precision, which compilers vectorise. */
#include "math/half.h"

#include <math.h>
#include <string.h>

#define SIGN 0x8000U     /* of a half */
#define INFINITE 0x7c00U /* likewise */
#define SINGLE_INFINITE 0x7f800000U
#define SHIFT 13                 /* bits of fraction that single precision has more */
#define BIAS 112                 /* what its exponents are larger by */
#define LEAST_NORMAL 0x38800000U /* 2^-14, the least half that is normal, in single precision */
#define TOO_LARGE 0x477ff000U    /* 65520: it and what is above round to infinity */

static inline float from_bits(uint32_t bits) {
    float x = 0;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t to_bits(float x) {
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A product with a power of two corrects the exponent, of subnormal numbers, too. */
static inline float widen(uint16_t half) {
    uint32_t size = half & (SIGN - 1);
    uint32_t bits = to_bits(from_bits(size << SHIFT) * 0x1p112F);
    bits |= size >= INFINITE ? SINGLE_INFINITE : 0;
    return from_bits(bits | (half & SIGN) << 16);
}

KG_CLONES static void widen_all(real *restrict out, const uint16_t *restrict halves, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = (real)widen(halves[i]);
}

void kg__halves_widen(real *out, const uint16_t *halves, size_t n) {
    widen_all(out, halves, n);
}

/* Numbers from 0.5 to 1 are as far apart as subnormal halves: so adding 0.5 rounds to these. */
static inline uint16_t narrow(float x) {
    uint32_t bits = to_bits(x);
    uint32_t sign = bits >> 16 & SIGN;
    uint32_t size = bits & ~(SIGN << 16);
    uint32_t odd = size >> SHIFT & 1;
    uint32_t subnormal = to_bits(from_bits(size) + 0.5F) - to_bits(0.5F);
    uint32_t normal = (size + (1U << (SHIFT - 1)) - 1 + odd - ((uint32_t)BIAS << 23)) >> SHIFT;
    uint32_t out = size < LEAST_NORMAL      ? subnormal
                   : size < TOO_LARGE       ? normal
                   : size > SINGLE_INFINITE ? INFINITE | 1
                                            : INFINITE;
    return (uint16_t)(sign | out);
}

bool kg__halves_round(uint16_t *halves, const real *in, size_t n) {
    bool is_good = true;
    for (size_t i = 0; i < n; i++) {
        halves[i] = narrow((float)in[i]);
        is_good = is_good && (kg__half_is_finite(halves[i]) || !isfinite(in[i]));
    }
    return is_good;
}
