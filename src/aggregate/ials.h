/* Ridge regression with implicit negatives, after Hu, Koren and Volinsky (2008): ials. An unseen
 * entity's vector should give each of its facts the score 1, and, less urgently, the score 0 to
 * what its relations could link it to but are not known to, which is nearly every entity:
 *
 *     M z = sum of q_i,   M = sum of q_i q_i^T + alpha sum over rho of B_rho G B_rho^T + lambda m I
 *
 * where rho are the directed relations of its facts, each once, B_rho is the linear map that makes
 * query vectors of entities, q(rho, u) = B_rho u, G = E^T E over all entities, and m is the mean of
 * |q_i|^2. It serves embeddings that were not trained for unseen entities, or elsewhere. There is
 * no way back, so nothing learns through it. */
#ifndef KG_AGGREGATE_IALS_H
#define KG_AGGREGATE_IALS_H

#include "aggregate/aggregate.h"

/* G of the first `entities` rows, for kg_params, if the aggregator (which may be NULL) needs it;
 * NULL if not. To be kg__freed. O(entities dim^2). */
KG_MUST_CHECK kg_status kg__gram_make(double **out, const kg_aggregator *aggregator,
                                      const kg_params *params, size_t entities, kg_error *error);

#endif
