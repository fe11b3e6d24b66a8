/* Newton's method on a convex function of two numbers, with step halving. */
#include "math/logistic_regression.h"

#include <math.h>

#define MOST_STEPS 100
#define MOST_HALVINGS 40

/* log(1 + exp(x)) */
static double softplus(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double square(double x) {
    return x * x;
}

static double loss(const kg_outcome *outcomes, size_t count, const kg_logistic_prior *prior,
                   kg_logistic at) {
    double sum = square((at.slope - prior->mean.slope) / prior->deviation.slope) / 2 +
                 square((at.offset - prior->mean.offset) / prior->deviation.offset) / 2;
    for (size_t i = 0; i < count; i++) {
        double odds = at.slope * outcomes[i].x + at.offset;
        sum += outcomes[i].weight * softplus(outcomes[i].is_true ? -odds : odds);
    }
    return sum;
}

/* First and second derivatives. */
struct slopes {
    double by_slope, by_offset;
    double twice_slope, mixed, twice_offset;
};

static struct slopes derive(const kg_outcome *outcomes, size_t count,
                            const kg_logistic_prior *prior, kg_logistic at) {
    double slope_precision = 1 / square(prior->deviation.slope);
    double offset_precision = 1 / square(prior->deviation.offset);
    struct slopes out = {.by_slope = slope_precision * (at.slope - prior->mean.slope),
                         .by_offset = offset_precision * (at.offset - prior->mean.offset),
                         .twice_slope = slope_precision,
                         .twice_offset = offset_precision};
    for (size_t i = 0; i < count; i++) {
        double x = outcomes[i].x;
        double p = 1 / (1 + exp(-(at.slope * x + at.offset)));
        double pull = outcomes[i].weight * (p - (outcomes[i].is_true ? 1 : 0));
        double bend = outcomes[i].weight * p * (1 - p);
        out.by_slope += pull * x;
        out.by_offset += pull;
        out.twice_slope += bend * x * x;
        out.mixed += bend * x;
        out.twice_offset += bend;
    }
    return out;
}

/* Newton's step. At the least slope, only the offset moves. */
static kg_logistic newton(struct slopes at, bool is_slope_fixed) {
    double determinant = at.twice_slope * at.twice_offset - at.mixed * at.mixed;
    if (is_slope_fixed || !(determinant > 0))
        return (kg_logistic){0, -at.by_offset / at.twice_offset};
    return (kg_logistic){(at.mixed * at.by_offset - at.twice_offset * at.by_slope) / determinant,
                         (at.mixed * at.by_slope - at.twice_slope * at.by_offset) / determinant};
}

kg_logistic kg__logistic_fit(const kg_outcome *outcomes, size_t count,
                             const kg_logistic_prior *prior) {
    kg_logistic at = prior->mean;
    double now = loss(outcomes, count, prior, at);
    for (int step = 0; step < MOST_STEPS; step++) {
        struct slopes slopes = derive(outcomes, count, prior, at);
        bool is_fixed = at.slope <= prior->least_slope && slopes.by_slope > 0;
        kg_logistic move = newton(slopes, is_fixed);
        double before = now;
        for (int halving = 0; halving < MOST_HALVINGS; halving++) {
            double share = ldexp(1, -halving);
            kg_logistic next = {fmax(at.slope + share * move.slope, prior->least_slope),
                                at.offset + share * move.offset};
            double then = loss(outcomes, count, prior, next);
            if (then < now) {
                at = next;
                now = then;
                break;
            }
        }
        if (!(before - now > 1e-10 * fabs(now)))
            break;
    }
    return at;
}
