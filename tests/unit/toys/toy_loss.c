/* A toy: (score - label)^2. */
#include "train/loss.h"

static double of_score(double score, double label, double *slope) {
    double miss = score - label;
    *slope = 2 * miss;
    return miss * miss;
}

const kg_loss kg__loss_toy = {
    .name = "toy",
    .open_sampler = kg__triple_sampler_open,
    .parts = 50, /* of each shard: more than threads and queries */
    .of_score = of_score,
};
