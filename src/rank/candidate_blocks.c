/* Matrix products with blocks, their error bounds, and priors. */
#include "rank/candidate_blocks.h"

#include <math.h>

#include "base/memory.h"
#include "math/linalg.h"
#include "model/degree_classes.h"

/* Those of entities that came later are to be measured. */
static kg_status divide(kg_blocks *blocks, const kg_params *params, size_t candidates,
                        kg_error *error) {
    size_t first = params->later == NULL ? candidates : params->later->first;
    size_t own = candidates < first ? candidates : first;
    size_t own_count = (own + KG_BLOCK - 1) / KG_BLOCK;
    size_t count = own_count + (candidates - own + KG_PAGE - 1) / KG_PAGE;
    real *longest = kg__grow(blocks->longest, &blocks->capacity, count, sizeof *longest);
    if (longest == NULL)
        return kg__fail_memory(error);
    blocks->longest = longest;
    for (size_t i = own_count; i < count; i++)
        longest[i] = -1;
    blocks->params = *params;
    blocks->candidates = candidates;
    blocks->own = own;
    blocks->own_count = own_count;
    blocks->count = count;
    return KG_OK;
}

kg_status kg__blocks_move(kg_blocks *blocks, const kg_params *params, size_t candidates,
                          kg_error *error) {
    return divide(blocks, params, candidates, error);
}

kg_status kg__blocks_open(kg_blocks *blocks, const kg_params *params, size_t candidates,
                          kg_error *error) {
    *blocks = (kg_blocks){0};
    KG_TRY(divide(blocks, params, candidates, error));
    for (size_t i = 0; i < blocks->own_count; i++)
        blocks->longest[i] = -1;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        blocks->has_priors =
            blocks->has_priors || (kg__term_is_on(params, i) && kg__terms[i]->prior != NULL);
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
        const real *row =
            kg__entity_row(&blocks->params, kg__blocks_first(blocks, block) + (kg_id)i);
        /* fmax ignores NaN */
        longest = fmax(longest, kg__length(row, blocks->params.dim));
    }
    blocks->longest[block] = (real)longest;
}

void kg__blocks_multiply(const kg_blocks *blocks, real *scores, const real *vectors, size_t count,
                         size_t block) {
    kg__multiply(scores, count, kg__blocks_size(blocks, block), blocks->params.dim, 1, vectors,
                 KG_AS_IS,
                 kg__entity_rows(&blocks->params, kg__blocks_first(blocks, block),
                                 kg__blocks_size(blocks, block)),
                 KG_TRANSPOSED, 0);
}

/* Two ways of summing a dot product are each off by at most dim roundings of the sum of absolute
 * products, which is at most the product of the lengths; twice, and some for the lengths' own
 * errors and for what is too small to be rounded. A prior is the same in both, but its sum with
 * the product is rounded once more. */
real kg__blocks_bound(const kg_blocks *blocks, size_t block, real length, real largest_prior) {
    size_t dim = blocks->params.dim;
    if (dim == 0)
        return 0; /* both sums are of the same two numbers */
    real roundings = (real)(dim + 8) * KG_REAL_EPSILON;
    real largest = length * blocks->longest[block];
    if (!(largest < KG_REAL_MAX / 4 && largest_prior < KG_REAL_MAX / 4))
        return (real)INFINITY;
    return 2 * roundings * largest * (1 + 2 * roundings) + 2 * KG_REAL_EPSILON * largest_prior +
           (real)dim * KG_REAL_MIN;
}

/* ---- Priors ---- */

real kg__blocks_prior(const kg_blocks *blocks, kg_directed query, size_t class) {
    real sum = 0;
    for (size_t i = 0; kg__terms[i] != NULL; i++)
        if (kg__term_is_on(&blocks->params, i) && kg__terms[i]->prior != NULL)
            sum += kg__terms[i]->prior(&blocks->params.terms[i], query, class);
    return sum;
}

real kg__blocks_prior_of(const kg_blocks *blocks, kg_directed query, kg_id candidate) {
    if (!blocks->has_priors || query == KG_NO_QUERY)
        return 0;
    const kg_adjacency *graph = blocks->params.graph;
    size_t facts = 0;
    kg__links_run(kg__adjacency_links(graph, candidate), kg__adjacency_degree(graph, candidate),
                  kg__inverse(query), &facts);
    return kg__blocks_prior(blocks, query, kg__degree_class(facts));
}

real kg__blocks_largest_prior(const kg_blocks *blocks, kg_directed query) {
    double largest_prior = 0;
    for (size_t i = 0; i < KG_DEGREE_CLASSES; i++)
        largest_prior = fmax(largest_prior, fabs((double)kg__blocks_prior(blocks, query, i)));
    return (real)largest_prior;
}
