/* What the aggregator graft has learned: a weight for each pair of a directed relation that is
 * queried and one that the entity has facts of,
 *
 *     z(query) = N^-power  sum over facts of  weight(query, given) q(given)
 *
 * The weights are the values of the embedding's view. */
#ifndef KG_AGGREGATE_GRAFT_AGGREGATE_H
#define KG_AGGREGATE_GRAFT_AGGREGATE_H

#include "model/pair_param.h"

typedef struct kg_relation_weights {
    kg_pair_param param; /* pairs that have a weight; it is 1 for all others */
    double power;
} kg_relation_weights;

/* NULL: another aggregator was trained, or nothing was that aggregates. */
static inline const kg_relation_weights *kg__relation_weights(const kg_params *params) {
    return params->terms[KG_TERM_EMBEDDING].counted;
}

#endif
