/* Products with blocks, and their error bounds. */
#include "rank/blocks.h"

#include <math.h>

#include "base/memory.h"
#include "math/linear.h"

kg_status kg_blocks_open(kg_blocks *blocks, const kg_tables *tables, size_t candidates,
                         kg_error *error) {
    size_t count = (candidates + KG_BLOCK - 1) / KG_BLOCK;
    *blocks = (kg_blocks){.tables = *tables, .candidates = candidates, .count = count};
    blocks->longest = kg_resize(NULL, count, sizeof *blocks->longest);
    if (blocks->longest == NULL)
        return kg_fail_memory(error);
    for (size_t i = 0; i < count; i++)
        blocks->longest[i] = -1;
    const kg_evidence *evidence = tables->evidence;
    if (evidence != NULL && kg_features_have(evidence->features, KG_VACANCY))
        blocks->vacancies = &evidence->vacancy;
    return KG_OK;
}

void kg_blocks_close(kg_blocks *blocks) {
    kg_free(blocks->longest);
    *blocks = (kg_blocks){0};
}

void kg_blocks_measure(kg_blocks *blocks, size_t block) {
    double longest = 0;
    if (blocks->longest[block] >= 0)
        return;
    for (size_t i = 0; i < kg_blocks_size(blocks, block); i++) {
        const real *row = kg_entity_row(&blocks->tables, kg_blocks_first(block) + (kg_id)i);
        /* passes over what is not a number */
        longest = fmax(longest, kg_length(row, blocks->tables.dim));
    }
    blocks->longest[block] = (real)longest;
}

void kg_blocks_multiply(const kg_blocks *blocks, real *scores, const real *vectors, size_t count,
                        size_t block) {
    kg_multiply(scores, count, kg_blocks_size(blocks, block), blocks->tables.dim, 1, vectors,
                KG_AS_IS, kg_entity_row(&blocks->tables, kg_blocks_first(block)), KG_TRANSPOSED, 0);
}

/* Two ways of summing a dot product are each off by at most dim roundings of the sum of absolute
 * products, which is at most the product of the lengths; twice, and some for the lengths' own
 * errors and for what is too small to be rounded. An offset is the same in both, but its sum with
 * the product is rounded once more. */
real kg_blocks_bound(const kg_blocks *blocks, size_t block, real length, real reach) {
    size_t dim = blocks->tables.dim;
    real roundings = (real)(dim + 8) * KG_REAL_EPSILON;
    real largest = length * blocks->longest[block];
    if (!(largest < KG_REAL_MAX / 4 && reach < KG_REAL_MAX / 4))
        return (real)INFINITY;
    return 2 * roundings * largest * (1 + 2 * roundings) + 2 * KG_REAL_EPSILON * reach +
           (real)dim * KG_REAL_MIN;
}

/* ---- Offsets ---- */

real kg_blocks_offset(const kg_blocks *blocks, kg_directed asked, size_t facts) {
    real worth = kg_evidence_worth(blocks->tables.evidence, asked)[KG_VACANCY];
    return worth * kg_vacancy_value(blocks->vacancies, asked, facts);
}

real kg_blocks_offset_of(const kg_blocks *blocks, kg_directed asked, kg_id candidate) {
    if (blocks->vacancies == NULL || asked == KG_NO_QUESTION)
        return 0;
    return kg_blocks_offset(blocks, asked, kg_vacancy_facts(blocks->vacancies, asked, candidate));
}

real kg_blocks_reach(const kg_blocks *blocks, kg_directed asked) {
    const real *values = blocks->vacancies->values + asked * (size_t)KG_VACANCY_CLASSES;
    double worth = (double)kg_evidence_worth(blocks->tables.evidence, asked)[KG_VACANCY];
    double reach = 0;
    for (size_t i = 0; i < KG_VACANCY_CLASSES; i++)
        reach = fmax(reach, fabs(worth * (double)values[i]));
    return (real)reach;
}
