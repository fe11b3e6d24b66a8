/* Softplus: is this fact true? A query is about one candidate and has a label, 1 or -1; its loss is
 * log(1 + exp(-label * score)). */
#include <math.h>

#include "train/loss.h"

static double of_score(double score, double label, double *slope) {
    double x = -label * score;
    *slope = -label / (1 + exp(-x));
    return fmax(x, 0) + log1p(exp(-fabs(x))); /* which does not overflow */
}

const kg_loss kg__loss_softplus = {
    .name = "softplus",
    .open_sampler = kg__triple_sampler_open,
    .parts = 4,
    .of_score = of_score,
};
