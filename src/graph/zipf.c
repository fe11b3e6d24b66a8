/* Zipf's law by rejection-inversion (Hoermann and Derflinger 1996): ranks are drawn from under a
 * curve that can be integrated and inverted, so a draw costs the same for ten ranks and for ten
 * million. */
#include "graph/zipf.h"

#include <math.h>
#include <stdbool.h>

#define DRAWS 64 /* random numbers reserved for one draw */

/* The integral of x^-exponent, its constant chosen so that the exponent 1 is no special case. */
static double integral(const kg_zipf *zipf, double x) {
    double s = 1 - zipf->exponent;
    double y = log(x);
    return fabs(s * y) < 1e-9 ? y : expm1(s * y) / s;
}

static double inverse_integral(const kg_zipf *zipf, double area) {
    double s = 1 - zipf->exponent;
    return fabs(s * area) < 1e-9 ? exp(area) : exp(log1p(s * area) / s);
}

kg_zipf kg__zipf_make(uint64_t count, double exponent) {
    kg_zipf zipf = {.count = count, .exponent = exponent};
    zipf.low = integral(&zipf, 1.5) - 1;
    zipf.high = integral(&zipf, (double)count + 0.5);
    return zipf;
}

uint64_t kg__zipf_draw(const kg_zipf *zipf, uint64_t seed, kg_stream stream, uint64_t index) {
    for (uint64_t i = 0;; i++) {
        double unit = kg__random_unit(seed, stream, index * DRAWS + i);
        double area = zipf->high + unit * (zipf->low - zipf->high);
        double x = inverse_integral(zipf, area);
        double rank = fmin(fmax(floor(x + 0.5), 1), (double)zipf->count);
        bool under = area >= integral(zipf, rank + 0.5) - pow(rank, -zipf->exponent);
        if (under || i + 1 == DRAWS)
            return (uint64_t)rank - 1;
    }
}
