/* Products with blocks, and their error bounds. */
#include "rank/blocks.h"

#include <math.h>

#include "base/memory.h"
#include "math/linear.h"

kg_status kg__blocks_open(kg_blocks *blocks, const kg_params *params, size_t candidates,
                          kg_error *error) {
    size_t count = (candidates + KG_BLOCK - 1) / KG_BLOCK;
    *blocks = (kg_blocks){.params = *params, .candidates = candidates, .count = count};
    blocks->longest = kg__resize(NULL, count, sizeof *blocks->longest);
    if (blocks->longest == NULL)
        return kg__fail_memory(error);
    for (size_t i = 0; i < count; i++)
        blocks->longest[i] = -1;
    const kg_features *evidence = params->evidence;
    if (evidence != NULL && kg__feature_set_has(evidence->features, KG_DEGREE_PRIOR))
        blocks->vacancies = &evidence->vacancy;
    return KG_OK;
}

void kg__blocks_close(kg_blocks *blocks) {
    kg__free(blocks->longest);
    *blocks = (kg_blocks){0};
}

void kg__blocks_measure(kg_blocks *blocks, size_t block) {
    double longest = 0;
    if (blocks->longest[block] >= 0)
        return;
    for (size_t i = 0; i < kg__blocks_size(blocks, block); i++) {
        const real *row = kg__entity_row(&blocks->params, kg__blocks_first(block) + (kg_id)i);
        /* passes over what is not a number */
        longest = fmax(longest, kg__length(row, blocks->params.dim));
    }
    blocks->longest[block] = (real)longest;
}

void kg__blocks_multiply(const kg_blocks *blocks, real *scores, const real *vectors, size_t count,
                         size_t block) {
    kg__multiply(scores, count, kg__blocks_size(blocks, block), blocks->params.dim, 1, vectors,
                 KG_AS_IS, kg__entity_row(&blocks->params, kg__blocks_first(block)), KG_TRANSPOSED,
                 0);
}

/* Two ways of summing a dot product are each off by at most dim roundings of the sum of absolute
 * products, which is at most the product of the lengths; twice, and some for the lengths' own
 * errors and for what is too small to be rounded. An offset is the same in both, but its sum with
 * the product is rounded once more. */
real kg__blocks_bound(const kg_blocks *blocks, size_t block, real length, real reach) {
    size_t dim = blocks->params.dim;
    real roundings = (real)(dim + 8) * KG_REAL_EPSILON;
    real largest = length * blocks->longest[block];
    if (!(largest < KG_REAL_MAX / 4 && reach < KG_REAL_MAX / 4))
        return (real)INFINITY;
    return 2 * roundings * largest * (1 + 2 * roundings) + 2 * KG_REAL_EPSILON * reach +
           (real)dim * KG_REAL_MIN;
}

/* ---- Offsets ---- */

real kg__blocks_offset(const kg_blocks *blocks, kg_directed asked, size_t facts) {
    real worth = kg__features_weights_of(blocks->params.evidence, asked)[KG_DEGREE_PRIOR];
    return worth * kg__degree_prior_value(blocks->vacancies, asked, facts);
}

real kg__blocks_offset_of(const kg_blocks *blocks, kg_directed asked, kg_id candidate) {
    if (blocks->vacancies == NULL || asked == KG_NO_QUESTION)
        return 0;
    return kg__blocks_offset(blocks, asked,
                             kg__degree_prior_facts(blocks->vacancies, asked, candidate));
}

real kg__blocks_reach(const kg_blocks *blocks, kg_directed asked) {
    const real *values = blocks->vacancies->values + asked * (size_t)KG_DEGREE_PRIOR_CLASSES;
    double worth = (double)kg__features_weights_of(blocks->params.evidence, asked)[KG_DEGREE_PRIOR];
    double reach = 0;
    for (size_t i = 0; i < KG_DEGREE_PRIOR_CLASSES; i++)
        reach = fmax(reach, fabs(worth * (double)values[i]));
    return (real)reach;
}
